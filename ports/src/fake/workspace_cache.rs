//! Pristine copies that are nothing but their names.

use crate::{CachedCopy, Eviction, WorkspaceCache, WorkspaceError};
use std::sync::{Mutex, PoisonError};

/// A cache in memory.
#[derive(Debug, Default)]
pub struct InMemoryWorkspaceCache {
    copies: Mutex<Vec<CachedCopy>>,
}

impl InMemoryWorkspaceCache {
    /// Adds a copy, or replaces the one of its name.
    pub fn put(&self, copy: CachedCopy) {
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        copies.retain(|other| other.name != copy.name);
        copies.push(copy);
        copies.sort_by(|a, b| a.name.cmp(&b.name));
    }
}

impl WorkspaceCache for InMemoryWorkspaceCache {
    fn list(&self) -> Result<Vec<CachedCopy>, WorkspaceError> {
        Ok(self.copies.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    fn verify(&self) -> Result<Vec<CachedCopy>, WorkspaceError> {
        self.list()
    }

    fn evict(&self, name: &str) -> Result<Eviction, WorkspaceError> {
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        if copies.iter().any(|copy| copy.name == name && copy.is_in_use) {
            return Ok(Eviction::InUse);
        }
        if copies.iter().filter_map(|copy| copy.seal.as_ref()).any(|seal| seal.below.iter().any(|below| below == name))
        {
            return Ok(Eviction::LainOn);
        }
        copies.retain(|copy| copy.name != name);
        Ok(Eviction::Removed)
    }
}
