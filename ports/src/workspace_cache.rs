//! Looking after the pristine copies that overlays lie on.

use crate::WorkspaceError;
use isobox_domain::cache_limits::CacheEntry;
use isobox_domain::git_oid::GitOid;
use isobox_domain::timestamp::Timestamp;
use std::path::PathBuf;

/// A pristine copy in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedCopy {
    /// What it is called, as no other is.
    pub name: String,
    /// What is known of it; `None` if it is damaged, and will be made anew when it is wanted.
    pub seal: Option<CopySeal>,
    /// When it was used last, to about an hour.
    pub used_at: Timestamp,
    /// Whether somebody uses it now.
    pub is_in_use: bool,
}

impl CachedCopy {
    /// What it is judged by.
    pub fn entry(&self) -> CacheEntry<'_> {
        let (below, bytes) = self.seal.as_ref().map_or((&[][..], 0), |seal| (&seal.below[..], seal.bytes));
        CacheEntry { name: &self.name, below, used_at: self.used_at, bytes, is_whole: self.seal.is_some() }
    }
}

/// What a whole copy says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopySeal {
    /// The Git directory of the source.
    pub source: PathBuf,
    /// The commit.
    pub commit: GitOid,
    /// Full name of the branch.
    pub branch: Option<Vec<u8>>,
    /// Bytes that it takes on disk, without those that it lies on.
    pub bytes: u64,
    /// Files, links and submodules of the commit.
    pub paths: u64,
    /// Names of the copies that it lies on, the uppermost first.
    pub below: Vec<String>,
}

/// What came of an eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eviction {
    /// The copy was removed, or was gone already.
    Removed,
    /// It stays: somebody uses it.
    InUse,
    /// It stays: another copy lies on it.
    LainOn,
}

/// The pristine copies of this user, of all sources.
///
/// - Every copy is listed, by name.
/// - A damaged copy is listed as one.
/// - Listing changes nothing, and looks at a few files of each copy.
/// - Verifying looks at every file. A copy with one that is not as it was made is damaged from then on.
/// - An evicted copy is gone with everything in it.
/// - A copy that is in use, or that another lies on, is not evicted.
/// - Evicting what is gone is fine.
pub trait WorkspaceCache: Send + Sync {
    /// Every copy that is there, in ascending order of names.
    fn list(&self) -> Result<Vec<CachedCopy>, WorkspaceError>;

    /// The same, once every file of every copy was looked at.
    fn verify(&self) -> Result<Vec<CachedCopy>, WorkspaceError>;

    /// Removes the copy of this name.
    fn evict(&self, name: &str) -> Result<Eviction, WorkspaceError>;
}
