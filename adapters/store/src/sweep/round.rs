//! One round of a sweep: what goes in it, and how.

use super::large;
use super::pruned::Pruned;
use super::reach::reach;
use crate::compact::{Rewrite, SealedPack, remove};
use crate::error::{damaged, failed};
use crate::index::{Location, Mark, Pack};
use crate::locks::lock_for_removal;
use crate::steps::step;
use crate::store::{FsTaskStore, Shared};
use isobox_domain::content::ContentId;
use isobox_domain::pruning::Swept;
use isobox_ports::{RecordLog, StoreError, TellAdvance};
use isobox_store_format::entry::EntryKind;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// So many objects are removed in one round, 32 bytes each with as much again for finding them.
const ROUND: usize = 1 << 17;

/// What goes in one round.
pub(super) struct Round<'a> {
    store: &'a FsTaskStore,
    /// Pruned records whose content goes.
    pub(super) records: Vec<ContentId>,
    /// What only these refer to.
    pub(super) dead: HashSet<ContentId>,
}

impl<'a> Round<'a> {
    /// Finds what may go, with the next of `pruned` that were not `passed` before. There are no more where this has no records.
    pub(super) fn gather(
        store: &'a FsTaskStore,
        pruned: &mut Pruned<'_>,
        passed: &HashSet<ContentId>,
    ) -> Result<Self, StoreError> {
        let mut round = Self { store, records: Vec::new(), dead: HashSet::new() };
        round.take_pruned(pruned, passed)?;
        if !round.dead.is_empty() {
            round.spare_what_stays()?;
        }
        Ok(round)
    }

    fn take_pruned(&mut self, pruned: &mut Pruned<'_>, passed: &HashSet<ContentId>) -> Result<(), StoreError> {
        while self.dead.len() < ROUND
            && let Some(record) = pruned.next()?
        {
            if passed.contains(&record) {
                continue;
            }
            // What cannot be read of it is not known to be its own, and stays.
            let mut own = Vec::new();
            if reach(self.store, &record, &mut |id| own.push(id)).unwrap_or(!own.is_empty()) {
                self.records.push(record);
                self.dead.extend(own);
            }
        }
        Ok(())
    }

    fn spare_what_stays(&mut self) -> Result<(), StoreError> {
        for entry in self.store.list()? {
            let entry = entry.map_err(|error| {
                damaged(
                    "prune",
                    error.subject.clone(),
                    "what damaged records refer to is not known; nothing was removed",
                )
            })?;
            let dead = &mut self.dead;
            reach_of_what_stays(self.store, &entry.record, &mut |id| {
                dead.remove(&id);
            })?;
            if self.dead.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Large artifacts that a lane refers to stay until that is sealed, and with them the records by which they are found
    /// then, whole: what is found by a record that is there in part is not known.
    pub(super) fn keep_what_lanes_refer_to(&mut self) -> Result<(), StoreError> {
        let mut kept = HashSet::new();
        for id in &self.dead {
            let locations = self.store.shared.known_locations(id)?;
            let is_held = |at: &Location| at.kind == EntryKind::Large && matches!(at.pack, Pack::Lane(_));
            if locations.iter().any(is_held) {
                kept.insert(*id);
            }
        }
        if kept.is_empty() {
            return Ok(());
        }
        for record in std::mem::take(&mut self.records) {
            let mut own = Vec::new();
            let reached = reach(self.store, &record, &mut |id| own.push(id));
            // Where not all can be known, it may refer to one.
            if reached.is_err() || own.iter().any(|id| kept.contains(id)) {
                for id in own {
                    self.dead.remove(&id);
                }
            } else {
                self.records.push(record);
            }
        }
        self.dead.retain(|id| !kept.contains(id));
        Ok(())
    }

    /// Writes the packs that hold what is dead anew without it, and removes them, unless somebody relies on it by now.
    pub(super) fn remove(mut self, mark: &Mark, tell: TellAdvance<'_>, swept: &mut Swept) -> Result<(), StoreError> {
        let shared = &self.store.shared;
        let (packs, large) = self.places()?;
        let replaced = Rewrite::without(shared, &packs, &self.dead, tell)?.run(&packs)?;
        step("wrote packs anew");
        let _no_put = lock_for_removal(shared.layout.locks()?)?;
        step("nobody puts");
        let relied_on = self.relied_on(mark)?;
        step("looked at what came since");
        let stay: HashSet<ContentId> = self.packs_of(&relied_on)?;
        for (id, bytes) in replaced.packs.iter().filter(|(id, _)| !stay.contains(id)) {
            remove(shared, id).map_err(failed("remove", &Pack::Sealed(*id).shown(&shared.layout)))?;
            swept.bytes_before += bytes;
        }
        drop(shared.fresh_index()?);
        if !large.is_empty() {
            large::let_no_pack_come_back(shared)?;
        }
        for id in large.iter().filter(|id| !relied_on.contains(id)) {
            // In a pack that stays, a reference without its file would be damage.
            if !shared.known_locations(id)?.is_empty() {
                continue;
            }
            swept.large_bytes += large::remove(shared, id)?;
        }
        step("removed");
        swept.objects += count_gone(shared, &self.dead)?;
        swept.records += count_gone(shared, &self.records)?;
        swept.bytes_after += replaced.bytes_after;
        for pack in replaced.passed_by {
            // The round before may have met it, too.
            if !swept.passed_by.contains(&pack) {
                swept.passed_by.push(pack);
            }
        }
        Ok(())
    }

    /// The sealed packs that hold something dead, with their lengths, and the large artifacts that are dead. What is
    /// stored nowhere went before, and is forgotten.
    fn places(&mut self) -> Result<(Vec<SealedPack>, BTreeSet<ContentId>), StoreError> {
        let shared = &self.store.shared;
        let (mut packs, mut large) = (BTreeMap::new(), BTreeSet::new());
        let mut absent = Vec::new();
        for id in &self.dead {
            let locations = shared.known_locations(id)?;
            if locations.is_empty() {
                absent.push(*id);
            }
            for location in locations {
                if location.kind == EntryKind::Large {
                    large.insert(*id);
                }
                let Pack::Sealed(pack) = location.pack else { continue };
                if let Entry::Vacant(vacant) = packs.entry(pack) {
                    let length = location.pack.length(&shared.layout);
                    vacant.insert(length.map_err(failed("look at", &location.pack.shown(&shared.layout)))?);
                }
            }
        }
        for id in absent {
            self.dead.remove(&id);
        }
        Ok((packs.into_iter().collect(), large))
    }

    fn packs_of(&self, ids: &HashSet<ContentId>) -> Result<HashSet<ContentId>, StoreError> {
        let mut packs = HashSet::new();
        for id in ids {
            for location in self.store.shared.known_locations(id)? {
                if let Pack::Sealed(pack) = location.pack {
                    packs.insert(pack);
                }
            }
        }
        Ok(packs)
    }

    /// What is dead by the mark, and referred to by a record that came after it.
    fn relied_on(&self, mark: &Mark) -> Result<HashSet<ContentId>, StoreError> {
        let shared = &self.store.shared;
        let rows = shared.fresh_index()?.rows_after(&shared.layout, mark)?;
        let mut relied_on = HashSet::new();
        for row in rows {
            reach_of_what_stays(self.store, &row.entry.record, &mut |id| {
                if self.dead.contains(&id) {
                    relied_on.insert(id);
                }
            })?;
        }
        Ok(relied_on)
    }
}

/// Hands everything that a record refers to which stays to `each`. Fails if not all of it can be known.
fn reach_of_what_stays(
    store: &FsTaskStore,
    record: &ContentId,
    each: &mut dyn FnMut(ContentId),
) -> Result<(), StoreError> {
    // Where nobody removes anything but this, only one that was pruned since it was listed may be gone.
    if reach(store, record, each)? || store.is_pruned(record)? {
        return Ok(());
    }
    let reason = "its bytes are missing, and what it refers to is not known; nothing was removed";
    Err(damaged("prune", record.to_string(), reason))
}

/// How many of `ids` are stored nowhere by now.
fn count_gone<'a>(store: &Shared, ids: impl IntoIterator<Item = &'a ContentId>) -> Result<u64, StoreError> {
    let mut gone = 0;
    for id in ids {
        gone += u64::from(store.known_locations(id)?.is_empty());
    }
    Ok(gone)
}
