//! Caches of nobody.

use crate::{CacheError, CacheForm, DependencyCaches, HiddenInCaches, Lent};
use isobox_domain::policy::DependencyCache;
use std::path::Path;

/// A user without any cache, and without a place for layers: nothing is lent.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoDependencyCaches;

impl DependencyCaches for NoDependencyCaches {
    fn directory(&self) -> Option<&Path> {
        None
    }

    fn lend(&self, _: &[DependencyCache], _: CacheForm, _: &HiddenInCaches<'_>) -> Result<Lent, CacheError> {
        Ok(Lent { layers: Vec::new(), shown: Vec::new(), hidden: Vec::new(), held: Box::new(()) })
    }
}
