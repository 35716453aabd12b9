//! Merging a result into what the trusted repository has by now.

use crate::{ChangeLines, ObjectStore};
use isobox_domain::git_oid::GitOid;
use isobox_domain::promotion::OnConflict;

/// What a merge goes by.
#[derive(Clone, Copy, Debug)]
pub struct MergeRequest<'a> {
    /// The commit that the Change Set was made against.
    pub base: &'a GitOid,
    /// What to do where both changed the same lines.
    pub on_conflict: OnConflict,
    /// What conflict markers call the side of the Change Set.
    pub label: &'a str,
}

/// How the paths of a merge met, each counted once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeTally {
    /// Nobody else had changed them.
    pub untouched: u64,
    /// The repository has them already as the Change Set would leave them.
    pub present: u64,
    /// Both had changed them, and they hold both changes.
    pub merged: u64,
    /// Both had changed the same lines, and they hold conflict markers.
    pub marked: Vec<String>,
}

/// A Change Set against what HEAD holds, made of one against an older commit, with the contents that it needs.
pub trait Merged: ObjectStore {
    /// Its lines.
    fn lines(&self) -> ChangeLines<'_>;

    /// How its paths met.
    fn tally(&self) -> &MergeTally;
}
