//! The look at the attempts of the store in memory.

use super::store::InMemoryStore;
use super::store_attempt::{Left, hold};
use crate::{Asked, Flow, OpenAttempt, OpenAttempts, Role, StoreError};
use isobox_domain::record::TaskRecord;
use std::sync::PoisonError;

struct InMemoryOpenAttempt {
    store: InMemoryStore,
    /// `None`: it was abandoned.
    number: Option<u64>,
    left: Left,
}

impl OpenAttempts for InMemoryStore {
    fn look(&self) -> Result<Vec<Box<dyn OpenAttempt>>, StoreError> {
        let state = self.state();
        let running = state.running.iter().map(|(number, left)| (Some(*number), left));
        let seen = running.chain(state.abandoned.iter().map(|left| (None, left)));
        let look = |(number, left): (_, &Left)| InMemoryOpenAttempt { store: self.clone(), number, left: left.clone() };
        Ok(seen.map(|seen| Box::new(look(seen)) as Box<dyn OpenAttempt>).collect())
    }
}

impl OpenAttempt for InMemoryOpenAttempt {
    fn draft(&self) -> &TaskRecord {
        &self.left.draft
    }

    fn noted(&self, name: &str) -> Option<&[u8]> {
        self.left.notes.get(name).map(Vec::as_slice)
    }

    fn is_running(&self) -> bool {
        self.number.is_some()
    }

    // Threads of one process stand for processes here.
    fn interrupt(&self) -> Result<Asked, StoreError> {
        Ok(if self.number.is_some() { Asked::OutOfReach } else { Asked::Over })
    }

    fn wait(&self) -> Result<(), StoreError> {
        let Some(number) = self.number else { return Ok(()) };
        let waited = self.store.ended.wait_while(self.store.state(), |state| state.running.contains_key(&number));
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        Ok(())
    }

    fn follow(&self, receive: &mut dyn FnMut(Role, &[u8]) -> Flow) -> Result<(), StoreError> {
        self.wait()?;
        for role in [Role::Timeline, Role::Stdout, Role::Stderr] {
            let written = hold(&self.left.written).get(&role).cloned();
            if written.is_some_and(|written| receive(role, &written) == Flow::Closed) {
                break;
            }
        }
        Ok(())
    }
}
