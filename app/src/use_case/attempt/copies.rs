//! Private copies of what a workload may change of the host, made once nothing refuses the Task.

use super::{Ports, TaskRequest, preflight_of};
use crate::failure::Failure;
use crate::use_case::disposal::COPIES;
use isobox_domain::change::ChangeSetRef;
use isobox_domain::policy::{BackendName, CopyChanges, WriteRule};
use isobox_domain::record::TaskRecord;
use isobox_ports::{Access, Attempt, Exposed, PrivateCopies};
use std::borrow::Cow;

/// Captures what the workload changed in copies into `record`, where a rule says so. What cannot be captured stays where it is,
/// and is nobody's to remove: the reason says where.
pub(crate) fn capture(
    copies: &dyn PrivateCopies,
    attempt: &mut dyn Attempt,
    record: &mut TaskRecord,
) -> Result<(), Failure> {
    let is_captured = |rule: &WriteRule| rule.changes == CopyChanges::Captured;
    let Some(state) = attempt.noted(COPIES)?.filter(|state| !state.is_empty()) else { return Ok(()) };
    if !record.policy.asked.files.write.iter().any(is_captured) {
        return Ok(());
    }
    match captured(copies, attempt, &state) {
        Ok(set) => {
            record.artifacts.host_copies = set;
            Ok(())
        }
        Err(failure) => {
            attempt.note(COPIES, b"")?;
            let what =
                format!("capture what changed in the private copies, which were kept at {}", copies.shown(&state));
            Err(failure.while_doing(what))
        }
    }
}

fn captured(copies: &dyn PrivateCopies, attempt: &dyn Attempt, state: &[u8]) -> Result<Option<ChangeSetRef>, Failure> {
    let mut sink = attempt.copies_sink()?;
    copies.capture(state, &mut *sink)?;
    Ok(sink.finish()?.change_set)
}

/// Whether there is something to copy. The backend `host` shows the files themselves.
pub(super) fn are_wanted(exposed: &Exposed, record: &TaskRecord) -> bool {
    let is_copied = exposed.shown.iter().any(|shown| shown.access != Access::ReadOnly);
    is_copied && record.policy.backend != BackendName::Host
}

/// What is exposed, with copies in the place of what the workload may change. Their place is noted first, so that whoever
/// ends the attempt removes them.
pub(super) fn make<'a>(
    (ports, request, exposed): (&Ports<'_>, &TaskRequest<'_>, &'a Exposed),
    attempt: &mut dyn Attempt,
    record: &TaskRecord,
) -> Result<Cow<'a, Exposed>, Failure> {
    if !are_wanted(exposed, record) {
        return Ok(Cow::Borrowed(exposed));
    }
    let refused = |failure: Failure| failure.while_doing(preflight_of(request.kind));
    let state = ports.copies.reserve().map_err(|error| refused(error.into()))?;
    attempt.note(COPIES, &state)?;
    let mut exposed = exposed.clone();
    ports.copies.make(&state, &mut exposed).map_err(|error| refused(error.into()))?;
    Ok(Cow::Owned(exposed))
}
