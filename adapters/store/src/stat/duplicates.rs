//! What is stored more than once.

use super::gone::Gone;
use super::shares::divide;
use crate::index::{Index, Location, Pack};
use crate::layout::Layout;
use crate::pack_scan::{read_header, read_table};
use isobox_domain::content::ContentId;
use isobox_domain::measurement::Measurement;
use isobox_store_format::block::encoded_table_length;
use isobox_store_format::entry::{EntryKind, Place};
use std::collections::HashMap;
use std::io;

/// So many blocks are remembered, of up to a few thousand members each.
const BLOCKS: usize = 64;

/// What members of blocks take, with their lengths.
type Blocks = HashMap<(Pack, u64), HashMap<ContentId, (u64, u64)>>;

/// Counts every copy but the first of each.
pub(super) fn count(layout: &Layout, index: &Index, gone: &Gone<'_>, found: &mut Measurement) -> io::Result<()> {
    let (mut entries, mut blocks, mut last) = (index.by_id(), Blocks::default(), None);
    while let Some((id, location)) = entries.next_entry(layout)? {
        let is_copy = last.replace(id) == Some(id) && location.kind != EntryKind::Large;
        if is_copy && !gone.has(&id) {
            // A damaged header was counted as damage.
            if let Some((raw, stored)) = lengths(layout, &id, &location, &mut blocks)? {
                found.unreferenced.duplicates.add(raw, stored);
            }
        }
    }
    Ok(())
}

/// How long something is, and what it takes.
fn lengths(
    layout: &Layout,
    id: &ContentId,
    location: &Location,
    blocks: &mut Blocks,
) -> io::Result<Option<(u64, u64)>> {
    let at = (location.pack, location.offset);
    if let Some(block) = blocks.get(&at) {
        return Ok(block.get(id).copied());
    }
    let file = location.pack.open(layout)?;
    let Some(header) = read_header(&file, location.offset, Place::Pack)? else { return Ok(None) };
    if !location.is_member {
        return Ok(Some((header.raw_length, header.stored_length)));
    }
    let Some(members) = read_table(&file, location.offset, &header)? else { return Ok(None) };
    let table_length = encoded_table_length(members.len());
    let shares = divide(&header, members, table_length as u64).members.into_iter();
    let block: HashMap<_, _> = shares.map(|(member, share)| (member.id, (u64::from(member.length), share))).collect();
    if blocks.len() >= BLOCKS {
        blocks.clear();
    }
    Ok(blocks.entry(at).or_insert(block).get(id).copied())
}
