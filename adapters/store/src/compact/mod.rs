//! Compaction: what packs hold is written anew into solid blocks, and then the packs go.

mod input;
mod lanes;
mod output;
mod rewrite;

use crate::dir::Access;
use crate::error::{error, failed};
use crate::index::Pack;
use crate::locks::{COMPACT, Lock, Sharing, lock, try_lock};
use crate::store::{FsTaskStore, Shared};
use isobox_domain::compaction::{Compaction, Scope};
use isobox_domain::content::{ContentId, parse_hex};
use isobox_ports::{Compactor, StoreError, StoreErrorKind, TellAdvance};
pub(crate) use lanes::seal_idle_lanes;
pub(crate) use rewrite::{Rewrite, Rewritten, SealedPack, remove};
use std::collections::HashSet;
use std::io::{self, Read, Write};

/// A compacted pack that is shorter is written anew together with others: each costs every reader a file.
const SHORT: u64 = 8 << 20;
/// Where it is noted which packs could not be compacted.
const PASSED_BY: &str = "passed-by";
/// So much of that is read, in bytes.
const MOST_NOTED: u64 = 1 << 20;
/// So many packs that are not compacted pay: 128 MiB.
const PAYING: usize = 2;

impl Compactor for FsTaskStore {
    fn compact(&self, scope: Scope, tell: TellAdvance<'_>) -> Result<Compaction, StoreError> {
        let store = &*self.shared;
        store.layout.require_writable()?;
        let _lock = match scope {
            Scope::All => lock_compaction(store)?,
            Scope::Sealed => lock_compaction_at_once(store)?,
        };
        if scope == Scope::All {
            seal_idle_lanes(store)?;
        }
        let inputs = choose(store)?;
        let done = Rewrite::without(store, &inputs, &HashSet::new(), tell)?.removing().run(&inputs)?;
        note_passed_by(store, &inputs, &done).map_err(failed("note in", &store.layout.root.shown("cache")))?;
        Ok(Compaction {
            packs_before: done.packs.len() as u64,
            bytes_before: done.packs.iter().map(|(_, bytes)| bytes).sum(),
            packs_after: done.packs_after,
            bytes_after: done.bytes_after,
            passed_by: done.passed_by,
        })
    }

    fn compaction_pays(&self) -> Result<bool, StoreError> {
        let mut left = self.shared.known_index().sealed();
        left.retain(|pack| !pack.is_compacted);
        if left.len() < PAYING {
            return Ok(false);
        }
        let passed_by = passed_by(&self.shared);
        Ok(left.iter().filter(|pack| !passed_by.contains(&pack.id)).count() >= PAYING)
    }
}

/// Held by whoever rewrites packs; waited for a while.
pub(crate) fn lock_compaction(store: &Shared) -> Result<Lock, StoreError> {
    lock(store.layout.locks()?, COMPACT, Sharing::Exclusive)
}

fn lock_compaction_at_once(store: &Shared) -> Result<Lock, StoreError> {
    let locks = store.layout.locks()?;
    try_lock(locks, COMPACT, Sharing::Exclusive)?.ok_or_else(|| {
        error(StoreErrorKind::Locked, "compact", locks.shown(COMPACT), "another process does so already")
    })
}

/// Notes which packs cannot be compacted, so that nobody tries again by himself. It is lost with the cache, which costs a try.
fn note_passed_by(store: &Shared, inputs: &[SealedPack], done: &Rewritten) -> io::Result<()> {
    let moved: HashSet<ContentId> = done.packs.iter().map(|(id, _)| *id).collect();
    let left = inputs.iter().filter(|(id, _)| !done.passed_by.is_empty() && !moved.contains(id));
    let noted: String = left.map(|(id, _)| format!("{}\n", id.to_hex())).collect();
    let cache = store.layout.root.dir("cache")?;
    cache.remove_file(PASSED_BY)?;
    if noted.is_empty() { Ok(()) } else { cache.file(PASSED_BY, Access::CreateNew)?.write_all(noted.as_bytes()) }
}

/// The packs that could not be compacted lately.
fn passed_by(store: &Shared) -> HashSet<ContentId> {
    let cache = store.layout.root.find_dir("cache").ok().flatten();
    let noted = cache.and_then(|cache| cache.find_file(PASSED_BY).ok().flatten());
    let mut text = String::new();
    match noted.map(|file| file.take(MOST_NOTED).read_to_string(&mut text)) {
        Some(Ok(_)) => text.lines().filter_map(parse_hex).map(ContentId::new).collect(),
        Some(Err(_)) | None => HashSet::new(),
    }
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
