//! Lets pristine copies go that are not worth their room.

use crate::failure::Failure;
use isobox_domain::cache_limits::CacheLimits;
use isobox_ports::{CachedCopy, Clock, Eviction, WorkspaceCache};

/// Whether anything is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prune {
    /// It is.
    Performed,
    /// It is only shown what would be.
    Shown,
}

/// What a prune came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pruned {
    /// What was removed, or would be.
    pub(crate) removed: Vec<CachedCopy>,
    /// What the limits do not keep, and stays because somebody uses it, or a copy that lies on it.
    pub(crate) in_use: Vec<CachedCopy>,
    /// How many the limits keep.
    pub(crate) kept: u64,
}

impl Pruned {
    /// Bytes that were given back, or would be.
    pub(crate) fn bytes(&self) -> u64 {
        self.removed.iter().map(|copy| copy.entry().bytes).sum()
    }
}

/// Removes what `limits` do not keep.
pub(crate) fn prune(
    cache: &dyn WorkspaceCache,
    clock: &dyn Clock,
    limits: CacheLimits,
    prune: Prune,
) -> Result<Pruned, Failure> {
    let copies = cache.list()?;
    let entries: Vec<_> = copies.iter().map(CachedCopy::entry).collect();
    let doomed = limits.doomed(&entries, clock.now());
    let mut pruned = Pruned { kept: (copies.len() - doomed.len()) as u64, ..Pruned::default() };
    for at in doomed {
        let copy = copies[at].clone();
        let evicted = match prune {
            Prune::Performed => cache.evict(&copy.name)?,
            Prune::Shown if stays(&copy, &pruned) => Eviction::InUse,
            Prune::Shown => Eviction::Removed,
        };
        let of = if evicted == Eviction::Removed { &mut pruned.removed } else { &mut pruned.in_use };
        of.push(copy);
    }
    Ok(pruned)
}

/// What is in use stays, and so does what lies below it, which comes after it.
fn stays(copy: &CachedCopy, pruned: &Pruned) -> bool {
    copy.is_in_use || pruned.in_use.iter().any(|above| above.entry().below.contains(&copy.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobox_domain::git_oid::GitOid;
    use isobox_domain::timestamp::Timestamp;
    use isobox_ports::CopySeal;
    use isobox_ports::fake::{FixedClock, InMemoryWorkspaceCache};

    fn copy(name: &str, below: &[&str], is_in_use: bool) -> CachedCopy {
        let below = below.iter().map(|name| (*name).to_owned()).collect();
        let commit = GitOid::Sha1([1; 20]);
        let seal = CopySeal { source: "/app/.git".into(), commit, branch: None, bytes: 4096, paths: 1, below };
        let used_at = Timestamp::nearest(1_800_000_000_000);
        CachedCopy { name: name.to_owned(), seal: Some(seal), used_at, is_in_use }
    }

    fn names(copies: &[CachedCopy]) -> Vec<&str> {
        copies.iter().map(|copy| copy.name.as_str()).collect()
    }

    #[test]
    fn what_is_shown_is_what_would_be_removed_and_nothing_is() {
        let cache = InMemoryWorkspaceCache::default();
        let copies = [copy("a", &[], false), copy("b", &["a"], true), copy("c", &[], false), copy("d", &["c"], false)];
        copies.into_iter().for_each(|copy| cache.put(copy));
        let clock = FixedClock(Timestamp::nearest(1_800_000_000_000));
        let shown = prune(&cache, &clock, CacheLimits::NOTHING, Prune::Shown).unwrap();
        assert_eq!((names(&shown.removed), names(&shown.in_use)), (vec!["d", "c"], vec!["b", "a"]));
        assert_eq!(shown.bytes(), 8192);
        assert_eq!(cache.list().unwrap().len(), 4);
        assert_eq!(prune(&cache, &clock, CacheLimits::NOTHING, Prune::Performed).unwrap(), shown);
        assert_eq!(names(&cache.list().unwrap()), ["a", "b"]);
    }

    #[test]
    fn what_is_within_the_limits_stays() {
        let cache = InMemoryWorkspaceCache::default();
        cache.put(copy("a", &[], false));
        let clock = FixedClock(Timestamp::nearest(1_800_000_000_000));
        let pruned = prune(&cache, &clock, CacheLimits::UPKEEP, Prune::Performed).unwrap();
        assert_eq!(pruned, Pruned { kept: 1, ..Pruned::default() });
    }
}
