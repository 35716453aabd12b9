//! What a spanning put left at the end of a pack. A COMMIT elsewhere makes it visible by the name of the pack, which one that
//! is mended in part no longer has: it is written once more in blocks, which are visible by themselves.

use super::staged::Staged;
use crate::index::Pack;
use crate::layout::Layout;
use crate::pack_dictionary::PackDictionary;
use crate::pack_scan::{PackScan, Step, read_header, read_payload};
use isobox_domain::content::ContentId;
use isobox_store_format::block::BlockBuilder;
use isobox_store_format::entry::{EntryHeader, Place};
use isobox_store_format::frame::Compressor;
use isobox_store_format::limits::MAX_PACK;
use std::fs::File;
use std::io::{self, Write};

/// Raw bytes of a block, as of those that compaction makes.
const BLOCK: usize = 1 << 20;
/// Raw bytes of a pack: whatever they become in blocks with their tables, no pack gets too long.
const MOST: u64 = MAX_PACK / 2;

/// An entry: what it names, and where it starts.
type Entry = (ContentId, u64, EntryHeader);

/// Stages packs of everything sound that no COMMIT in `pack` itself makes visible.
pub(super) fn stage_tail(layout: &Layout, pack: &Staged) -> io::Result<Vec<Staged>> {
    let (mut packs, mut entries, mut raw) = (Vec::new(), Vec::new(), 0);
    for entry in sound_tail(layout, pack)? {
        if raw + entry.2.raw_length > MOST {
            packs.push(Staged::new(layout, |to| write_blocks(to, &pack.file, &entries))?);
            (entries, raw) = (Vec::new(), 0);
        }
        raw += entry.2.raw_length;
        entries.push(entry);
    }
    if !entries.is_empty() {
        packs.push(Staged::new(layout, |to| write_blocks(to, &pack.file, &entries))?);
    }
    Ok(packs)
}

/// The sound entries behind the last COMMIT. What stands before damage is visible without one.
fn sound_tail(layout: &Layout, pack: &Staged) -> io::Result<Vec<Entry>> {
    let (file, length) = (&pack.file, pack.file.metadata()?.len());
    let mut scan = PackScan::new(layout.format.store, Pack::Sealed(pack.id), file, 0, length);
    let mut loose = Vec::new();
    while let Some(step) = scan.find_next()? {
        match step {
            Step::Entry(id, location) => loose.push((id, location.offset)),
            Step::Commit { .. } | Step::Damage { .. } => loose.clear(),
            Step::Block { .. } => {}
        }
    }
    let (mut sound, mut dictionary) = (Vec::new(), PackDictionary::of(file));
    for (id, offset) in loose {
        let Some(header) = read_header(file, offset, Place::Pack)? else { continue };
        if dictionary.decode(&header, read_payload(file, offset, &header)?)?.is_ok() {
            sound.push((id, offset, header));
        }
    }
    Ok(sound)
}

fn write_blocks(mut to: &File, from: &File, entries: &[Entry]) -> io::Result<()> {
    let (mut block, mut compressor) = (BlockBuilder::default(), Compressor::new()?);
    let mut dictionary = PackDictionary::of(from);
    let mut emit = |block: &mut BlockBuilder| {
        let (header, stored) = block.finish(&mut compressor)?;
        to.write_all(&header.encode())?;
        to.write_all(&stored)
    };
    for (id, offset, header) in entries {
        let raw = dictionary.decode(header, read_payload(from, *offset, header)?)?.map_err(io::Error::other)?;
        let is_over = block.raw_length() + raw.len() > BLOCK || !block.has_room(raw.len());
        if is_over && !block.is_empty() {
            emit(&mut block)?;
        }
        block.add(header.kind, *id, &raw);
    }
    emit(&mut block)
}
