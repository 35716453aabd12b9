//! Mending large artifacts: a file that is written anew from a whole copy is the one that the store refers to, or none.

use super::unless_none;
use crate::dir::{Dir, is_no_file};
use crate::error::failed;
use crate::index::Pack;
use crate::large_reader::{find_large, large_header, large_name, open_staged, verify_large};
use crate::large_writer::LargeWriter;
use crate::locks::lock_for_removal;
use crate::owner::Owner;
use crate::pack_scan::read_payload;
use crate::random::random_name;
use crate::staging::{SharedStaging, StagedLarge, Staging, hold};
use crate::steps::step;
use crate::store::FsTaskStore;
use isobox_domain::content::ContentId;
use isobox_ports::{Content, FindContent, MendMode, MendedFile, StoreError};
use isobox_store_format::entry::{EntryHeader, EntryKind, HEADER_LEN, Place};
use isobox_store_format::scan::{Found, Scanner};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

/// The inode and the length of a file.
type Identity = (u64, u64);

impl FsTaskStore {
    /// Mends every large artifact that is referred to and is not whole.
    pub(super) fn mend_large(&self, find: FindContent<'_>, mode: MendMode) -> Result<Vec<MendedFile>, StoreError> {
        let mut mended = Vec::new();
        for header in self.large_references(mode)? {
            let (folder, name) = large_name(&header.id);
            let shown = self.shared.layout.large.shown(&format!("{folder}/{name}")).to_string();
            step("opens what may be damaged");
            // Asked first: a file that a put brings while this one is read is another.
            let seen = self.identity_of(&header.id).map_err(failed("look at", &shown))?;
            if self.is_whole_large(&header).map_err(failed("read", &shown))? {
                continue;
            }
            let restored = match (find(&header.id), mode) {
                (Some(content), MendMode::Mend) => self.restore(&header, seen, content, &shown)?,
                (Some(_), MendMode::Look) => Some(None),
                (None, _) => None,
            };
            let (restored, lost, quarantined) = match restored {
                Some(quarantined) => (vec![header.id], Vec::new(), quarantined),
                None => (Vec::new(), vec![header.id], None),
            };
            mended.push(MendedFile { file: shown, restored, lost, quarantined });
        }
        Ok(mended)
    }

    /// The headers of all large artifacts that are referred to, each once.
    fn large_references(&self, mode: MendMode) -> Result<Vec<EntryHeader>, StoreError> {
        let mut found = BTreeMap::new();
        for pack in self.lanes()? {
            let _lane = self.hold_lane(pack, mode)?;
            self.references_in(pack, &mut found)?;
        }
        // Listed only now, so that what writers have sealed since is among them.
        for pack in self.sealed()? {
            self.references_in(pack, &mut found)?;
        }
        Ok(found.into_values().collect())
    }

    fn references_in(&self, pack: Pack, found: &mut BTreeMap<ContentId, EntryHeader>) -> Result<(), StoreError> {
        let shown = pack.shown(&self.shared.layout).to_string();
        let read = failed("read", &shown);
        let Some(file) = self.open_pack(pack)? else { return Ok(()) };
        let mut scanner = Scanner::of_pack(&file, 0, self.end_to_read(pack, &file).map_err(&read)?);
        while let Some(next) = scanner.find_next().map_err(&read)? {
            let Found::Entry { offset, header } = next else { continue };
            if header.kind != EntryKind::Large {
                continue;
            }
            let payload = read_payload(&file, offset, &header).map_err(&read)?;
            let named = payload.first_chunk::<HEADER_LEN>();
            if let Some(Ok(named)) = named.map(|bytes| EntryHeader::decode(bytes, Place::Large)) {
                found.insert(named.id, named);
            }
        }
        Ok(())
    }

    fn is_whole_large(&self, header: &EntryHeader) -> io::Result<bool> {
        // Something else in its place is as good as nothing.
        let Some(file) = unless_none(find_large(&self.shared.layout.large, &header.id))? else { return Ok(false) };
        let file = Arc::new(file);
        Ok(large_header(&file)? == Some(*header) && verify_large(&file, header)?.is_ok())
    }

    fn identity_of(&self, id: &ContentId) -> io::Result<Option<Identity>> {
        let (folder, name) = large_name(id);
        match self.shared.layout.large.find_dir(&folder) {
            Ok(Some(folder)) => folder.identity(&name),
            Ok(None) => Ok(None),
            Err(error) if is_no_file(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes the artifact anew, whose damaged file was `seen`; `None` if it is not stored alike, else where that is now, if
    /// there was one.
    fn restore(
        &self,
        header: &EntryHeader,
        seen: Option<Identity>,
        mut content: Content,
        shown: &str,
    ) -> Result<Option<Option<String>>, StoreError> {
        let failed = failed("mend", shown);
        let tmp = self.shared.layout.tmp()?;
        let _staged_stays = self.keep_staged()?;
        let name = format!("mend-{}", random_name().map_err(&failed)?);
        tmp.make_own_dir(&name).map_err(&failed)?;
        let restored = tmp.dir(name.as_str()).map_err(&failed).and_then(|dir| {
            let staging = Arc::new(Mutex::new(Staging::new(Arc::new(dir))));
            stage(&staging, &mut *content).map_err(&failed)?;
            step("staged what is mended");
            let staging = hold(&staging);
            match staging.large().first().filter(|large| large.header == *header) {
                Some(large) => self.replace_large(&staging.dir(), large, seen, shown).map(Some),
                None => Ok(None),
            }
        });
        tmp.remove_dir(&name).map_err(&failed)?;
        restored
    }

    /// Puts what was staged in its place; where the damaged file is now.
    fn replace_large(
        &self,
        dir: &Dir,
        large: &StagedLarge,
        seen: Option<Identity>,
        shown: &str,
    ) -> Result<Option<String>, StoreError> {
        let (failed, layout) = (failed("mend", shown), &self.shared.layout);
        let (name, _) = large_name(&large.header.id);
        let is_new = layout.large.make_dir(name.as_str()).map_err(&failed)?;
        let folder = layout.large.dir(name.as_str()).map_err(&failed)?;
        make_ready(dir, large, &folder).map_err(&failed)?;
        // Held as long as names are changed, which takes a moment; what takes long is over.
        let _no_put = lock_for_removal(layout.locks()?)?;
        let found = self.identity_of(&large.header.id).map_err(&failed)?;
        if found != seen && self.is_whole_large(&large.header).map_err(&failed)? {
            // A put has brought it meanwhile.
            return Ok(None);
        }
        let placed = self.place_over(dir, large, &folder);
        let synced = placed.and_then(|kept| if is_new { layout.large.sync().map(|()| kept) } else { Ok(kept) });
        synced.map_err(&failed)
    }

    fn place_over(&self, dir: &Dir, large: &StagedLarge, folder: &Dir) -> io::Result<Option<String>> {
        let (_, name) = large_name(&large.header.id);
        let kept = self.set_aside(folder, &name, &large.header.id)?;
        dir.rename(&large.name, folder, &name)?;
        folder.sync()?;
        Ok(kept)
    }

    /// Keeps the damaged file in quarantine; it stays in its place, too, until another takes that.
    fn set_aside(&self, folder: &Dir, name: &str, id: &ContentId) -> io::Result<Option<String>> {
        if folder.identity(name)?.is_none() {
            return Ok(None);
        }
        let quarantine = self.shared.layout.quarantine().map_err(io::Error::other)?;
        let kept = format!("{}.large.{}", id.to_hex(), random_name()?);
        // A directory makes way, and so does whatever is on a file system without hard links.
        if folder.file_length(name).is_err() || folder.link(name, &quarantine, &kept).is_err() {
            folder.rename(name, &quarantine, &kept)?;
        }
        quarantine.sync()?;
        Ok(Some(quarantine.shown(&kept).into()))
    }
}

/// Verifies what was staged and makes it durable, as it is to lie in `folder`.
fn make_ready(dir: &Dir, large: &StagedLarge, folder: &Dir) -> io::Result<()> {
    let file = open_staged(dir, &large.name)?;
    verify_large(&file, &large.header)?.map_err(io::Error::other)?;
    if let Some(owner) = Owner::of_new_in(folder)? {
        owner.give(&file)?;
    }
    file.sync_data()
}

fn stage(staging: &SharedStaging, content: &mut dyn io::Read) -> io::Result<()> {
    let mut writer = LargeWriter::new(Arc::clone(staging), None);
    io::copy(content, &mut writer)?;
    writer.end().map(drop)
}
