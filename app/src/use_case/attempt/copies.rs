//! Private copies of what a workload may change of the host, made once nothing refuses the Task.

use super::{Ports, TaskRequest, preflight_of};
use crate::failure::Failure;
use crate::use_case::disposal::COPIES;
use isobox_domain::policy::BackendName;
use isobox_domain::record::TaskRecord;
use isobox_ports::{Access, Attempt, Exposed};
use std::borrow::Cow;

/// Whether there is something to copy. The backend `host` shows the files themselves.
pub(super) fn are_wanted(exposed: &Exposed, record: &TaskRecord) -> bool {
    let is_copied = exposed.shown.iter().any(|shown| shown.access != Access::ReadOnly);
    is_copied && record.policy.backend != BackendName::Host
}

/// What is exposed, with copies in the place of what the workload may change. Their place is noted first, so that whoever
/// ends the attempt removes them.
pub(super) fn make<'a>(
    (ports, request, exposed): (&Ports<'_>, &TaskRequest, &'a Exposed),
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
