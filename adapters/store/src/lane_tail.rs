//! What a lane ends in: its last COMMIT, and what may follow it.

use crate::index::ChainEnd;
use crate::pack_scan::{read_commit, read_header};
use isobox_domain::content::ContentId;
use isobox_store_format::commit::{Commit, TRAILER_LEN, payload_length};
use isobox_store_format::entry::{EntryHeader, EntryKind, HEADER_LEN, Place};
use isobox_store_format::format_file::StoreId;
use isobox_store_format::limits::MAX_PACK;
use isobox_store_format::scan::{Found, Scanner, read_exact_at};
use std::fs::File;
use std::io;
use std::ops::Range;

/// The least that a disk writes at once, in bytes.
const SECTOR: u64 = 512;

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
    /// ran out of space before its flush. It was never acknowledged, since the COMMIT is written last. Or that with holes:
    /// what a power cut leaves that came before the flush.
    Torn {
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
        let (Self::Clean { last, .. } | Self::Torn { last, .. } | Self::Damaged { last, .. }) = self;
        *last
    }

    /// Where the next entry goes, or the file ends.
    pub(crate) fn end(&self) -> u64 {
        let (Self::Clean { end, .. } | Self::Torn { end, .. } | Self::Damaged { end, .. }) = self;
        *end
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
    Ok(match scan_tail(file, store, range)? {
        Tail::Torn { end, .. } => end,
        Tail::Clean { .. } | Tail::Damaged { .. } => end,
    })
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
    let Some(trailer_at) = end.checked_sub(TRAILER_LEN as u64) else { return Ok(None) };
    let mut trailer = [0; TRAILER_LEN];
    read_exact_at(file, &mut trailer, trailer_at)?;
    let entry = payload_length(&trailer).map(|length| length + HEADER_LEN as u64);
    let Some(offset) = entry.and_then(|length| end.checked_sub(length)) else { return Ok(None) };
    match read_header(file, offset, Place::Pack)? {
        Some(header) if offset + header.entry_length() == end => entry_at(file, store, offset, &header),
        _ => Ok(None),
    }
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
    let mut scanner = Scanner::new(file, range.start, length);
    let (mut last, mut end) = (None, range.start);
    // What is damaged behind the last COMMIT, and whether all of that was never written.
    let (mut is_damaged, mut is_unwritten) = (false, !is_too_long(file)?);
    while let Some(found) = scanner.find_next()? {
        let damaged = match found {
            Found::Damage { offset, end } => offset..end,
            Found::Entry { offset, header } if header.kind == EntryKind::Commit => {
                let entry_end = offset + header.entry_length();
                if let Some(found) = entry_at(file, store, offset, &header)? {
                    (last, end) = (Some(found.chain_end()), entry_end);
                    (is_damaged, is_unwritten) = (false, !is_too_long(file)?);
                    continue;
                }
                offset..entry_end
            }
            Found::Torn { .. } | Found::Entry { .. } => continue,
        };
        is_damaged = true;
        is_unwritten = is_unwritten && has_hole(file, damaged)?;
    }
    Ok(match is_damaged && !is_unwritten {
        true => Tail::Damaged { last, end: length },
        false => Tail::Torn { last, end },
    })
}

/// Whether a file is longer than any writer makes it: its end is nothing that was torn.
fn is_too_long(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.len() > MAX_PACK)
}

/// Whether a sector of what is damaged was never written. File systems may make a file longer before its data is on disk:
/// after a power cut, zeros are read in its place. Content may have as many of its own; a header or a COMMIT has not.
fn has_hole(file: &File, range: Range<u64>) -> io::Result<bool> {
    let (mut at, mut piece) = (range.start, [0; SECTOR as usize]);
    while at < range.end {
        let end = (at / SECTOR + 1) * SECTOR;
        let piece = &mut piece[..(end.min(range.end) - at) as usize];
        read_exact_at(file, piece, at)?;
        if piece.iter().all(|byte| *byte == 0) {
            return Ok(true);
        }
        at = end;
    }
    Ok(false)
}
