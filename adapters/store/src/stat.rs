//! Measuring a store: packs one by one, then what is stored twice, then the files.

mod duplicates;
mod files;
mod gone;
mod kinds;
mod pack;
mod references;
mod shares;

use crate::dir::is_no_file;
use crate::error::{error, failed};
use crate::index::MOST_LOOKS;
use crate::steps::step;
use crate::store::FsTaskStore;
use gone::Gone;
use isobox_domain::measurement::Measurement;
use isobox_ports::{Advance, Measurer, StoreError, StoreErrorKind, TellAdvance};
use pack::PackStat;
use std::io;

impl Measurer for FsTaskStore {
    fn measure(&self, tell: TellAdvance<'_>) -> Result<Measurement, StoreError> {
        for _ in 0..MOST_LOOKS {
            if let Some(found) = measure(self, tell)? {
                return Ok(found);
            }
        }
        let packs = self.shared.layout.packs.shown("");
        Err(error(StoreErrorKind::Locked, "measure", packs, "packs go faster than they can be read"))
    }
}

/// Measures what is there; `None` if a file went meanwhile, so that what was in it is elsewhere now.
fn measure(store: &FsTaskStore, tell: TellAdvance<'_>) -> Result<Option<Measurement>, StoreError> {
    let layout = &store.shared.layout;
    let index = store.shared.fresh_index()?.snapshot();
    step("knows what to measure");
    let gone = Gone::find(store, &index);
    let mut found = Measurement::default();
    found.pruned_records = index.pruned_count();
    let mut packs = Vec::new();
    for extent in index.packs() {
        let length = extent.pack.length(layout).map_err(failed("look at", &extent.pack.shown(layout)))?;
        packs.push((extent, length));
    }
    let all_bytes = packs.iter().map(|(_, length)| length).sum();
    let mut done_bytes = 0;
    for (extent, length) in packs {
        let shown = extent.pack.shown(layout);
        match extent.open(layout) {
            Ok((file, readable)) => {
                let advance = |within: u64| tell(Advance { done_bytes: done_bytes + within, all_bytes });
                let stat = PackStat::new(store, &file, &mut found, &gone, extent);
                stat.run(readable, &advance).map_err(failed("read", &shown))?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            // Something else lies in its place.
            Err(error) if is_no_file(&error) => {}
            Err(error) => return Err(failed("open", &shown)(error)),
        }
        done_bytes += length;
    }
    match duplicates::count(layout, &index, &gone, &mut found) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        counted => counted.map_err(failed("list", &layout.root.shown("")))?,
    }
    files::count(store, &gone, &mut found)?;
    tell(Advance { done_bytes: all_bytes, all_bytes });
    Ok(Some(found))
}
