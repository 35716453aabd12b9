//! Exports what a Task changed as a tar archive: each changed file as the workload left it, whatever the repository is like.

use crate::failure::{Failure, FailureKind};
use crate::output::tar::TarWriter;
use crate::use_case::select::Selected;
use isobox_domain::change::{ChangeLine, ChangeSummary, Mode};
use isobox_domain::result_commit::{NoResultCommit, content};
use isobox_ports::ObjectStore;
use std::io::{self, Write};

/// What it touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) objects: &'a dyn ObjectStore,
    /// What names the store in a further command, each flag after a blank.
    pub(crate) flags: &'a str,
}

/// Writes the archive; entries come by path, and bear the time when the attempt ended. What was changed of what the archive
/// cannot tell.
pub(crate) fn write(ports: &Ports<'_>, selected: &Selected, out: &mut dyn Write) -> Result<ChangeSummary, Failure> {
    let record = &selected.record;
    let change_set = match (content(record), record.artifacts.change_set) {
        (Ok(change_set), _) => change_set,
        // What it changed beside uncommitted changes needs no commit to lie on.
        (Err(NoResultCommit::UncommittedSource), Some(change_set)) if change_set.summary.changed() > 0 => change_set,
        (Err(why), _) => {
            let failure = Failure::new(FailureKind::General, why.to_string()).with_hint(why.hint(record, ports.flags));
            return Err(failure.while_doing(format!("cannot make a tar archive of the result of {}", record.task)));
        }
    };
    let mut tar = TarWriter::new(out, record.ended_at.unix_ms() / 1000);
    for line in ports.objects.changes(&change_set)? {
        let line = line.map_err(|cause| Failure::new(FailureKind::Store, "read the change set").because(cause))?;
        let ChangeLine::Change(change) = line else { continue };
        let Some(after) = change.after.filter(|after| after.mode != Mode::Submodule) else { continue };
        let lost = || Failure::new(FailureKind::Store, format!("{} is not in the task store", after.content.id));
        let mut content = ports.objects.open(&after.content.id)?.ok_or_else(lost)?;
        let written = tar.write(change.path.as_bytes(), after.mode, after.content.length, &mut content);
        written.map_err(|error| failed(&format!("write {} to the archive", change.path), error))?;
    }
    tar.finish().map_err(|error| failed("write the archive", error))?;
    Ok(change_set.summary)
}

fn failed(operation: &str, error: io::Error) -> Failure {
    Failure::new(FailureKind::General, format!("{operation}; nothing was exported")).because(error)
}
