//! Verifying a store: packs one by one, then the chains of the lanes, then, where it matters, every record.

mod blocks;
mod chains;
mod pack;
mod part;
mod span;
pub(crate) mod told;
mod unreferenced;
mod walk;

use crate::dir::is_no_file;
use crate::error::failed;
use crate::index::{self, Pack};
use crate::store::FsTaskStore;
use isobox_domain::content::ContentId;
use isobox_domain::verification::{Defect, DefectKind, Thoroughness, Verification};
use isobox_ports::{Advance, StoreError, TellAdvance, Verifier};
use pack::PackCheck;
use part::Part;
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use walk::Walk;

/// More threads than this gain nothing: they wait for the same disk, and each takes the memory of one entry.
const MOST_THREADS: usize = 4;

impl Verifier for FsTaskStore {
    fn verify(&self, how: Thoroughness, tell: TellAdvance<'_>) -> Result<Verification, StoreError> {
        // Lanes come first: one that is sealed in between is then found among the packs at the latest.
        drop(self.shared.fresh_index()?);
        let work = Work::new(self, how, tell)?;
        let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        let parts: Vec<_> = thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| work.run())).collect();
            workers.into_iter().map(|worker| worker.join().unwrap_or_else(|e| std::panic::resume_unwind(e))).collect()
        });
        let mut all = Part::default();
        parts.into_iter().try_for_each(|part| part.map(|part| all.merge(part)))?;
        let Part { found: mut verification, runs, lost, hurt } = all;
        verification.leftovers.merge(unreferenced::count(self)?);
        self.damage_of_format()?.into_iter().for_each(|damage| verification.add(damage));
        chains::gaps(runs).into_iter().for_each(|gap| verification.add(gap));
        if how == Thoroughness::Deep || !verification.is_sound() {
            Walk::through_all(self, how, &mut verification, (&lost, &hurt))?;
        }
        Ok(verification)
    }

    fn verify_record(&self, record: &ContentId) -> Result<Option<Verification>, StoreError> {
        match self.shared.fresh_locations(record)?.is_empty() {
            true => Ok(None),
            false => Walk::of_one(self, record).map(Some),
        }
    }
}

impl FsTaskStore {
    /// What is wrong with FORMAT, of which one copy was whole when the store was opened.
    fn damage_of_format(&self) -> Result<Option<Defect>, StoreError> {
        let layout = &self.shared.layout;
        Ok(layout.find_damage_of_format()?.map(|offset| {
            let (file, reason) = (layout.shown_format(), "one of its two copies is damaged".to_owned());
            Defect::new(DefectKind::Damaged { file, offset, reason, object: None }, Vec::new())
        }))
    }
}

/// The packs that are still to be checked, shared by all threads.
struct Work<'a> {
    store: &'a FsTaskStore,
    how: Thoroughness,
    left: Mutex<Vec<(Pack, Option<File>)>>,
    /// Sealed packs that were ever listed.
    seen: Mutex<HashSet<ContentId>>,
    done_bytes: AtomicU64,
    all_bytes: u64,
    tell: TellAdvance<'a>,
}

impl<'a> Work<'a> {
    fn new(store: &'a FsTaskStore, how: Thoroughness, tell: TellAdvance<'a>) -> Result<Self, StoreError> {
        let layout = &store.shared.layout;
        let mut left: Vec<_> = index::open_lanes(layout)?
            .into_iter()
            // Held open: what is sealed meanwhile is read as what it was.
            .map(|(lane, file)| (Pack::Lane(lane), file))
            .collect();
        let seen = index::list_packs(layout)?;
        left.extend(seen.iter().map(|pack| (Pack::Sealed(*pack), None)));
        let mut all_bytes = 0;
        for (pack, _) in &left {
            all_bytes += pack.length(layout).map_err(failed("look at", &pack.shown(layout)))?;
        }
        let (left, seen) = (Mutex::new(left), Mutex::new(seen));
        Ok(Self { store, how, left, seen, done_bytes: AtomicU64::new(0), all_bytes, tell })
    }

    fn run(&self) -> Result<Part, StoreError> {
        let mut all = Part::default();
        while let Some((pack, file)) = self.next() {
            let shown = pack.shown(&self.store.shared.layout).to_string();
            let file = match file.map_or_else(|| pack.open(&self.store.shared.layout), Ok) {
                Ok(file) => file,
                // It went while this went on: what was in it is somewhere else now.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.look_again()?;
                    continue;
                }
                Err(error) if is_no_file(&error) => {
                    all.found.add(foreign(shown, &error));
                    continue;
                }
                Err(error) => return Err(failed("open", &shown)(error)),
            };
            let check = PackCheck::new(self.store, self.how, pack, &file);
            all.merge(check.run(|bytes| self.advance(bytes))?);
        }
        Ok(all)
    }

    /// Takes in packs that came in the place of others.
    fn look_again(&self) -> Result<(), StoreError> {
        let listed = index::list_packs(&self.store.shared.layout)?;
        drop(self.store.shared.fresh_index()?);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = listed.into_iter().filter(|pack| seen.insert(*pack)).map(|pack| (Pack::Sealed(pack), None));
        self.left.lock().unwrap_or_else(PoisonError::into_inner).extend(fresh);
        Ok(())
    }

    fn next(&self) -> Option<(Pack, Option<File>)> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn advance(&self, bytes: u64) {
        let done_bytes = self.done_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        (self.tell)(Advance { done_bytes, all_bytes: self.all_bytes.max(done_bytes) });
    }
}

/// Something else lies in the place of a pack.
fn foreign(file: String, error: &io::Error) -> Defect {
    Defect::new(DefectKind::Damaged { file, offset: 0, reason: error.to_string(), object: None }, Vec::new())
}
