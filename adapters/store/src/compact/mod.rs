//! Compaction: what packs hold is written anew into solid blocks, and then the packs go.

mod input;
mod lanes;
mod output;
mod rewrite;

use crate::error::{error, failed};
use crate::index::Pack;
use crate::locks::{COMPACT, Lock, Sharing, try_lock};
use crate::store::{FsTaskStore, Shared};
use isobox_domain::compaction::{Compaction, Scope};
use isobox_ports::{Compactor, StoreError, StoreErrorKind, TellAdvance};
pub(crate) use lanes::seal_idle_lanes;
pub(crate) use rewrite::{Rewrite, SealedPack, remove};
use std::collections::HashSet;

/// A compacted pack that is shorter is written anew together with others: each costs every reader a file.
const SHORT: u64 = 8 << 20;
/// So many packs that are not compacted pay: 128 MiB.
const PAYING: usize = 2;

impl Compactor for FsTaskStore {
    fn compact(&self, scope: Scope, tell: TellAdvance<'_>) -> Result<Compaction, StoreError> {
        let store = &*self.shared;
        store.layout.require_writable()?;
        let _lock = lock_compaction(store)?;
        if scope == Scope::All {
            seal_idle_lanes(store)?;
        }
        let inputs = choose(store)?;
        let done = Rewrite::without(store, &inputs, &HashSet::new(), tell)?.removing().run(&inputs)?;
        Ok(Compaction {
            packs_before: done.packs.len() as u64,
            bytes_before: done.packs.iter().map(|(_, bytes)| bytes).sum(),
            packs_after: done.packs_after,
            bytes_after: done.bytes_after,
            passed_by: done.passed_by,
        })
    }

    fn compaction_pays(&self) -> Result<bool, StoreError> {
        let sealed = self.shared.known_index().sealed();
        Ok(sealed.iter().filter(|pack| !pack.is_compacted).count() >= PAYING)
    }
}

/// Held by whoever rewrites packs.
pub(crate) fn lock_compaction(store: &Shared) -> Result<Lock, StoreError> {
    let locks = store.layout.locks()?;
    try_lock(&locks, COMPACT, Sharing::Exclusive)?.ok_or_else(|| {
        error(StoreErrorKind::Locked, "compact", locks.shown(COMPACT), "another process does so already")
    })
}

/// The packs that gain by being written anew, with their lengths in bytes.
fn choose(store: &Shared) -> Result<Vec<SealedPack>, StoreError> {
    let (mut chosen, mut short) = (Vec::new(), Vec::new());
    for sealed in store.fresh_index()?.sealed() {
        let pack = Pack::Sealed(sealed.id);
        let bytes = pack.length(&store.layout).map_err(failed("look at", &pack.shown(&store.layout)))?;
        match sealed.is_compacted {
            false => chosen.push((sealed.id, bytes)),
            true if bytes < SHORT => short.push((sealed.id, bytes)),
            true => {}
        }
    }
    if chosen.len() + short.len() > 1 {
        chosen.extend(short);
    }
    Ok(chosen)
}
