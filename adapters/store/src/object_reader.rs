//! Reading one object where it stands: alone, or as a member of a block.

use crate::index::{Location, Pack};
use crate::pack_scan::{read_header, read_payload};
use crate::store::Shared;
use isobox_domain::content::ContentId;
use isobox_ports::Cause;
use isobox_store_format::block::Block;
use isobox_store_format::dictionary::Dictionary;
use isobox_store_format::entry::{Codec, EntryHeader, EntryKind, Place};
use isobox_store_format::frame::decode_payload_with;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::{Arc, PoisonError};

/// So many blocks are kept: those of records, of policies and of outputs, for somebody who goes through all of them. Of
/// blocks as compaction makes them, each takes a little over 1 MiB.
const KEPT: usize = 6;
/// Blocks that others made may be longer. No more than these bytes are kept.
const KEPT_BYTES: u64 = 12 << 20;

/// Blocks that were read lately, the last one first.
#[derive(Debug, Default)]
pub(crate) struct RecentBlocks {
    blocks: VecDeque<(Pack, u64, u64, Arc<Block>)>,
}

impl RecentBlocks {
    fn find(&mut self, pack: Pack, offset: u64) -> Option<Arc<Block>> {
        let at = self.blocks.iter().position(|(of, from, ..)| (*of, *from) == (pack, offset))?;
        let found = self.blocks.remove(at)?;
        let block = Arc::clone(&found.3);
        self.blocks.push_front(found);
        Some(block)
    }

    fn keep(&mut self, pack: Pack, offset: u64, header: &EntryHeader, block: &Arc<Block>) {
        self.blocks.push_front((pack, offset, header.raw_length, Arc::clone(block)));
        while self.blocks.len() > KEPT || self.blocks.iter().map(|(.., bytes, _)| bytes).sum::<u64>() > KEPT_BYTES {
            self.blocks.pop_back();
        }
    }
}

impl Shared {
    /// The raw bytes of `id`, or those of the reference to it if it is a large artifact, verified; or what is wrong with what stands there.
    pub(crate) fn read_object(&self, id: &ContentId, location: Location) -> io::Result<Result<Vec<u8>, Cause>> {
        if location.is_member {
            return self.read_member(id, location);
        }
        read_entry(&location.pack.open(&self.layout)?, id, location, |file| {
            self.recent_dictionaries().find(location.pack, file)
        })
    }

    fn read_member(&self, id: &ContentId, location: Location) -> io::Result<Result<Vec<u8>, Cause>> {
        let block = match self.read_block(location.pack, location.offset)? {
            Ok(block) => block,
            Err(damage) => return Ok(Err(damage)),
        };
        Ok(match block.open(id) {
            Ok(Some(raw)) => Ok(raw.to_vec()),
            Ok(None) => Err("it is not in its block".into()),
            Err(error) => Err(error.into()),
        })
    }

    fn read_block(&self, pack: Pack, offset: u64) -> io::Result<Result<Arc<Block>, Cause>> {
        let mut recent = self.recent_blocks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(block) = recent.find(pack, offset) {
            return Ok(Ok(block));
        }
        let file = pack.open(&self.layout)?;
        let header = read_header(&file, offset, Place::Pack)?.filter(|header| header.kind == EntryKind::Block);
        let Some(header) = header else { return Ok(Err("the header of its block is damaged".into())) };
        let payload = unless_cut_off(read_payload(&file, offset, &header))?;
        Ok(match payload.and_then(|payload| Block::decode(&header, &payload).map_err(Cause::from)).map(Arc::new) {
            Ok(block) => {
                recent.keep(pack, offset, &header, &block);
                Ok(block)
            }
            Err(damage) => Err(damage),
        })
    }
}

/// The raw bytes of `id`, which stands for itself at `location` in `file`, verified; or what is wrong with what stands there.
/// `dictionary` finds that of the file.
pub(crate) fn read_entry(
    file: &File,
    id: &ContentId,
    location: Location,
    dictionary: impl FnOnce(&File) -> io::Result<Option<Arc<Dictionary>>>,
) -> io::Result<Result<Vec<u8>, Cause>> {
    let header = read_header(file, location.offset, Place::Pack)?;
    let header = header.filter(|header| location.kind == EntryKind::Large || header.id == *id);
    let Some(header) = header else { return Ok(Err("its header is damaged".into())) };
    let payload = unless_cut_off(read_payload(file, location.offset, &header))?;
    let dictionary = if header.codec == Codec::Dictionary { dictionary(file)? } else { None };
    let decode = |payload| decode_payload_with(&header, payload, dictionary.as_deref());
    Ok(payload.and_then(|payload| decode(payload).map_err(Cause::from)))
}

/// A table may tell of more than its file has: one that was cut off since is damaged there.
fn unless_cut_off(read: io::Result<Vec<u8>>) -> io::Result<Result<Vec<u8>, Cause>> {
    match read {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Err("the end of the file cuts it off".into())),
        read => read.map(Ok),
    }
}
