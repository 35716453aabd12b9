//! What a lane ends in: its last COMMIT, and what may follow it.

use crate::index::ChainEnd;
use crate::pack_scan::{decode_commit, read_commit};
use isobox_domain::content::ContentId;
use isobox_store_format::commit::{Commit, payload_length};
use isobox_store_format::entry::{EntryHeader, EntryKind, HEADER_LEN, Place};
use isobox_store_format::format_file::StoreId;
use isobox_store_format::limits::MAX_PACK;
use isobox_store_format::scan::{Found, Scanner, read_exact_at};
use std::fs::File;
use std::io;
use std::ops::Range;

/// The least that a disk writes at once, in bytes.
const SECTOR: u64 = 512;
/// Seldom does a COMMIT take more with its header, in bytes.
const USUAL: u64 = 512;
/// Fewer zeros than this say nothing of a sector that a stretch begins or ends in: a damaged byte may be one.
const FEWEST: u64 = 32;

/// The end of a lane whose lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// A COMMIT, or nothing at all.
    Clean {
        /// The COMMIT.
        last: Option<ChainEnd>,
        /// The length of the file.
        end: u64,
    },
    /// Whole entries without a COMMIT and at most one that the end cuts off: what a writer leaves that was killed or
    /// ran out of space before its flush. It was never acknowledged, since the COMMIT is written last.
    Torn {
        /// The last COMMIT.
        last: Option<ChainEnd>,
        /// Where that ends.
        end: u64,
    },
    /// The same of one put with holes: what a power cut leaves that came before the flush. A disk that loses a sector of
    /// the last put, which was acknowledged, leaves it too, so that the bytes are kept.
    Unwritten {
        /// The last COMMIT.
        last: Option<ChainEnd>,
        /// Where that ends.
        end: u64,
    },
    /// Anything else, which no killed writer leaves: perhaps a COMMIT that was acknowledged and is damaged now.
    Damaged {
        /// The last sound COMMIT.
        last: Option<ChainEnd>,
        /// The length of the file.
        end: u64,
    },
}

impl Tail {
    /// The last sound COMMIT.
    pub(crate) fn last(&self) -> Option<ChainEnd> {
        match self {
            Self::Clean { last, .. }
            | Self::Torn { last, .. }
            | Self::Unwritten { last, .. }
            | Self::Damaged { last, .. } => *last,
        }
    }

    /// Where the next entry goes, or the file ends.
    pub(crate) fn end(&self) -> u64 {
        match self {
            Self::Clean { end, .. }
            | Self::Torn { end, .. }
            | Self::Unwritten { end, .. }
            | Self::Damaged { end, .. } => *end,
        }
    }
}

/// Looks at the end of a lane, and goes through all of it only if that is no COMMIT.
pub(crate) fn find_tail(file: &File, store: StoreId) -> io::Result<Tail> {
    let end = file.metadata()?.len();
    if end == 0 {
        return Ok(Tail::Clean { last: None, end });
    }
    match commit_ending_at(file, store, end)? {
        Some(last) => Ok(Tail::Clean { last: Some(last), end }),
        None => scan_tail(file, store, 0..end),
    }
}

/// Up to where a range of a lane that starts behind a COMMIT is to be read: what is torn behind that is not.
pub(crate) fn end_to_read(file: &File, store: StoreId, range: Range<u64>) -> io::Result<u64> {
    let end = range.end;
    if range.is_empty() || is_too_long(file)? || commit_ending_at(file, store, end)?.is_some() {
        return Ok(end);
    }
    Ok(scan_tail(file, store, range)?.end())
}

/// The COMMIT of this store that ends at `end`, if one does.
pub(crate) fn commit_ending_at(file: &File, store: StoreId, end: u64) -> io::Result<Option<ChainEnd>> {
    Ok(entry_ending_at(file, store, end)?.map(|found| found.chain_end()))
}

/// A COMMIT in its place.
#[derive(Clone, Debug)]
pub(crate) struct CommitEntry {
    /// Where its header starts.
    pub(crate) offset: u64,
    /// The digest of its payload.
    pub(crate) id: ContentId,
    /// What it says.
    pub(crate) commit: Commit,
}

impl CommitEntry {
    fn chain_end(&self) -> ChainEnd {
        ChainEnd { id: self.id, sequence: self.commit.sequence, time: self.commit.time }
    }
}

/// As [`commit_ending_at`], with all that it says.
pub(crate) fn entry_ending_at(file: &File, store: StoreId, end: u64) -> io::Result<Option<CommitEntry>> {
    let mut usual = [0; USUAL as usize];
    let last = &mut usual[..end.min(USUAL) as usize];
    read_exact_at(file, last, end - last.len() as u64)?;
    let entry = last.last_chunk().and_then(payload_length).map(|length| length + HEADER_LEN as u64);
    let Some((entry, offset)) = entry.and_then(|entry| Some((entry, end.checked_sub(entry)?))) else { return Ok(None) };
    if entry > USUAL {
        let mut whole = vec![0; entry as usize];
        read_exact_at(file, &mut whole, offset)?;
        return Ok(commit_in(&whole, store, offset));
    }
    Ok(commit_in(&last[last.len() - entry as usize..], store, offset))
}

/// The COMMIT that is all of `entry`, which stands at `offset`.
fn commit_in(entry: &[u8], store: StoreId, offset: u64) -> Option<CommitEntry> {
    let (header, payload) = entry.split_first_chunk()?;
    let header = EntryHeader::decode(header, Place::Pack).ok()?;
    if header.kind != EntryKind::Commit || header.entry_length() != entry.len() as u64 {
        return None;
    }
    let commit = decode_commit(&header, payload.to_vec()).filter(|commit| commit.store == store)?;
    Some(CommitEntry { offset, id: header.id, commit })
}

fn entry_at(file: &File, store: StoreId, offset: u64, header: &EntryHeader) -> io::Result<Option<CommitEntry>> {
    if header.kind != EntryKind::Commit {
        return Ok(None);
    }
    let commit = read_commit(file, offset, header)?.filter(|commit: &Commit| commit.store == store);
    Ok(commit.map(|commit| CommitEntry { offset, id: header.id, commit }))
}

fn scan_tail(file: &File, store: StoreId, range: Range<u64>) -> io::Result<Tail> {
    let length = range.end;
    let mut scanner = Scanner::of_pack(file, range.start, length);
    let (mut last, mut end) = (None, range.start);
    let mut behind = Behind::default();
    while let Some(found) = scanner.find_next()? {
        match found {
            Found::Damage { offset, end } => behind.damage(file, offset..end)?,
            Found::Entry { offset, header } if header.kind == EntryKind::Commit => {
                let entry_end = offset + header.entry_length();
                match entry_at(file, store, offset, &header)? {
                    Some(found) => {
                        (last, end, behind) = (Some(found.chain_end()), entry_end, Behind::default());
                    }
                    None => {
                        behind.commits += 1;
                        behind.damage(file, offset..entry_end)?;
                    }
                }
            }
            Found::Entry { header, .. } => behind.records += u32::from(header.kind == EntryKind::Record),
            Found::Torn { .. } => {}
        }
    }
    Ok(match (behind.is_damaged, behind.is_unwritten_put() && !is_too_long(file)?) {
        (false, _) => Tail::Torn { last, end },
        (_, true) => Tail::Unwritten { last, end },
        (_, false) => Tail::Damaged { last, end: length },
    })
}

/// What stands behind the last COMMIT.
#[derive(Default)]
struct Behind {
    is_damaged: bool,
    /// Whether a damaged stretch has no hole.
    is_whole: bool,
    records: u32,
    commits: u32,
}

impl Behind {
    fn damage(&mut self, file: &File, stretch: Range<u64>) -> io::Result<()> {
        self.is_damaged = true;
        self.is_whole = self.is_whole || !has_hole(file, stretch)?;
        Ok(())
    }

    /// Whether it may be one put of which not all was written. Others follow it only once it was flushed.
    fn is_unwritten_put(&self) -> bool {
        self.is_damaged && !self.is_whole && self.records <= 1 && self.commits <= 1
    }
}

/// Whether a file is longer than any writer makes it: its end is nothing that was torn.
fn is_too_long(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.len() > MAX_PACK)
}

/// Whether a sector of what is damaged, or what of a sector lies in it, was never written. File systems may make a file longer before its data is on disk:
/// after a power cut, zeros are read in its place. Content may have as many of its own; a header or a COMMIT has not.
fn has_hole(file: &File, range: Range<u64>) -> io::Result<bool> {
    let (mut at, mut piece) = (range.start, [0; SECTOR as usize]);
    while at < range.end {
        let end = (at / SECTOR + 1) * SECTOR;
        let piece = &mut piece[..(end.min(range.end) - at) as usize];
        read_exact_at(file, piece, at)?;
        if piece.len() as u64 >= FEWEST && piece.iter().all(|byte| *byte == 0) {
            return Ok(true);
        }
        at = end;
    }
    Ok(false)
}
