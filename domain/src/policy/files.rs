//! What a policy says of files beside what it shows.

use super::hide::HideRule;
use super::{ReuseInput, ReuseKind, SandboxPolicy};
use crate::repo_path::RepoPath;

/// A rule of `filesystem.write`: a host path of which the workload has a copy to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteRule {
    /// Absolute, or below `~/` where it is as written. Any bytes.
    pub path: Vec<u8>,
    /// What becomes of what the workload changes.
    pub changes: CopyChanges,
}

/// What becomes of the changes of a private copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyChanges {
    /// They are thrown away with the copy.
    Discarded,
    /// They are captured into the Task Record.
    Captured,
}

impl WriteRule {
    /// A rule for a copy that is thrown away.
    pub const fn discarding(path: Vec<u8>) -> Self {
        Self { path, changes: CopyChanges::Discarded }
    }

    /// A rule for a copy whose changes are captured.
    pub const fn capturing(path: Vec<u8>) -> Self {
        Self { path, changes: CopyChanges::Captured }
    }
}

/// Rules about files of the host and of the Workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileRules {
    /// `filesystem.write`.
    pub write: Vec<WriteRule>,
    /// `filesystem.hide`.
    pub hide: Vec<HideRule>,
    /// `workspace.protected`: paths of the Workspace that the workload can neither change nor make.
    pub protected: Vec<RepoPath>,
    /// Absolute host paths that are shown read-only though they are never shown otherwise: somebody said so in so many words.
    pub unsafe_shown: Vec<Vec<u8>>,
}

impl FileRules {
    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what `other` hides and protects; whether that is more than was hidden and protected.
    pub fn add(&mut self, hide: Option<&[HideRule]>, protected: Option<&[RepoPath]>) -> (bool, bool) {
        (add(&mut self.hide, hide.unwrap_or_default()), add(&mut self.protected, protected.unwrap_or_default()))
    }
}

impl SandboxPolicy {
    /// What of it takes mounts in the view of the workload, beyond those that a Sandbox without namespaces does without: a
    /// clause for people.
    pub fn takes_mounts(&self) -> Option<&'static str> {
        let is_copied = |input: &ReuseInput| input.kind == ReuseKind::Path && input.path().1;
        let is_socket = |input: &ReuseInput| input.kind == ReuseKind::LocalIntegration;
        if !self.files.hide.is_empty() || !self.files.protected.is_empty() {
            Some("something is to be hidden or protected in what the workload sees")
        } else if !self.files.write.is_empty() || self.reuse_inputs.iter().any(is_copied) {
            Some("the workload is to have copies of host files in their places")
        } else {
            self.reuse_inputs
                .iter()
                .any(is_socket)
                .then_some("the workload is to reach a socket of the host, and no other")
        }
    }
}

fn add<T: Clone + PartialEq>(to: &mut Vec<T>, more: &[T]) -> bool {
    let missing: Vec<T> = more.iter().filter(|one| !to.contains(one)).cloned().collect();
    let is_more = !missing.is_empty();
    to.extend(missing);
    is_more
}
