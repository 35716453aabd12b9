//! Verifying a store: packs one by one, then the chains of the lanes, then, where it matters, every record.

mod chains;
mod pack;
mod span;
pub(crate) mod told;
mod walk;

use crate::dir::is_no_file;
use crate::error::failed;
use crate::index::{self, Pack};
use crate::store::FsTaskStore;
use chains::Run;
use isobox_domain::content::ContentId;
use isobox_domain::verification::{Defect, DefectKind, Thoroughness, Verification};
use isobox_ports::{Advance, StoreError, TellAdvance, Verifier};
use pack::PackCheck;
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
        let (mut verification, mut runs) = (Verification::default(), Vec::new());
        for part in parts {
            let (found, part_of_runs) = part?;
            verification.merge(found);
            runs.extend(part_of_runs);
        }
        chains::gaps(runs).into_iter().for_each(|gap| verification.add(gap));
        if how == Thoroughness::Deep || !verification.is_sound() {
            Walk::through_all(self, how, &mut verification)?;
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

/// The packs that are still to be checked, shared by all threads.
struct Work<'a> {
    store: &'a FsTaskStore,
    how: Thoroughness,
    left: Mutex<Vec<(Pack, Option<File>)>>,
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
        left.extend(index::list_packs(layout)?.into_iter().map(|pack| (Pack::Sealed(pack), None)));
        let mut all_bytes = 0;
        for (pack, _) in &left {
            all_bytes += pack.length(layout).map_err(failed("look at", &pack.shown(layout)))?;
        }
        Ok(Self { store, how, left: Mutex::new(left), done_bytes: AtomicU64::new(0), all_bytes, tell })
    }

    fn run(&self) -> Result<(Verification, Vec<Run>), StoreError> {
        let (mut found, mut runs) = (Verification::default(), Vec::new());
        while let Some((pack, file)) = self.next() {
            let shown = pack.shown(&self.store.shared.layout);
            let file = match file.map_or_else(|| pack.open(&self.store.shared.layout), Ok) {
                Ok(file) => file,
                // It went while this went on: what was in it is somewhere else now, or was dropped.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) if is_no_file(&error) => {
                    found.add(foreign(shown, &error));
                    continue;
                }
                Err(error) => return Err(failed("open", &shown)(error)),
            };
            let check = PackCheck::new(self.store, self.how, pack, &file);
            let (part, part_of_runs) = check.run(|bytes| self.advance(bytes))?;
            found.merge(part);
            runs.extend(part_of_runs);
        }
        Ok((found, runs))
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
