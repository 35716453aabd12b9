//! Views: the browsable, derived copies of recent records.

use crate::{ObjectStore, StoreError};
use isobox_domain::content::ContentRef;
use isobox_domain::policy::ViewLimit;
use isobox_domain::task_id::TaskId;

/// What a View shows.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The Task.
    pub task: TaskId,
    /// The bytes of `record.json`.
    pub record_json: &'a [u8],
    /// Files of `artifacts/` by name; those over 1 MiB are left out.
    pub artifacts: &'a [(&'static str, ContentRef)],
}

/// The directory of Views. Never read back.
///
/// - A View is there whole or not at all; writing it again replaces it.
/// - The record directories of version 1, which lie in the same place, are neither removed nor replaced.
/// - No link is followed: where the directory, or a part of it, is a symbolic link, nothing is written.
/// - Files have mode 0600, directories 0700.
pub trait Views: Send + Sync {
    /// Writes a View, then removes all but the newest that `limit` allows.
    fn write(&self, view: &View<'_>, objects: &dyn ObjectStore, limit: ViewLimit) -> Result<(), StoreError>;

    /// Removes what one more View would be too much for, as `write` does otherwise while somebody waits for it. Where another
    /// process is at the Views, nothing is done.
    fn make_room(&self, limit: ViewLimit) -> Result<(), StoreError>;

    /// Removes the View of a Task, if there is one.
    fn remove(&self, task: TaskId) -> Result<(), StoreError>;
}
