//! Removing what only pruned records refer to.
//!
//! A record that is put meanwhile may refer to what was about to go: it counted that as stored. So packs are removed while
//! no put is under way, and only after the records that came since were looked at. Nothing weaker is safe: neither the age
//! of an object nor a mark on it tells whether somebody relies on it just now.

mod large;
mod pruned;
mod reach;
mod round;

use crate::compact::{lock_compaction, seal_idle_lanes};
use crate::steps::step;
use crate::store::FsTaskStore;
use isobox_domain::content::ContentId;
use isobox_domain::pruning::Swept;
use isobox_ports::{Collector, StoreError, TellAdvance};
use pruned::Pruned;
use round::Round;
use std::collections::HashSet;

impl Collector for FsTaskStore {
    fn sweep(&self, tell: TellAdvance<'_>) -> Result<Swept, StoreError> {
        let store = &*self.shared;
        store.layout.require_writable()?;
        let _lock = lock_compaction(store)?;
        seal_idle_lanes(store)?;
        let mut swept = Swept::default();
        let mut passed = HashSet::new();
        loop {
            let mark = store.fresh_index()?.mark();
            step("marked");
            // From the start again: what was removed stood before the rest.
            let mut round = Round::gather(self, &mut Pruned::new(self), &passed)?;
            let is_over = round.records.is_empty();
            passed.extend(round.records.iter().copied());
            round.keep_what_lanes_refer_to()?;
            step("knows what is dead");
            if is_over {
                swept.large_bytes += large::remove_unreferenced(self)?;
                return Ok(swept);
            }
            if !round.dead.is_empty() {
                round.remove(&mark, tell, &mut swept)?;
            }
        }
    }
}

/// Tells `each` of everything that a sweep would remove, some of it several times. What comes and goes meanwhile may be missed.
pub(crate) fn each_unswept(store: &FsTaskStore, mut each: impl FnMut(&HashSet<ContentId>)) -> Result<(), StoreError> {
    let mut pruned = Pruned::new(store);
    loop {
        let round = Round::gather(store, &mut pruned, &HashSet::new())?;
        if round.records.is_empty() {
            return Ok(());
        }
        each(&round.dead);
    }
}
