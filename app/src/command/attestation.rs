//! `isobox export --format in-toto` and `--format dsse`.

use super::export::{ALL, Asked};
use super::look::Named;
use crate::cli::Format;
use crate::failure::{Failure, FailureKind};
use crate::use_case::attestation::{self, Form};
use crate::use_case::audit::require_key;
use crate::use_case::export::Exported;
use isobox_domain::task_id::TaskId;

/// Exports one Task as a document of `format`: which one it was, and what came of it.
pub(super) fn export(asked: &Asked<'_>, format: Format) -> Result<(TaskId, Exported), Failure> {
    let [typed] = asked.tasks else {
        return Err(one_task());
    };
    if typed == ALL {
        return Err(one_task());
    }
    let Named { store, selected, .. } = Named::find(&asked.arguments.place, typed)?;
    let key = match format {
        Format::Dsse => Some(store.with_audit_ports(|ports| require_key(ports.keys, ports.name))?),
        _ => None,
    };
    let form = key.as_ref().map_or(Form::Statement, Form::Envelope);
    let exported = store.with_export_ports(asked.destination, |ports| {
        let ports = attestation::Ports { records: ports.records, objects: ports.objects, exports: ports.exports };
        attestation::export(&ports, &selected, form)
    })?;
    Ok((selected.record.task, exported))
}

fn one_task() -> Failure {
    Failure::new(FailureKind::Usage, "this format writes the document of one task")
        .with_hint("name one, or leave --format out to export several as plain files")
}
