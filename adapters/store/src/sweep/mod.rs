//! Removing what only pruned records refer to.
//!
//! A record that is put meanwhile may refer to what was about to go: it counted that as stored. So packs are removed while
//! no put is under way, and only after the records that came since were looked at. Nothing weaker is safe: neither the age
//! of an object nor a mark on it tells whether somebody relies on it just now.

mod reach;

use crate::compact::{Rewrite, SealedPack, lock_compaction, remove, seal_idle_lanes};
use crate::error::{damaged, failed};
use crate::index::{Location, Mark, Pack, Pass};
use crate::large_reader::large_name;
use crate::locks::lock_for_removal;
use crate::steps::step;
use crate::store::{FsTaskStore, Shared};
use isobox_domain::content::ContentId;
use isobox_domain::pruning::Swept;
use isobox_ports::{Collector, RecordLog, StoreError, TellAdvance};
use isobox_store_format::entry::EntryKind;
use reach::reach;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;

/// So many objects are removed in one round, 32 bytes each with as much again for finding them.
const ROUND: usize = 1 << 17;
/// So many pruned records are looked up at a time.
const AT_ONCE: u64 = 1024;

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
            let mut round = Round::gather(self, &passed)?;
            round.keep_what_lanes_refer_to()?;
            step("knows what is dead");
            if round.dead.is_empty() {
                swept.large_bytes += remove_unreferenced(store)?;
                return Ok(swept);
            }
            passed.extend(round.records.iter().copied());
            round.remove(&mark, tell, &mut swept)?;
        }
    }
}

/// What the next round of a sweep removes.
pub(crate) fn unswept(store: &FsTaskStore) -> Result<HashSet<ContentId>, StoreError> {
    Ok(Round::gather(store, &HashSet::new())?.dead)
}

/// What goes in one round.
struct Round<'a> {
    store: &'a FsTaskStore,
    /// Pruned records whose content goes.
    records: Vec<ContentId>,
    /// What only these refer to.
    dead: HashSet<ContentId>,
}

impl<'a> Round<'a> {
    /// Finds what may go, with the records that were pruned and not `passed` before.
    fn gather(store: &'a FsTaskStore, passed: &HashSet<ContentId>) -> Result<Self, StoreError> {
        let mut round = Self { store, records: Vec::new(), dead: HashSet::new() };
        round.take_pruned(passed)?;
        if !round.dead.is_empty() {
            round.spare_what_stays()?;
        }
        Ok(round)
    }

    fn take_pruned(&mut self, passed: &HashSet<ContentId>) -> Result<(), StoreError> {
        let shared = &self.store.shared;
        let mut pass = Pass::default();
        loop {
            let (records, next) = shared.known_index().pruned(&shared.layout, pass, AT_ONCE)?;
            if records.is_empty() {
                return Ok(());
            }
            pass = next;
            for record in records.iter().filter(|record| !passed.contains(record)) {
                // What cannot be read of it is not known to be its own, and stays.
                let mut own = Vec::new();
                if reach(self.store, record, &mut |id| own.push(id)).unwrap_or(!own.is_empty()) {
                    self.records.push(*record);
                    self.dead.extend(own);
                }
                if self.dead.len() >= ROUND {
                    return Ok(());
                }
            }
        }
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
            reach(self.store, &entry.record, &mut |id| {
                dead.remove(&id);
            })?;
            if self.dead.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Large artifacts that a lane refers to stay until that is sealed, and with them the records by which they are found then.
    fn keep_what_lanes_refer_to(&mut self) -> Result<(), StoreError> {
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
        for record in &self.records {
            let mut refers = false;
            let reached = reach(self.store, record, &mut |id| refers |= kept.contains(&id));
            // Where not all can be known, it may refer to one.
            if refers || reached.is_err() {
                self.dead.remove(record);
            }
        }
        self.dead.retain(|id| !kept.contains(id));
        Ok(())
    }

    /// Writes the packs that hold what is dead anew without it, and removes them, unless somebody relies on it by now.
    fn remove(mut self, mark: &Mark, tell: TellAdvance<'_>, swept: &mut Swept) -> Result<(), StoreError> {
        let shared = &self.store.shared;
        let (packs, large) = self.places()?;
        let replaced = Rewrite::without(shared, &packs, &self.dead, tell)?.run(&packs)?;
        step("wrote packs anew");
        let _no_put = lock_for_removal(&shared.layout.locks()?)?;
        step("nobody puts");
        let relied_on = self.relied_on(mark)?;
        step("looked at what came since");
        let stay: HashSet<ContentId> = self.packs_of(&relied_on)?;
        for (id, bytes) in replaced.packs.iter().filter(|(id, _)| !stay.contains(id)) {
            remove(shared, id).map_err(failed("remove", &Pack::Sealed(*id).shown(&shared.layout)))?;
            swept.bytes_before += bytes;
        }
        drop(shared.fresh_index()?);
        for id in large.iter().filter(|id| !relied_on.contains(id)) {
            // In a pack that stays, a reference without its file would be damage.
            if !shared.known_locations(id)?.is_empty() {
                continue;
            }
            swept.large_bytes += remove_large(shared, id).map_err(failed("remove large artifact", &id.to_string()))?;
        }
        step("removed");
        self.dead.retain(|id| !relied_on.contains(id));
        swept.objects += self.dead.len() as u64;
        swept.records += self.records.len() as u64;
        swept.bytes_after += replaced.bytes_after;
        swept.passed_by.extend(replaced.passed_by);
        Ok(())
    }

    /// The sealed packs that hold something dead, with their lengths, and the large artifacts that are dead.
    fn places(&self) -> Result<(Vec<SealedPack>, BTreeSet<ContentId>), StoreError> {
        let shared = &self.store.shared;
        let (mut packs, mut large) = (BTreeMap::new(), BTreeSet::new());
        for id in &self.dead {
            for location in shared.known_locations(id)? {
                if location.kind == EntryKind::Large {
                    large.insert(*id);
                }
                let Pack::Sealed(pack) = location.pack else { continue };
                if let std::collections::btree_map::Entry::Vacant(vacant) = packs.entry(pack) {
                    let length = location.pack.length(&shared.layout);
                    vacant.insert(length.map_err(failed("look at", &location.pack.shown(&shared.layout)))?);
                }
            }
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
            reach(self.store, &row.entry.record, &mut |id| {
                if self.dead.contains(&id) {
                    relied_on.insert(id);
                }
            })?;
        }
        Ok(relied_on)
    }
}

/// Removes large files that no entry refers to, as a killed sweep or put leaves them; how many bytes that frees. Where something
/// is damaged, what referred to them may be it.
fn remove_unreferenced(store: &Shared) -> Result<u64, StoreError> {
    let _no_put = lock_for_removal(&store.layout.locks()?)?;
    if !store.fresh_index()?.damage().is_empty() {
        return Ok(0);
    }
    let large = &store.layout.large;
    let mut bytes = 0;
    for folder in large.names().map_err(failed("list", &large.shown("")))? {
        let Ok(Some(directory)) = large.find_dir(&folder) else { continue };
        for name in directory.names().map_err(failed("list", &large.shown(&folder)))? {
            let Ok(id) = format!("b3:{folder}{name}").parse::<ContentId>() else { continue };
            let is_reference = |at: &Location| at.kind == EntryKind::Large;
            if !store.known_locations(&id)?.iter().any(is_reference) {
                bytes += remove_large(store, &id).map_err(failed("remove large artifact", &id.to_string()))?;
            }
        }
    }
    Ok(bytes)
}

/// Removes the file of a large artifact; how many bytes it took.
fn remove_large(store: &Shared, id: &ContentId) -> io::Result<u64> {
    let (folder, name) = large_name(id);
    let Some(folder) = store.layout.large.find_dir(&folder)? else { return Ok(0) };
    let bytes = folder.identity(&name)?.map_or(0, |(_, length)| length);
    folder.remove_file(&name)?;
    Ok(bytes)
}
