//! Bringing damaged packs and large artifacts back to what they were.

mod large;
mod pack;

use crate::compact::lock_compaction;
use crate::error::failed;
use crate::index::{self, Pack, lane_name};
use crate::lane::{Flush, seal_file};
use crate::lane_tail::{Tail, find_tail};
use crate::locks::{lock_for_removal, lock_lane};
use crate::store::FsTaskStore;
use isobox_domain::content::ContentId;
use isobox_ports::{FindContent, MendMode, MendedFile, Mender, StoreError};
use isobox_store_format::entry::EntryKind;
use std::io::Read;

impl Mender for FsTaskStore {
    fn mend(&self, find: FindContent<'_>, mode: MendMode) -> Result<Vec<MendedFile>, StoreError> {
        let layout = &self.shared.layout;
        if mode == MendMode::Mend {
            layout.require_writable()?;
        }
        // No pack goes meanwhile, and nobody decides what is stored already.
        let _locks = match mode {
            MendMode::Mend => Some((lock_compaction(&self.shared)?, lock_for_removal(&layout.locks()?)?)),
            MendMode::Look => None,
        };
        drop(self.shared.fresh_index()?);
        let mut mended = self.mend_large(find, mode)?;
        for pack in self.packs()? {
            mended.extend(self.mend_pack(pack, find, mode)?);
        }
        if mode == MendMode::Mend {
            self.shared.forget_index();
        }
        Ok(mended)
    }

    fn rebuild_tables(&self) -> Result<u64, StoreError> {
        let layout = &self.shared.layout;
        layout.require_writable()?;
        let cache = layout.root.find_dir("cache").map_err(failed("open", &layout.root.shown("cache")))?;
        for dir in [Some(&*layout.packs), cache.as_ref()].into_iter().flatten() {
            let tables = dir.names().map_err(failed("list", &dir.shown("")))?;
            for name in tables.iter().filter(|name| name.ends_with(".idx")) {
                dir.remove_file(name).map_err(failed("remove", &dir.shown(name)))?;
            }
        }
        self.shared.forget_index();
        drop(self.shared.fresh_index()?);
        Ok(self.packs()?.len() as u64)
    }
}

impl FsTaskStore {
    /// Every lane and pack in whose place nothing else lies.
    fn packs(&self) -> Result<Vec<Pack>, StoreError> {
        let layout = &self.shared.layout;
        let lanes = index::open_lanes(layout)?.into_iter().filter(|(_, file)| file.is_some());
        let mut packs: Vec<Pack> = lanes.map(|(lane, _)| Pack::Lane(lane)).collect();
        let mut sealed: Vec<_> = index::list_packs(layout)?.into_iter().collect();
        sealed.sort();
        packs.extend(sealed.into_iter().map(Pack::Sealed));
        Ok(packs)
    }

    /// The raw bytes of a small object, from a whole copy here or elsewhere.
    fn whole_copy(&self, id: &ContentId, kind: EntryKind, length: u64, find: FindContent<'_>) -> Option<Vec<u8>> {
        // That a copy is damaged is why this is asked.
        if let Ok(Some(bytes)) = self.read_small(id, kind) {
            return Some(bytes);
        }
        let mut bytes = Vec::new();
        find(id)?.take(length + 1).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Seals a lane, which then is a pack like any other; its chain goes on in a new one.
    fn seal_damaged(&self, lane: u8) -> Result<Pack, StoreError> {
        let layout = &self.shared.layout;
        let _lane = lock_lane(&layout.locks()?, |number| number == lane)?;
        let shown = Pack::Lane(lane).shown(layout);
        let file = layout.lanes.file(&lane_name(lane), crate::dir::Access::Existing);
        let sealed = file.and_then(|file| {
            // A writer that was killed left it: it was never acknowledged, and would be damage in a sealed pack.
            if let Tail::Torn { end, .. } = find_tail(&file, layout.format.store)? {
                file.set_len(end)?;
            }
            seal_file(layout, lane, &file, Flush::First)
        });
        sealed.map(Pack::Sealed).map_err(failed("seal lane", &shown))
    }
}
