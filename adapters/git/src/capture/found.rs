//! What a walk finds, and why something is left out.

use super::descent::Opened;
use super::ignore::Rule;
use super::listing::is_git;
use crate::beneath::Seen;
use crate::stat_cache::StatCacheEntry;
use isobox_domain::change::NotCapturedReason;
use isobox_domain::repo_path::{RepoPath, RepoPathError};
use nix::errno::Errno;
use std::os::fd::OwnedFd;
use std::rc::Rc;

/// Something that may differ from the pinned commit.
pub(super) enum Found {
    /// The root's own `.git`.
    GitDirectory,
    /// A path of the commit that is there no more, and the submodule that it lies in.
    Deleted(StatCacheEntry, Option<RepoPath>),
    /// A file or link that is not proven to be as checkout left it.
    Entry(Entry),
    /// Something that an ignore rule covers.
    Ignored(Vec<u8>, Rule),
    /// Something else that is left out.
    Left(Vec<u8>, NotCapturedReason),
}

/// A file or a link.
pub(super) struct Entry {
    pub(super) path: RepoPath,
    /// A handle of the directory that it lies in.
    pub(super) directory: Rc<OwnedFd>,
    pub(super) seen: Seen,
    /// What the commit has at this path.
    pub(super) base: Option<StatCacheEntry>,
    /// The submodule that it lies in.
    pub(super) submodule: Option<RepoPath>,
}

/// Why a directory that the commit does not have is left out with all that is in it.
pub(super) fn left_whole(opened: &Opened) -> Option<NotCapturedReason> {
    if opened.listing.has_git {
        return Some(NotCapturedReason::NestedRepository);
    }
    opened.listing.is_empty.then_some(NotCapturedReason::EmptyDirectory)
}

/// What a failed look or open means.
pub(super) fn unreadable(errno: Errno) -> NotCapturedReason {
    match errno {
        Errno::EXDEV => NotCapturedReason::OtherFileSystem,
        _ => NotCapturedReason::Unreadable(errno.desc().to_owned()),
    }
}

/// Why a name cannot be that of a path.
pub(super) fn unsupported(name: &[u8], error: RepoPathError) -> NotCapturedReason {
    match error {
        RepoPathError::GitDirectory if is_git(name) => NotCapturedReason::NestedRepository,
        error => NotCapturedReason::UnsupportedName(error.to_string()),
    }
}
