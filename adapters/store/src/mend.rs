//! Bringing damaged packs and large artifacts back to what they were.

mod large;
mod pack;
mod set_aside;
mod staged;
mod tail;

use crate::compact::lock_compaction;
use crate::dir::is_no_file;
use crate::error::failed;
use crate::index::{self, Pack, lane_name, readable};
use crate::lane_file::{Flush, keep_tail, seal_file};
use crate::lane_tail::{Tail, end_to_read, find_tail};
use crate::locks::{BEGIN, Lock, Sharing, lock, lock_lane};
use crate::steps::step;
use crate::store::FsTaskStore;
use isobox_domain::content::ContentId;
use isobox_ports::{FindContent, MendMode, MendedFile, Mender, StoreError, StoreErrorKind};
use isobox_store_format::entry::EntryKind;
use set_aside::SetAside;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};

impl Mender for FsTaskStore {
    fn mend(&self, find: FindContent<'_>, mode: MendMode) -> Result<Vec<MendedFile>, StoreError> {
        let layout = &self.shared.layout;
        if mode == MendMode::Mend {
            layout.require_writable()?;
        }
        // No pack goes meanwhile. Puts go on: only while a file takes the place of another, none is under way.
        let _packs_stay = match mode {
            MendMode::Mend => Some(lock_compaction(&self.shared)?),
            MendMode::Look => None,
        };
        drop(self.shared.fresh_index()?);
        let set_aside = SetAside::open(self)?;
        let find = &|id: &ContentId| find(id).or_else(|| set_aside.find(id));
        let mut mended = self.mend_format(mode)?;
        mended.extend(self.mend_large(find, mode)?);
        let mut placed = HashSet::new();
        for pack in self.lanes()? {
            mended.extend(self.mend_pack(pack, find, mode, &mut placed)?);
        }
        // Listed only now, so that what writers have sealed since is among them.
        for pack in self.sealed()?.into_iter().filter(|pack| !placed.contains(pack)) {
            mended.extend(self.mend_pack(pack, find, mode, &mut HashSet::new())?);
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
        Ok((self.lanes()?.len() + self.sealed()?.len()) as u64)
    }
}

impl FsTaskStore {
    /// Writes FORMAT anew where one of its copies is damaged. Whoever opens the store meanwhile finds the other copy.
    fn mend_format(&self, mode: MendMode) -> Result<Vec<MendedFile>, StoreError> {
        let layout = &self.shared.layout;
        if layout.find_damage_of_format()?.is_none() {
            return Ok(Vec::new());
        }
        let quarantined = match mode {
            MendMode::Mend => {
                let _staged_stays = self.keep_staged()?;
                Some(layout.replace_format()?)
            }
            MendMode::Look => None,
        };
        let (restored, lost) = (Vec::new(), Vec::new());
        Ok(vec![MendedFile { file: layout.shown_format(), restored, lost, quarantined }])
    }

    /// Every lane in whose place nothing else lies.
    fn lanes(&self) -> Result<Vec<Pack>, StoreError> {
        let lanes = index::open_lanes(&self.shared.layout)?.into_iter().filter(|(_, file)| file.is_some());
        Ok(lanes.map(|(lane, _)| Pack::Lane(lane)).collect())
    }

    /// Every sealed pack, in the order of their names.
    fn sealed(&self) -> Result<Vec<Pack>, StoreError> {
        let mut sealed: Vec<_> = index::list_packs(&self.shared.layout)?.into_iter().collect();
        sealed.sort();
        Ok(sealed.into_iter().map(Pack::Sealed).collect())
    }

    /// Taken before a lane is gone through to mend it, so that nobody writes to it meanwhile: others have other lanes.
    fn hold_lane(&self, pack: Pack, mode: MendMode) -> Result<Option<Lock>, StoreError> {
        match (pack, mode) {
            (Pack::Lane(lane), MendMode::Mend) => {
                lock_lane(self.shared.layout.locks()?, lane, |number| number == lane).map(|(_, lock)| Some(lock))
            }
            (Pack::Lane(_), MendMode::Look) | (Pack::Sealed(_), _) => Ok(None),
        }
    }

    /// Taken before anything is staged in `tmp/`: whoever starts would take it for what a killed process left. Nobody waits
    /// for it: an attempt shares it, and a recovery that does not get it leaves remains to the next one.
    fn keep_staged(&self) -> Result<Lock, StoreError> {
        lock(self.shared.layout.locks()?, BEGIN, Sharing::Shared)
    }

    /// Opens a pack to look for damage. What lies in the place of one, or is gone, is told by whoever verifies.
    fn open_pack(&self, pack: Pack) -> Result<Option<File>, StoreError> {
        let layout = &self.shared.layout;
        step("opens what may be damaged");
        unless_none(pack.open(layout).map(Some)).map_err(failed("open", &pack.shown(layout)))
    }

    /// Up to where a pack is gone through: what is torn at the end of a lane is nobody's.
    fn end_to_read(&self, pack: Pack, file: &File) -> io::Result<u64> {
        let length = readable(file.metadata()?.len());
        match pack {
            Pack::Lane(_) => end_to_read(file, self.shared.layout.format.store, 0..length),
            Pack::Sealed(_) => Ok(length),
        }
    }

    /// The raw bytes of a small object, from a whole copy here or elsewhere.
    fn whole_copy(
        &self,
        id: &ContentId,
        kind: EntryKind,
        length: u64,
        find: FindContent<'_>,
    ) -> io::Result<Option<Vec<u8>>> {
        match self.read_known(id, kind) {
            Ok(Some(bytes)) => return Ok(Some(bytes)),
            // That a copy is damaged is why this is asked.
            Err(error) if error.kind != StoreErrorKind::Damaged => return Err(io::Error::other(error)),
            Ok(None) | Err(_) => {}
        }
        let mut bytes = Vec::new();
        let found = find(id).and_then(|content| content.take(length + 1).read_to_end(&mut bytes).ok());
        Ok(found.map(|_| bytes))
    }

    /// Seals a lane that is held, which then is a pack like any other; its chain goes on in a new one.
    fn seal_damaged(&self, lane: u8) -> Result<ContentId, StoreError> {
        let layout = &self.shared.layout;
        let shown = Pack::Lane(lane).shown(layout);
        let file = layout.lanes.file(&lane_name(lane), crate::dir::Access::Existing);
        let sealed = file.and_then(|file| {
            // A writer that was killed left it: it was never acknowledged, and would be damage in a sealed pack.
            match find_tail(&file, layout.format.store)? {
                Tail::Torn { end, .. } => file.set_len(end)?,
                Tail::Unwritten { end, .. } => {
                    keep_tail(layout, lane, &file, end)?;
                    file.set_len(end)?;
                }
                Tail::Clean { .. } | Tail::Damaged { .. } => {}
            }
            seal_file(layout, lane, &file, Flush::First)
        });
        sealed.map_err(failed("seal lane", &shown))
    }
}

/// `None` for a file that is not there or no file. Any other error says nothing about what is there.
fn unless_none(opened: io::Result<Option<File>>) -> io::Result<Option<File>> {
    match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound || is_no_file(&error) => Ok(None),
        opened => opened,
    }
}
