//! Measuring a store: packs one by one, then what is stored twice, then the files.

mod duplicates;
mod files;
mod pack;
mod references;

use crate::dir::is_no_file;
use crate::error::failed;
use crate::store::FsTaskStore;
use isobox_domain::measurement::Measurement;
use isobox_ports::{Advance, Measurer, StoreError, TellAdvance};
use pack::PackStat;
use std::io;

impl Measurer for FsTaskStore {
    fn measure(&self, tell: TellAdvance<'_>) -> Result<Measurement, StoreError> {
        let layout = &self.shared.layout;
        let index = self.shared.fresh_index()?.snapshot();
        let mut found = Measurement::default();
        let mut packs = Vec::new();
        for (pack, settled_end) in index.packs() {
            let length = pack.length(layout).map_err(failed("look at", &pack.shown(layout)))?;
            packs.push((pack, settled_end, length));
        }
        let all_bytes = packs.iter().map(|(_, _, length)| length).sum();
        let mut done_bytes = 0;
        for (pack, settled_end, length) in packs {
            let shown = pack.shown(layout);
            match pack.open(layout) {
                Ok(file) => {
                    let stat = PackStat::new(self, &file, &mut found, index.is_named(pack));
                    let advance = |within: u64| tell(Advance { done_bytes: done_bytes + within, all_bytes });
                    stat.run(pack, settled_end, length, &advance).map_err(failed("read", &shown))?;
                }
                // It went while this went on, or something else lies in its place.
                Err(error) if error.kind() == io::ErrorKind::NotFound || is_no_file(&error) => {}
                Err(error) => return Err(failed("open", &shown)(error)),
            }
            done_bytes += length;
        }
        duplicates::count(layout, &index, &mut found)?;
        files::count(self, &mut found)?;
        tell(Advance { done_bytes: all_bytes, all_bytes });
        Ok(found)
    }
}
