//! The pack that compaction writes: solid blocks and COMMITs.

use super::rewrite::SealedPack;
use crate::dir::{Access, Dir};
use crate::layout::Layout;
use crate::random::random_name;
use isobox_domain::content::ContentId;
use isobox_store_format::block::BlockBuilder;
use isobox_store_format::entry::{EntryHeader, EntryKind};
use isobox_store_format::frame::Compressor;
use isobox_store_format::limits::MAX_PACK;
use isobox_store_format::record::ChildRole;
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;

/// What starts the name of an unfinished pack in `cache/`.
const UNFINISHED: &str = "compact-";
/// Raw bytes of a block. Twice as many gain 1 % and cost twice the time to read one object.
const SOLID: usize = 1 << 20;
/// A pack of so many entries and members is finished, however short it is: to read it without its table takes memory for
/// each.
const MAX_ENTRIES: usize = 1 << 17;
/// A pack of so many bytes is finished: one unfinished block of each class, and the policies once more, have room then.
const LONG: u64 = MAX_PACK - (CLASSES as u64 + 2) * 2 * SOLID as u64;
/// What is alike is compressed together.
const CLASSES: usize = 6;
const POLICIES: usize = 0;

/// Which blocks an object goes to.
pub(super) fn class_of(kind: EntryKind, role: Option<u8>) -> usize {
    let is = |known: ChildRole| role == Some(known.number());
    match kind {
        EntryKind::Record => 1,
        _ if is(ChildRole::Policy) => POLICIES,
        _ if is(ChildRole::Stdout) => 2,
        _ if is(ChildRole::Stderr) => 3,
        _ if is(ChildRole::Patch) => 4,
        _ => 5,
    }
}

/// The unfinished pack, and what is not in it yet.
pub(super) struct Output<'a> {
    layout: &'a Layout,
    cache: Dir,
    compressor: Compressor,
    blocks: [BlockBuilder; CLASSES],
    /// Blocks of policies, which are written twice: every record that shares one is lost with it.
    again: Vec<(EntryHeader, Vec<u8>)>,
    pack: Option<Writing>,
    entries: usize,
}

struct Writing {
    name: String,
    file: BufWriter<File>,
    hasher: blake3::Hasher,
    length: u64,
}

impl<'a> Output<'a> {
    /// Prepares for writing, after removing what a killed compaction left. The caller holds the lock of compaction.
    pub(super) fn new(layout: &'a Layout) -> io::Result<Self> {
        layout.root.make_dir("cache")?;
        let cache = layout.root.dir("cache")?;
        for name in cache.names()?.iter().filter(|name| name.starts_with(UNFINISHED)) {
            if cache.remove_file(name).is_err() {
                // Something else of that name is in nobody's way.
            }
        }
        let (compressor, blocks) = (Compressor::solid()?, <[BlockBuilder; CLASSES]>::default());
        Ok(Self { layout, cache, compressor, blocks, again: Vec::new(), pack: None, entries: 0 })
    }

    /// Whether it is time to finish the pack.
    pub(super) fn is_long(&self) -> bool {
        self.entries >= MAX_ENTRIES || self.length() >= LONG
    }

    /// How long the pack is so far, in bytes.
    pub(super) fn length(&self) -> u64 {
        self.pack.as_ref().map_or(0, |pack| pack.length)
    }

    /// Adds an object to the blocks of its class.
    pub(super) fn add(&mut self, class: usize, kind: EntryKind, id: ContentId, raw: &[u8]) -> io::Result<()> {
        let is_over = self.blocks[class].raw_length() + raw.len() > SOLID;
        if is_over || !self.blocks[class].has_room(raw.len()) {
            self.emit(class)?;
        }
        self.blocks[class].add(kind, id, raw);
        self.entries += 1;
        Ok(())
    }

    /// Adds an entry as it is.
    pub(super) fn copy(&mut self, header: &EntryHeader, stored: &[u8]) -> io::Result<()> {
        self.entries += 1;
        self.write(&[&header.encode(), stored])
    }

    fn emit(&mut self, class: usize) -> io::Result<()> {
        if self.blocks[class].is_empty() {
            return Ok(());
        }
        let (header, stored) = self.blocks[class].finish(&mut self.compressor)?;
        self.write(&[&header.encode(), &stored])?;
        if class == POLICIES {
            self.again.push((header, stored));
        }
        Ok(())
    }

    fn write(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        let pack = match &mut self.pack {
            Some(pack) => pack,
            none => none.insert(Writing::begin(&self.cache)?),
        };
        for part in parts {
            pack.file.write_all(part)?;
            pack.hasher.update(part);
            pack.length += part.len() as u64;
        }
        Ok(())
    }

    /// Ends the pack and makes it durable and visible, with all that was added; `None` if that is nothing.
    pub(super) fn finish(&mut self) -> io::Result<Option<SealedPack>> {
        (0..CLASSES).try_for_each(|class| self.emit(class))?;
        for (header, stored) in std::mem::take(&mut self.again) {
            self.write(&[&header.encode(), &stored])?;
        }
        self.entries = 0;
        let Some(Writing { name, mut file, hasher, length }) = self.pack.take() else { return Ok(None) };
        let placed = file.flush().and_then(|()| self.place(&name, file.get_ref(), &hasher));
        if placed.is_err() {
            self.cache.remove_file(&name)?;
        }
        placed.map(|id| Some((id, length)))
    }

    fn place(&self, name: &str, file: &File, hasher: &blake3::Hasher) -> io::Result<ContentId> {
        file.set_permissions(Permissions::from_mode(0o444))?;
        file.sync_all()?;
        let id = ContentId::new(*hasher.finalize().as_bytes());
        self.cache.rename(name, &self.layout.packs, &format!("{}.pack", id.to_hex()))?;
        self.layout.packs.sync()?;
        Ok(id)
    }
}

impl Writing {
    fn begin(cache: &Dir) -> io::Result<Self> {
        let name = format!("{UNFINISHED}{}", random_name()?);
        let file = BufWriter::with_capacity(256 * 1024, cache.file(&name, Access::CreateNew)?);
        Ok(Self { name, file, hasher: blake3::Hasher::new(), length: 0 })
    }
}

impl Drop for Output<'_> {
    fn drop(&mut self) {
        if let Some(pack) = &self.pack
            && self.cache.remove_file(&pack.name).is_err()
        {
            // The next compaction removes it.
        }
    }
}
