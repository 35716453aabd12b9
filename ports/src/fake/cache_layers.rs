//! Layers that are only listed.

use crate::{CacheError, CacheLayer, CacheLayers, Eviction};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Layers in memory, without anything in them.
#[derive(Debug, Default)]
pub struct InMemoryCacheLayers(Mutex<BTreeMap<String, CacheLayer>>);

impl InMemoryCacheLayers {
    /// Puts a layer there, in the place of one of the same name.
    pub fn put(&self, layer: CacheLayer) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(layer.name.clone(), layer);
    }
}

impl CacheLayers for InMemoryCacheLayers {
    fn list(&self) -> Result<Vec<CacheLayer>, CacheError> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect())
    }

    fn evict(&self, name: &str) -> Result<Eviction, CacheError> {
        let mut layers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if layers.get(name).is_some_and(|layer| layer.is_in_use) {
            return Ok(Eviction::InUse);
        }
        layers.remove(name);
        Ok(Eviction::Removed)
    }
}
