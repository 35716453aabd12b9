//! Lets pristine copies and layers of lent caches go that are not worth their room.

use crate::failure::{Failure, FailureKind};
use isobox_domain::cache_limits::{CacheEntry, CacheLimits};
use isobox_ports::{CacheError, CacheLayer, CacheLayers, CachedCopy, Clock, Eviction, WorkspaceCache};

/// Whether anything is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prune {
    /// It is.
    Performed,
    /// It is only shown what would be.
    Shown,
}

/// What lies in the cache.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    /// Pristine copies.
    pub(crate) copies: &'a dyn WorkspaceCache,
    /// What workloads wrote into the caches that were lent to them.
    pub(crate) layers: &'a dyn CacheLayers,
    pub(crate) clock: &'a dyn Clock,
}

/// A failure around a layer.
pub(crate) fn of_layers(error: CacheError) -> Failure {
    Failure::new(FailureKind::General, "look after the layers of lent caches").because(error)
}

/// What a prune came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pruned {
    /// What was removed, or would be.
    pub(crate) removed: Vec<CachedCopy>,
    /// What the limits do not keep, and stays because somebody uses it, or a copy that lies on it.
    pub(crate) in_use: Vec<CachedCopy>,
    /// The same of layers.
    pub(crate) removed_layers: Vec<CacheLayer>,
    /// The same of layers: none lies on another.
    pub(crate) layers_in_use: Vec<CacheLayer>,
    /// How many the limits keep.
    pub(crate) kept: u64,
}

impl Pruned {
    /// Whether nothing was removed, or would be.
    pub(crate) fn is_nothing(&self) -> bool {
        self.removed.is_empty() && self.removed_layers.is_empty()
    }

    /// Bytes that were given back, or would be.
    pub(crate) fn bytes(&self) -> u64 {
        let layers = self.removed_layers.iter().map(|layer| layer.bytes);
        self.removed.iter().map(|copy| copy.entry().bytes).chain(layers).sum()
    }
}

/// Removes what `limits` do not keep, of copies and layers together.
pub(crate) fn prune(ports: &Ports<'_>, limits: CacheLimits, prune: Prune) -> Result<Pruned, Failure> {
    let (copies, layers) = (ports.copies.list()?, ports.layers.list().map_err(of_layers)?);
    let entries: Vec<_> = copies.iter().map(CachedCopy::entry).chain(layers.iter().map(entry)).collect();
    let doomed = limits.doomed(&entries, ports.clock.now());
    let mut pruned = Pruned { kept: (entries.len() - doomed.len()) as u64, ..Pruned::default() };
    for at in doomed {
        let Some(copy) = copies.get(at).cloned() else {
            prune_layer(ports.layers, &layers[at - copies.len()], prune, &mut pruned)?;
            continue;
        };
        let evicted = match prune {
            Prune::Performed => ports.copies.evict(&copy.name)?,
            Prune::Shown if stays(&copy, &pruned) => Eviction::InUse,
            Prune::Shown => Eviction::Removed,
        };
        let of = if evicted == Eviction::Removed { &mut pruned.removed } else { &mut pruned.in_use };
        of.push(copy);
    }
    Ok(pruned)
}

fn entry(layer: &CacheLayer) -> CacheEntry<'_> {
    CacheEntry { name: &layer.name, below: &[], used_at: layer.used_at, bytes: layer.bytes, is_whole: true }
}

fn prune_layer(layers: &dyn CacheLayers, layer: &CacheLayer, prune: Prune, pruned: &mut Pruned) -> Result<(), Failure> {
    let evicted = match prune {
        Prune::Performed => layers.evict(&layer.name).map_err(of_layers)?,
        Prune::Shown if layer.is_in_use => Eviction::InUse,
        Prune::Shown => Eviction::Removed,
    };
    let of = if evicted == Eviction::Removed { &mut pruned.removed_layers } else { &mut pruned.layers_in_use };
    of.push(layer.clone());
    Ok(())
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
    use isobox_ports::fake::{FixedClock, InMemoryCacheLayers, InMemoryWorkspaceCache};

    fn copy(name: &str, below: &[&str], is_in_use: bool) -> CachedCopy {
        let below = below.iter().map(|name| (*name).to_owned()).collect();
        let commit = GitOid::Sha1([1; 20]);
        let seal = CopySeal { source: "/app/.git".into(), commit, branch: None, bytes: 4096, paths: 1, below };
        let used_at = Timestamp::nearest(1_800_000_000_000);
        CachedCopy { name: name.to_owned(), seal: Some(seal), used_at, is_in_use }
    }

    fn layer(name: &str, is_in_use: bool) -> CacheLayer {
        let used_at = Timestamp::nearest(1_800_000_000_000);
        CacheLayer { name: name.to_owned(), project: Some("/app/.git".into()), bytes: 512, used_at, is_in_use }
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
        let layers = InMemoryCacheLayers::default();
        [layer("p/0", false), layer("p/1", true)].into_iter().for_each(|layer| layers.put(layer));
        let ports = Ports { copies: &cache, layers: &layers, clock: &clock };
        let shown = prune(&ports, CacheLimits::NOTHING, Prune::Shown).unwrap();
        assert_eq!((names(&shown.removed), names(&shown.in_use)), (vec!["d", "c"], vec!["b", "a"]));
        assert_eq!(
            (&shown.removed_layers[..], &shown.layers_in_use[..]),
            (&[layer("p/0", false)][..], &[layer("p/1", true)][..])
        );
        assert_eq!(shown.bytes(), 8192 + 512);
        assert_eq!((cache.list().unwrap().len(), layers.list().unwrap().len()), (4, 2));
        assert_eq!(prune(&ports, CacheLimits::NOTHING, Prune::Performed).unwrap(), shown);
        assert_eq!(names(&cache.list().unwrap()), ["a", "b"]);
        assert_eq!(layers.list().unwrap(), [layer("p/1", true)]);
    }

    #[test]
    fn what_is_within_the_limits_stays() {
        let cache = InMemoryWorkspaceCache::default();
        cache.put(copy("a", &[], false));
        let clock = FixedClock(Timestamp::nearest(1_800_000_000_000));
        let layers = InMemoryCacheLayers::default();
        layers.put(layer("p/0", false));
        let ports = Ports { copies: &cache, layers: &layers, clock: &clock };
        let pruned = prune(&ports, CacheLimits::UPKEEP, Prune::Performed).unwrap();
        assert_eq!(pruned, Pruned { kept: 2, ..Pruned::default() });
    }
}
