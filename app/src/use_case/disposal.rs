//! What an attempt notes about its Workspace, so that it is removed in the end whoever is killed when.

use super::noted_mount;
use crate::failure::{Failure, one_line};
use isobox_domain::record::{TaskRecord, WorkspaceFate};
use isobox_domain::timestamp::Timestamp;
use isobox_ports::{Attempt, PrivateCopies, StoreError, WorkspaceMount, Workspaces};
use std::os::unix::ffi::OsStringExt;

/// Note: the state of the Workspace.
pub(crate) const PLACE: &str = "workspace";
/// Note: the state of the private copies.
pub(crate) const COPIES: &str = "private-copies";
/// Note: the Workspace is whole and a launch was tried; see [`Launched`].
const LAUNCHED: &str = "launched";

/// What is noted right before a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Launched {
    /// When.
    pub(crate) started_at: Timestamp,
    /// How the Workspace is mounted.
    pub(crate) mount: WorkspaceMount,
}

impl Launched {
    /// Notes it in `attempt`.
    pub(crate) fn note(&self, attempt: &mut dyn Attempt) -> Result<(), StoreError> {
        let moment = self.started_at.unix_ms().to_le_bytes();
        attempt.note(LAUNCHED, &[&moment[..], &noted_mount::encode(&self.mount)].concat())
    }

    /// What was noted in `attempt`, if it came that far.
    pub(crate) fn noted(attempt: &dyn Attempt) -> Result<Option<Self>, StoreError> {
        let noted = attempt.noted(LAUNCHED)?;
        Ok(noted.and_then(|noted| {
            let (moment, mount) = noted.split_first_chunk::<8>()?;
            let started_at = Timestamp::nearest(u64::from_le_bytes(*moment));
            Some(Self { started_at, mount: noted_mount::decode(mount)? })
        }))
    }
}

/// Removes what an attempt leaves whose record is durable: its private copies, its Workspace, unless that is kept, and then the
/// attempt.
///
/// The attempt names the Workspace until it is gone, so that a kill or a failure in between leaves nothing that no later
/// start finds.
pub(crate) fn dispose(
    (workspaces, copies): (&dyn Workspaces, &dyn PrivateCopies),
    attempt: Box<dyn Attempt>,
    record: &TaskRecord,
    place: Option<&[u8]>,
) -> Result<(), Failure> {
    let removed = dispose_copies(copies, &*attempt);
    if let Some(place) = place.filter(|_| !matches!(record.workspace, WorkspaceFate::Retained { .. })) {
        workspaces.dispose(place)?;
    }
    removed?;
    // What cannot be removed now is found, and removed, by the next start.
    attempt.discard().ok();
    Ok(())
}

/// Removes the private copies of an attempt, if it has any.
pub(crate) fn dispose_copies(copies: &dyn PrivateCopies, attempt: &dyn Attempt) -> Result<(), Failure> {
    match attempt.noted(COPIES)? {
        // They were kept where nothing is left of the note.
        Some(state) if !state.is_empty() => Ok(copies.dispose(&state)?),
        _ => Ok(()),
    }
}

/// Keeps the Workspace at `place` for the user, and says so in `record`. What cannot be cleared away around it stays.
pub(crate) fn retain(workspaces: &dyn Workspaces, record: &mut TaskRecord, place: &[u8], mount: &WorkspaceMount) {
    let root = workspaces.retain(place).unwrap_or_else(|error| {
        record.warnings.push(format!("the workspace was kept as it was: {}", one_line(&error)));
        mount.host_path().to_owned()
    });
    record.workspace = WorkspaceFate::Retained { host_path: root.into_os_string().into_vec() };
}
