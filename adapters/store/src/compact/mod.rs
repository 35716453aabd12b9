//! Compaction: what packs hold is written anew into solid blocks, and then the packs go.

mod input;
mod lanes;
mod output;

use crate::error::{error, failed};
use crate::index::Pack;
use crate::locks::{COMPACT, Lock, Sharing, try_lock};
use crate::store::{FsTaskStore, Shared};
use input::{Input, Rest};
use isobox_domain::compaction::{Compaction, PassedBy, Scope};
use isobox_domain::content::ContentId;
use isobox_ports::{Advance, Compactor, StoreError, StoreErrorKind, TellAdvance};
use isobox_store_format::record::ChildRole;
use lanes::seal_idle_lanes;
use output::{Output, class_of};
use std::collections::HashSet;
use std::io;

/// So many objects are remembered as taken over, 32 bytes each; further copies of others are kept.
const REMEMBERED: usize = 1 << 17;
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
        Run::new(store, &inputs, tell)?.run(&inputs)
    }

    fn compaction_pays(&self) -> Result<bool, StoreError> {
        let sealed = self.shared.known_index().sealed();
        Ok(sealed.iter().filter(|pack| !pack.is_compacted).count() >= PAYING)
    }
}

/// Held by whoever rewrites packs.
fn lock_compaction(store: &Shared) -> Result<Lock, StoreError> {
    let locks = store.layout.locks()?;
    try_lock(&locks, COMPACT, Sharing::Exclusive)?.ok_or_else(|| {
        error(StoreErrorKind::Locked, "compact", locks.shown(COMPACT), "another process does so already")
    })
}

/// The packs that gain by being written anew, with their lengths in bytes.
fn choose(store: &Shared) -> Result<Vec<(ContentId, u64)>, StoreError> {
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

/// One compaction.
struct Run<'a> {
    store: &'a Shared,
    output: Output<'a>,
    inputs: HashSet<ContentId>,
    taken: HashSet<ContentId>,
    /// Packs of which everything is in the output, and their lengths.
    moved: Vec<(ContentId, u64)>,
    done: Compaction,
    all_bytes: u64,
    done_bytes: u64,
    tell: TellAdvance<'a>,
}

impl<'a> Run<'a> {
    fn new(store: &'a Shared, inputs: &[(ContentId, u64)], tell: TellAdvance<'a>) -> Result<Self, StoreError> {
        let output = Output::new(&store.layout).map_err(failed("compact", &store.layout.root.shown("cache")))?;
        Ok(Self {
            store,
            output,
            inputs: inputs.iter().map(|(id, _)| *id).collect(),
            taken: HashSet::new(),
            moved: Vec::new(),
            done: Compaction::default(),
            all_bytes: inputs.iter().map(|(_, bytes)| bytes).sum(),
            done_bytes: 0,
            tell,
        })
    }

    fn run(mut self, inputs: &[(ContentId, u64)]) -> Result<Compaction, StoreError> {
        for (id, bytes) in inputs {
            let pack = Pack::Sealed(*id);
            let file = pack.shown(&self.store.layout);
            match self.take_over(pack).map_err(failed("compact", &file))? {
                Ok(()) => self.moved.push((*id, *bytes)),
                Err(reason) => self.done.passed_by.push(PassedBy { file, reason }),
            }
            self.done_bytes += bytes;
            (self.tell)(Advance { done_bytes: self.done_bytes, all_bytes: self.all_bytes });
        }
        self.finish().map_err(failed("compact", &self.store.layout.packs.shown("")))?;
        Ok(self.done)
    }

    /// Adds everything that `pack` holds to the output; the reason if it has to stay.
    fn take_over(&mut self, pack: Pack) -> io::Result<Result<(), String>> {
        let input = match Input::open(self.store, pack, self.rest_of(pack))? {
            Ok(input) => input,
            Err(reason) => return Ok(Err(reason)),
        };
        for (id, location) in &input.objects {
            let role = input.role(id);
            if self.taken.contains(id) || self.is_kept(id, role)? {
                continue;
            }
            let raw = match self.store.read_object(id, *location)? {
                Ok(raw) => raw,
                Err(damage) => return Ok(Err(format!("{id} in it is damaged: {damage}"))),
            };
            if self.taken.len() < REMEMBERED {
                self.taken.insert(*id);
            }
            self.output.add(class_of(location.kind, role), location.kind, *id, &raw)?;
            self.finish_if_long()?;
        }
        for entry in input.commits() {
            let (header, stored) = match entry? {
                Ok(entry) => entry,
                Err(reason) => return Ok(Err(reason)),
            };
            self.output.copy(&header, &stored)?;
            self.finish_if_long()?;
        }
        Ok(Ok(()))
    }

    /// Whether a compacted pack that stays holds it already. Of policies there are to be several copies.
    fn is_kept(&self, id: &ContentId, role: Option<u8>) -> io::Result<bool> {
        if role == Some(ChildRole::Policy.number()) {
            return Ok(false);
        }
        let known = self.store.known_locations(id).map_err(io::Error::other)?;
        for location in known.into_iter().filter(|known| known.is_certain && known.is_member) {
            let stays = matches!(location.pack, Pack::Sealed(pack) if !self.inputs.contains(&pack));
            if stays && self.store.read_object(id, location)?.is_ok() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn rest_of(&self, pack: Pack) -> Rest {
        match pack {
            Pack::Sealed(id) if self.store.known_index().is_named(&id) => Rest::Committed,
            _ => Rest::Open,
        }
    }

    fn finish_if_long(&mut self) -> io::Result<()> {
        if self.output.is_long() { self.finish() } else { Ok(()) }
    }

    /// Makes the output durable, and removes the packs that it stands for.
    fn finish(&mut self) -> io::Result<()> {
        if let Some(bytes) = self.output.finish()? {
            self.done.packs_after += 1;
            self.done.bytes_after += bytes;
        }
        for (id, bytes) in self.moved.drain(..) {
            remove(self.store, &id)?;
            self.done.packs_before += 1;
            self.done.bytes_before += bytes;
        }
        Ok(())
    }
}

/// Removes a pack and its table. Readers that have it open go on; others find what it held in another pack.
fn remove(store: &Shared, id: &ContentId) -> io::Result<()> {
    let packs = &store.layout.packs;
    packs.remove_file(&format!("{}.pack", id.to_hex()))?;
    packs.remove_file(&format!("{}.idx", id.to_hex()))
}
