//! Keys of logs in memory.

use crate::contract::audit_keys::AuditKeysFixture;
use crate::{AuditKeyError, AuditKeys, KeyKept};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Keys in memory; clones share them, as processes of one user do.
#[derive(Clone, Debug, Default)]
pub struct InMemoryAuditKeys(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    keys: BTreeMap<String, String>,
    newest: BTreeMap<String, Vec<u8>>,
    seeds: u8,
}

impl InMemoryAuditKeys {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AuditKeys for InMemoryAuditKeys {
    fn logs(&self) -> Result<Vec<String>, AuditKeyError> {
        Ok(self.kept().keys.keys().cloned().collect())
    }

    fn load(&self, log: &str) -> Result<Option<String>, AuditKeyError> {
        Ok(self.kept().keys.get(log).cloned())
    }

    fn keep(&self, log: &str, secret: &str) -> Result<KeyKept, AuditKeyError> {
        Ok(match self.kept().keys.entry(log.to_owned()) {
            Entry::Occupied(_) => KeyKept::Before,
            Entry::Vacant(place) => {
                place.insert(secret.to_owned());
                KeyKept::Now
            }
        })
    }

    fn newest(&self, log: &str) -> Result<Option<Vec<u8>>, AuditKeyError> {
        Ok(self.kept().newest.get(log).cloned())
    }

    fn keep_newest(&self, log: &str, note: &[u8]) -> Result<(), AuditKeyError> {
        self.kept().newest.insert(log.to_owned(), note.to_vec());
        Ok(())
    }

    fn seed(&self) -> [u8; 32] {
        let mut kept = self.kept();
        kept.seeds += 1;
        [kept.seeds; 32]
    }
}

impl AuditKeysFixture for InMemoryAuditKeys {
    fn keys(&self) -> &dyn AuditKeys {
        self
    }

    fn later(&self) -> Box<dyn AuditKeys> {
        Box::new(self.clone())
    }
}
