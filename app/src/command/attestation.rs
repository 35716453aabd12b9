//! `isobox export --format in-toto` and `--format dsse`.

use super::look::Named;
use crate::cli::{ExportArguments, FormatName};
use crate::failure::{Failure, FailureKind};
use crate::use_case::attestation::{self, Form};
use crate::use_case::audit::require_key;
use crate::use_case::export::Exported;
use isobox_domain::task_id::TaskId;

/// Exports one Task as a document of `format`: which one it was, and what came of it.
pub(super) fn export(arguments: &ExportArguments, format: FormatName) -> Result<(TaskId, Exported), Failure> {
    if arguments.task == "@all" {
        return Err(Failure::new(FailureKind::Usage, "--format writes the document of one task")
            .with_hint("name it, or leave --format out to export all as plain files"));
    }
    let Named { store, selected, .. } = Named::find(&arguments.place, &arguments.task)?;
    let key = match format {
        FormatName::InToto => None,
        FormatName::Dsse => Some(store.with_audit_ports(|ports| require_key(ports.keys, ports.name))?),
    };
    let form = key.as_ref().map_or(Form::Statement, Form::Envelope);
    let exported = store.with_export_ports(&arguments.destination, |ports| {
        let ports = attestation::Ports { records: ports.records, objects: ports.objects, exports: ports.exports };
        attestation::export(&ports, &selected, form)
    })?;
    Ok((selected.record.task, exported))
}
