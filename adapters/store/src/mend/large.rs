//! Mending large artifacts: a file that is written anew from a whole copy is the one that the store refers to, or none.

use crate::error::failed;
use crate::large_reader::{find_large, large_header, large_name, verify_large};
use crate::large_writer::LargeWriter;
use crate::pack_scan::read_payload;
use crate::publish::place_large;
use crate::random::random_name;
use crate::staging::{SharedStaging, Staging, hold};
use crate::store::FsTaskStore;
use isobox_ports::{Content, FindContent, MendMode, MendedFile, StoreError};
use isobox_store_format::entry::{EntryHeader, EntryKind, HEADER_LEN, Place};
use isobox_store_format::scan::{Found, Scanner};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

impl FsTaskStore {
    /// Mends every large artifact that is referred to and is not whole.
    pub(super) fn mend_large(&self, find: FindContent<'_>, mode: MendMode) -> Result<Vec<MendedFile>, StoreError> {
        let mut mended = Vec::new();
        for header in self.large_references()? {
            let (folder, name) = large_name(&header.id);
            let shown = self.shared.layout.large.shown(&format!("{folder}/{name}"));
            if self.is_whole_large(&header).map_err(failed("read", &shown))? {
                continue;
            }
            let restored = match find(&header.id) {
                Some(content) => self.restore(&header, content, mode).map_err(failed("mend", &shown))?,
                None => None,
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
    fn large_references(&self) -> Result<Vec<EntryHeader>, StoreError> {
        let layout = &self.shared.layout;
        let mut found = BTreeMap::new();
        for pack in self.packs()? {
            let shown = pack.shown(layout);
            let read = failed("read", &shown);
            let Ok(file) = pack.open(layout) else { continue };
            let length = crate::index::readable(file.metadata().map_err(&read)?.len());
            let mut scanner = Scanner::new(&file, 0, length);
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
        }
        Ok(found.into_values().collect())
    }

    fn is_whole_large(&self, header: &EntryHeader) -> io::Result<bool> {
        // Something else in its place is as good as nothing.
        let Ok(Some(file)) = find_large(&self.shared.layout.large, &header.id) else { return Ok(false) };
        let file = Arc::new(file);
        Ok(large_header(&file)? == Some(*header) && verify_large(&file, header)?.is_ok())
    }

    /// Writes the artifact anew; `None` if it is not stored alike, else where the damaged file is now, if there was one.
    fn restore(
        &self,
        header: &EntryHeader,
        mut content: Content,
        mode: MendMode,
    ) -> io::Result<Option<Option<String>>> {
        let layout = &self.shared.layout;
        if mode == MendMode::Look {
            return Ok(Some(None));
        }
        let (tmp, name) = (layout.tmp().map_err(io::Error::other)?, format!("mend-{}", random_name()?));
        tmp.make_own_dir(&name)?;
        let staging: SharedStaging = Arc::new(Mutex::new(Staging::new(Arc::new(tmp.dir(name.as_str())?))));
        let placed = stage(&staging, &mut *content).and_then(|()| {
            let staging = hold(&staging);
            let Some(large) = staging.large().first().filter(|large| large.header == *header) else { return Ok(None) };
            let quarantined = self.set_aside(header)?;
            place_large(layout, &staging, large)?;
            Ok(Some(quarantined))
        });
        tmp.remove_dir(&name)?;
        placed
    }

    fn set_aside(&self, header: &EntryHeader) -> io::Result<Option<String>> {
        let layout = &self.shared.layout;
        let (folder, name) = large_name(&header.id);
        let Some(dir) = layout.large.find_dir(&folder)? else { return Ok(None) };
        if dir.identity(&name)?.is_none() {
            return Ok(None);
        }
        let quarantine = layout.quarantine().map_err(io::Error::other)?;
        let kept = format!("{}.large.{}", header.id.to_hex(), random_name()?);
        dir.rename(&name, &quarantine, &kept)?;
        quarantine.sync()?;
        Ok(Some(quarantine.shown(&kept)))
    }
}

fn stage(staging: &SharedStaging, content: &mut dyn io::Read) -> io::Result<()> {
    let mut writer = LargeWriter::new(Arc::clone(staging), None);
    io::copy(content, &mut writer)?;
    writer.end().map(drop)
}
