//! Mending one pack: every damaged entry whose content is whole elsewhere is written as its header says it was.

use super::staged::{Staged, pack_name};
use super::tail::stage_tail;
use crate::error::failed;
use crate::index::{Pack, readable};
use crate::large_reader::{find_large, large_header};
use crate::layout::Layout;
use crate::locks::lock_for_removal;
use crate::pack_dictionary::{PackDictionary, find_in};
use crate::pack_scan::{read_payload, read_table};
use crate::random::random_name;
use crate::steps::step;
use crate::store::FsTaskStore;
use isobox_domain::content::ContentId;
use isobox_ports::{FindContent, MendMode, MendedFile, StoreError};
use isobox_store_format::block::{Block, BlockBuilder};
use isobox_store_format::entry::{Codec, EntryHeader, EntryKind, HEADER_LEN};
use isobox_store_format::frame::Compressor;
use isobox_store_format::object::reference_to;
use isobox_store_format::scan::{Found, Scanner};
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The damaged entries of a pack.
#[derive(Default)]
struct Damaged {
    /// Those that can be written anew, by where they start.
    restored: Vec<(u64, EntryHeader)>,
    lost: Vec<ContentId>,
}

/// What wrote payloads: one of them makes the same bytes again.
type Compressors = [Compressor; 3];

/// Whether an entry is as it was written, or of a kind that nothing could be taken from elsewhere for.
fn is_sound(file: &File, offset: u64, header: &EntryHeader) -> io::Result<bool> {
    Ok(match header.kind {
        EntryKind::Artifact | EntryKind::Record | EntryKind::Dictionary => {
            PackDictionary::of(file).decode(header, read_payload(file, offset, header)?)?.is_ok()
        }
        EntryKind::Block => Block::decode(header, &read_payload(file, offset, header)?)
            .is_ok_and(|block| block.members().all(|(_, raw)| raw.is_ok())),
        _ => true,
    })
}

/// The header of a large artifact, which is what refers to it; `None` if that is not there or damaged.
fn find_large_header(layout: &Layout, id: &ContentId) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = find_large(&layout.large, id)? else { return Ok(None) };
    let header = large_header(&file)?.filter(|header| header.id == *id);
    Ok(header.map(|header| header.encode().to_vec()))
}

impl FsTaskStore {
    /// Mends a pack; `None` where nothing in it can be restored or is lost. What takes its place is added to `placed`.
    pub(super) fn mend_pack(
        &self,
        pack: Pack,
        find: FindContent<'_>,
        mode: MendMode,
        placed: &mut HashSet<Pack>,
    ) -> Result<Option<MendedFile>, StoreError> {
        let shown = pack.shown(&self.shared.layout).to_string();
        let lane = self.hold_lane(pack, mode)?;
        let Some(file) = self.open_pack(pack)? else { return Ok(None) };
        // What is asked for now is what is there now: each entry is looked for in it.
        drop(self.shared.fresh_index()?);
        let damaged = self.damaged_entries(&file, pack, find).map_err(failed("read", &shown))?;
        if damaged.restored.is_empty() && damaged.lost.is_empty() {
            return Ok(None);
        }
        let mut quarantined = None;
        if mode == MendMode::Mend && !damaged.restored.is_empty() {
            let id = match pack {
                Pack::Lane(lane) => self.seal_damaged(lane)?,
                Pack::Sealed(id) => id,
            };
            // From here on nobody writes to it. A lane comes after the locks that are taken now.
            drop(lane);
            let (mended, kept) = self.replace(&id, &file, &damaged, find)?;
            placed.insert(Pack::Sealed(mended));
            quarantined = Some(kept);
        }
        let restored = damaged.restored.iter().map(|(_, header)| header.id).collect();
        Ok(Some(MendedFile { file: shown, restored, lost: damaged.lost, quarantined }))
    }

    fn damaged_entries(&self, file: &File, pack: Pack, find: FindContent<'_>) -> io::Result<Damaged> {
        let mut damaged = Damaged::default();
        let mut scanner = Scanner::of_pack(file, 0, self.end_to_read(pack, file)?);
        let mut compressors = Compressor::each()?;
        while let Some(found) = scanner.find_next()? {
            let Found::Entry { offset, header } = found else { continue };
            if is_sound(file, offset, &header)? {
                continue;
            }
            match self.payload(file, offset, &header, find, &mut compressors)? {
                Some(_) => damaged.restored.push((offset, header)),
                None => damaged.lost.push(header.id),
            }
        }
        Ok(damaged)
    }

    /// The payload that `header` stands before; `None` if there is no whole copy, or none that is stored alike.
    fn payload(
        &self,
        file: &File,
        offset: u64,
        header: &EntryHeader,
        find: FindContent<'_>,
        compressors: &mut Compressors,
    ) -> io::Result<Option<Vec<u8>>> {
        if header.kind == EntryKind::Block {
            return self.block(file, offset, header, find, compressors);
        }
        let dictionary = find_in(file)?;
        let raw = match header.kind {
            EntryKind::Dictionary => dictionary.as_ref().map(|dictionary| dictionary.bytes().to_vec()),
            kind => self.whole_copy(&header.id, kind, header.raw_length, find)?,
        };
        let Some(raw) = raw else { return Ok(None) };
        let used = dictionary.as_ref().filter(|_| header.codec == Codec::Dictionary);
        let reference = reference_to(&raw);
        written_as(header, compressors, |compressor| compressor.entry_with(header.kind, &raw, &reference, used))
    }

    /// The payload of a block whose table is whole, from whole copies of all its members.
    fn block(
        &self,
        file: &File,
        offset: u64,
        header: &EntryHeader,
        find: FindContent<'_>,
        compressors: &mut Compressors,
    ) -> io::Result<Option<Vec<u8>>> {
        let Some(members) = read_table(file, offset, header)? else { return Ok(None) };
        let mut block = BlockBuilder::default();
        for member in members {
            let raw = match member.kind {
                EntryKind::Large => find_large_header(&self.shared.layout, &member.id)?,
                kind => self.whole_copy(&member.id, kind, u64::from(member.length), find)?,
            };
            let Some(raw) = raw.filter(|raw| raw.len() == member.length as usize && block.has_room(raw.len())) else {
                return Ok(None);
            };
            block.add(member.kind, member.id, &raw);
        }
        written_as(header, compressors, |compressor| block.entry(compressor))
    }

    /// Puts a mended copy in the place of a sealed pack; its name, and where the damaged one is now.
    fn replace(
        &self,
        id: &ContentId,
        file: &File,
        damaged: &Damaged,
        find: FindContent<'_>,
    ) -> Result<(ContentId, String), StoreError> {
        let layout = &self.shared.layout;
        let (locks, shown) = (layout.locks()?, Pack::Sealed(*id).shown(layout));
        let failed = failed("mend", &shown);
        // Whoever filled it in the course of a put has said so in a COMMIT once the puts of now are over.
        drop(lock_for_removal(locks)?);
        let is_named = self.shared.fresh_index()?.is_named(id);
        let _staged_stays = self.keep_staged()?;
        let mended = Staged::new(layout, |to| self.write_mended(to, file, damaged, find)).map_err(&failed)?;
        let tail = match is_named && mended.id != *id {
            true => stage_tail(layout, &mended).map_err(&failed)?,
            false => Vec::new(),
        };
        step("staged what is mended");
        let _no_put = lock_for_removal(locks)?;
        let kept = place(layout, id, &mended, &tail).map_err(&failed)?;
        Ok((mended.id, kept))
    }

    fn write_mended(&self, mended: &File, file: &File, damaged: &Damaged, find: FindContent<'_>) -> io::Result<()> {
        let length = readable(file.metadata()?.len());
        copy(file, mended, length)?;
        let mut compressors = Compressor::each()?;
        // What stood behind the last COMMIT was cut off when the lane was sealed.
        for (offset, header) in damaged.restored.iter().filter(|(offset, _)| *offset < length) {
            let payload = self.payload(file, *offset, header, find, &mut compressors)?;
            let payload = payload.ok_or_else(|| io::Error::other(format!("{} is gone meanwhile", header.id)))?;
            mended.write_all_at(&payload, offset + HEADER_LEN as u64)?;
            if !is_sound(mended, *offset, header)? {
                return Err(io::Error::other(format!("{} reads back damaged", header.id)));
            }
        }
        Ok(())
    }
}

/// The payload that `write` makes by whichever of the compressors it then is the one of `header`.
fn written_as(
    header: &EntryHeader,
    compressors: &mut Compressors,
    mut write: impl FnMut(&mut Compressor) -> io::Result<(EntryHeader, Vec<u8>)>,
) -> io::Result<Option<Vec<u8>>> {
    for compressor in compressors {
        let (again, stored) = write(compressor)?;
        if again == *header {
            return Ok(Some(stored));
        }
    }
    Ok(None)
}

fn copy(file: &File, to: &File, length: u64) -> io::Result<()> {
    let mut at = 0;
    let mut buffer = vec![0; 1 << 16];
    while at < length {
        let count = (length - at).min(buffer.len() as u64) as usize;
        file.read_exact_at(&mut buffer[..count], at)?;
        to.write_all_at(&buffer[..count], at)?;
        at += count as u64;
    }
    Ok(())
}

/// Gives what was staged its name before the pack `id` goes, so that nothing is missing at any moment; where that is now.
fn place(layout: &Layout, id: &ContentId, mended: &Staged, tail: &[Staged]) -> io::Result<String> {
    let (packs, quarantine) = (&layout.packs, layout.quarantine().map_err(io::Error::other)?);
    let old = pack_name(id);
    let kept = format!("{old}.{}", random_name()?);
    if mended.id == *id {
        // What is named after its bytes has them again.
        packs.link(&old, &quarantine, &kept)?;
        quarantine.sync()?;
        mended.place(packs)?;
    } else {
        tail.iter().try_for_each(|pack| pack.place(packs))?;
        mended.place(packs)?;
        packs.sync()?;
        step("put what is mended in place");
        packs.rename(&old, &quarantine, &kept)?;
        quarantine.sync()?;
    }
    packs.remove_file(&format!("{}.idx", id.to_hex()))?;
    packs.sync()?;
    Ok(quarantine.shown(&kept).into())
}
