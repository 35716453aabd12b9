//! Writing what packs hold anew.

use super::input::{Input, Rest};
use super::output::{Output, class_of};
use crate::error::failed;
use crate::index::Pack;
use crate::steps::step;
use crate::store::Shared;
use isobox_domain::compaction::PassedBy;
use isobox_domain::content::ContentId;
use isobox_ports::{Advance, StoreError, TellAdvance};
use isobox_store_format::entry::EntryKind;
use isobox_store_format::record::ChildRole;
use std::collections::HashSet;
use std::io;

/// So many objects are remembered as taken over, 32 bytes each; further copies of others are kept.
const REMEMBERED: usize = 1 << 17;

/// A sealed pack and its length in bytes.
pub(crate) type SealedPack = (ContentId, u64);

/// What was written.
#[derive(Debug, Default)]
pub(crate) struct Rewritten {
    /// Packs of which everything that stays is in the packs that were written.
    pub(crate) packs: Vec<SealedPack>,
    /// How many packs were written.
    pub(crate) packs_after: u64,
    /// How long they are.
    pub(crate) bytes_after: u64,
    /// Packs that have to stay.
    pub(crate) passed_by: Vec<PassedBy>,
}

/// What becomes of packs that were written anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Afterwards {
    /// Nothing was left out: they go as soon as the new ones are durable.
    Removed,
    /// The caller removes them.
    Kept,
}

/// The writing of some packs.
pub(crate) struct Rewrite<'a> {
    store: &'a Shared,
    left_out: &'a HashSet<ContentId>,
    afterwards: Afterwards,
    output: Output<'a>,
    inputs: HashSet<ContentId>,
    taken: HashSet<(EntryKind, ContentId)>,
    /// COMMITs that were taken over: after a kill, some stand in two packs.
    commits: HashSet<ContentId>,
    /// Packs that were written: one that has the bytes of an input has its name, too, and stays.
    written: HashSet<ContentId>,
    /// Packs of which everything is in the output.
    moved: Vec<SealedPack>,
    done: Rewritten,
    all_bytes: u64,
    done_bytes: u64,
    tell: TellAdvance<'a>,
}

impl<'a> Rewrite<'a> {
    /// Prepares for writing `packs` anew without what is in `left_out`. None of them is removed.
    pub(crate) fn without(
        store: &'a Shared,
        packs: &[SealedPack],
        left_out: &'a HashSet<ContentId>,
        tell: TellAdvance<'a>,
    ) -> Result<Self, StoreError> {
        let output = Output::new(&store.layout).map_err(failed("compact", &store.layout.root.shown("cache")))?;
        Ok(Self {
            store,
            left_out,
            afterwards: Afterwards::Kept,
            output,
            inputs: packs.iter().map(|(id, _)| *id).collect(),
            taken: HashSet::new(),
            commits: HashSet::new(),
            written: HashSet::new(),
            moved: Vec::new(),
            done: Rewritten::default(),
            all_bytes: packs.iter().map(|(_, bytes)| bytes).sum(),
            done_bytes: 0,
            tell,
        })
    }

    /// Packs go when everything that was in them is durable elsewhere.
    pub(crate) fn removing(self) -> Self {
        Self { afterwards: Afterwards::Removed, ..self }
    }

    /// Writes `packs` anew.
    pub(crate) fn run(mut self, packs: &[SealedPack]) -> Result<Rewritten, StoreError> {
        for (id, bytes) in packs {
            let pack = Pack::Sealed(*id);
            let file = pack.shown(&self.store.layout).to_string();
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
            if self.left_out.contains(id)
                || self.taken.contains(&(location.kind, *id))
                || self.is_kept(id, location.kind, role)?
            {
                continue;
            }
            let raw = match self.store.read_object(id, *location)? {
                Ok(raw) => raw,
                Err(damage) => return Ok(Err(format!("{id} in it is damaged: {damage}"))),
            };
            if self.taken.len() < REMEMBERED {
                self.taken.insert((location.kind, *id));
            }
            self.output.add(class_of(location.kind, role), location.kind, *id, &raw)?;
            self.finish_if_long()?;
        }
        for commit in input.commits() {
            let (header, stored) = match commit? {
                Ok(commit) => commit,
                Err(reason) => return Ok(Err(reason)),
            };
            if self.commits.contains(&header.id) {
                continue;
            }
            if self.commits.len() < REMEMBERED {
                self.commits.insert(header.id);
            }
            self.output.copy(&header, &stored)?;
            self.finish_if_long()?;
        }
        Ok(Ok(()))
    }

    /// Whether a compacted pack that stays holds it already. Of policies there are to be several copies.
    fn is_kept(&self, id: &ContentId, kind: EntryKind, role: Option<u8>) -> io::Result<bool> {
        if role == Some(ChildRole::Policy.number()) {
            return Ok(false);
        }
        let known = self.store.known_locations(id).map_err(io::Error::other)?;
        for location in known.into_iter().filter(|known| known.kind == kind && known.is_certain && known.is_member) {
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

    /// Makes the output durable, and with it everything that was in the packs that were moved.
    fn finish(&mut self) -> io::Result<()> {
        step("finishes a pack");
        if let Some((id, bytes)) = self.output.finish()? {
            self.written.insert(id);
            self.done.packs_after += 1;
            self.done.bytes_after += bytes;
        }
        for (id, bytes) in self.moved.drain(..) {
            if self.written.contains(&id) {
                // It was written as it was: nothing comes in its place.
                self.done.packs_after -= 1;
                self.done.bytes_after -= bytes;
                continue;
            }
            if self.afterwards == Afterwards::Removed {
                step("wrote a pack anew");
                remove(self.store, &id)?;
            }
            self.done.packs.push((id, bytes));
        }
        Ok(())
    }
}

/// Removes a pack and its table. Readers that have it open go on; others find what it held in another pack.
pub(crate) fn remove(store: &Shared, id: &ContentId) -> io::Result<()> {
    let packs = &store.layout.packs;
    packs.remove_file(&format!("{}.pack", id.to_hex()))?;
    packs.remove_file(&format!("{}.idx", id.to_hex()))
}
