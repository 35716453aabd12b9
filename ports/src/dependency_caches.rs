//! Lending a workload what package managers of the host downloaded, and looking after what it adds.

use crate::{Cause, Eviction, Layered, MemorySize, OverlayKind, Shown};
use isobox_domain::policy::{DependencyCache, Glob, HideRule};
use isobox_domain::timestamp::Timestamp;
use std::any::Any;
use std::path::{Path, PathBuf};

/// In which form caches are lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheForm {
    /// Under a layer of the project's own, which stays.
    Kept(OverlayKind),
    /// Under a layer in memory of this size, which goes with the attempt.
    InMemory(OverlayKind, MemorySize),
    /// As they are, to be read alone.
    ReadOnly,
}

/// What stays hidden in caches besides what is never lent.
#[derive(Clone, Copy, Debug, Default)]
pub struct HiddenInCaches<'a> {
    /// Patterns of absolute host paths.
    pub patterns: &'a [Glob],
    /// Rules, of which those count that are not about places of the host.
    pub rules: &'a [HideRule],
}

/// Caches that are lent to one attempt.
pub struct Lent {
    /// Those under layers.
    pub layers: Vec<Layered>,
    /// Those that are read alone.
    pub shown: Vec<Shown>,
    /// Patterns of absolute host paths that stay hidden in those that are read alone.
    pub hidden: Vec<Glob>,
    /// As long as it is there, no other attempt has the same layers.
    pub held: Box<dyn Any + Send>,
}

/// A failure around a cache.
#[derive(Debug, thiserror::Error)]
#[error("{operation}")]
pub struct CacheError {
    /// What was being done, to what.
    pub operation: String,
    /// Why it did not work.
    #[source]
    pub source: Cause,
    /// What to do next, if that is known.
    pub hint: Option<&'static str>,
}

/// The caches of this user's package managers, for one project.
///
/// - Nothing is written to them, and nothing is lent but what was downloaded: no settings, and no credentials that they keep.
/// - What is written into a layer is found by later attempts of the same project, and by nobody else.
/// - Two attempts at the same time have different layers.
/// - A cache that is not there is lent as an empty one, or not at all to be read alone.
pub trait DependencyCaches {
    /// The directory below which layers lie, which need not be there yet; `None` if this user has no place for any.
    fn directory(&self) -> Option<&Path>;

    /// Lends `caches`, but for what is `hidden` in them. One that is hidden as a whole is an error, and so is one that cannot be
    /// looked for.
    fn lend(
        &self,
        caches: &[DependencyCache],
        form: CacheForm,
        hidden: &HiddenInCaches<'_>,
    ) -> Result<Lent, CacheError>;
}

/// What workloads of a project wrote into the caches that were lent to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheLayer {
    /// What it is called, as no other is.
    pub name: String,
    /// The common Git directory of the project; `None` if that was lost.
    pub project: Option<PathBuf>,
    /// Bytes that it takes on disk.
    pub bytes: u64,
    /// When an attempt last used it.
    pub used_at: Timestamp,
    /// Whether one uses it now.
    pub is_in_use: bool,
}

/// The layers of this user, of all projects.
///
/// - Every layer is listed, by name. Listing changes nothing, and follows no link that a workload made.
/// - An evicted layer is gone with everything in it, whatever its modes. One that is in use is not evicted.
/// - Evicting what is gone is fine.
pub trait CacheLayers: Send + Sync {
    /// Every layer that is there, in ascending order of names.
    fn list(&self) -> Result<Vec<CacheLayer>, CacheError>;

    /// Removes the layer of this name.
    fn evict(&self, name: &str) -> Result<Eviction, CacheError>;
}
