//! Trusted policies in memory.

use crate::contract::policy_pins::{Damage, PinsFixture};
use crate::{PolicyPins, PolicyPinsError};
use isobox_domain::policy::TrustedPolicies;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Pins in memory; clones share them, as processes of one user do.
#[derive(Clone, Debug, Default)]
pub struct InMemoryPolicyPins(Arc<Mutex<BTreeMap<PathBuf, TrustedPolicies>>>);

impl InMemoryPolicyPins {
    fn kept(&self) -> MutexGuard<'_, BTreeMap<PathBuf, TrustedPolicies>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PolicyPins for InMemoryPolicyPins {
    fn load(&self, host_path: &Path) -> TrustedPolicies {
        self.kept().get(host_path).cloned().unwrap_or_default()
    }

    fn change(
        &self,
        host_path: &Path,
        change: &mut dyn FnMut(TrustedPolicies) -> TrustedPolicies,
    ) -> Result<(), PolicyPinsError> {
        let mut kept = self.kept();
        let trusted = kept.remove(host_path).unwrap_or_default();
        kept.insert(host_path.to_owned(), change(trusted));
        Ok(())
    }
}

impl PinsFixture for InMemoryPolicyPins {
    fn pins(&self) -> &dyn PolicyPins {
        self
    }

    fn later(&self) -> Box<dyn PolicyPins + Send> {
        Box::new(self.clone())
    }

    // In memory there is nothing but what was kept: what would not be believed is not there.
    fn damage(&self, host_path: &Path, _: Damage) {
        self.kept().remove(host_path);
    }

    fn open_up(&self, host_path: &Path) {
        self.kept().remove(host_path);
    }
}
