//! Going through one pack for what is committed in it.

use crate::index::{Location, Pack};
use isobox_domain::content::ContentId;
use isobox_store_format::block::{Member, TABLE_START, decode_table, table_length};
use isobox_store_format::commit::Commit;
use isobox_store_format::entry::{EntryHeader, EntryKind, HEADER_LEN, Place};
use isobox_store_format::format_file::StoreId;
use isobox_store_format::frame::decode_payload;
use isobox_store_format::scan::{Found, Scanner, read_exact_at};
use std::fs::File;
use std::io;

/// What is met in a pack.
#[derive(Debug)]
pub(crate) enum Step {
    /// An entry that names itself or, for a reference, the large artifact.
    Entry(ContentId, Location),
    /// A block.
    Block {
        /// Where it starts.
        offset: u64,
        /// What it holds.
        members: Vec<Member>,
        /// Whether it was reached by lengths alone.
        is_certain: bool,
    },
    /// A COMMIT of this store.
    Commit {
        /// The digest of its payload.
        id: ContentId,
        /// What it says.
        commit: Box<Commit>,
        /// Where it starts.
        offset: u64,
        /// Where it ends.
        end: u64,
    },
    /// Bytes that are no entry.
    Damage {
        /// Where they start.
        offset: u64,
        /// Where they end.
        end: u64,
    },
}

/// A scan of one pack.
pub(crate) struct PackScan<'a> {
    store: StoreId,
    pack: Pack,
    file: &'a File,
    scanner: Scanner<'a, File>,
    is_certain: bool,
}

impl<'a> PackScan<'a> {
    /// Scans what lies between two offsets.
    pub(crate) fn new(store: StoreId, pack: Pack, file: &'a File, start: u64, end: u64) -> Self {
        Self { store, pack, file, scanner: Scanner::of_pack(file, start, end), is_certain: true }
    }

    /// The same of a pack of which so many entries are known already.
    pub(crate) fn after(mut self, known: usize) -> Self {
        self.scanner.count(known as u64);
        self
    }

    /// The next thing of interest.
    pub(crate) fn find_next(&mut self) -> io::Result<Option<Step>> {
        while let Some(found) = self.scanner.find_next()? {
            let step = match found {
                Found::Entry { offset, header } => self.entry(offset, &header)?,
                Found::Torn { .. } => None,
                Found::Damage { offset, end } => {
                    self.is_certain = false;
                    Some(Step::Damage { offset, end })
                }
            };
            if step.is_some() {
                return Ok(step);
            }
        }
        Ok(None)
    }

    fn entry(&mut self, offset: u64, header: &EntryHeader) -> io::Result<Option<Step>> {
        let (pack, kind, is_certain) = (self.pack, header.kind, self.is_certain);
        let location = Location { pack, offset, kind, is_certain, is_member: false };
        match header.kind {
            EntryKind::Filler | EntryKind::Dictionary => Ok(None),
            EntryKind::Artifact | EntryKind::Record => Ok(Some(Step::Entry(header.id, location))),
            EntryKind::Large => self.reference(offset, header, location),
            EntryKind::Commit => self.commit(offset, header).map(Some),
            EntryKind::Block => self.block(offset, header).map(Some),
        }
    }

    fn reference(&self, offset: u64, header: &EntryHeader, location: Location) -> io::Result<Option<Step>> {
        let damage = Step::Damage { offset, end: offset + header.entry_length() };
        let payload = read_payload(self.file, offset, header)?;
        let large = payload.first_chunk::<HEADER_LEN>().and_then(|b| EntryHeader::decode(b, Place::Large).ok());
        Ok(Some(large.map_or(damage, |large| Step::Entry(large.id, location))))
    }

    fn block(&mut self, offset: u64, header: &EntryHeader) -> io::Result<Step> {
        let Some(members) = read_table(self.file, offset, header)? else {
            return Ok(Step::Damage { offset, end: offset + header.entry_length() });
        };
        self.scanner.count(members.len() as u64);
        Ok(Step::Block { offset, members, is_certain: self.is_certain })
    }

    fn commit(&mut self, offset: u64, header: &EntryHeader) -> io::Result<Step> {
        let end = offset + header.entry_length();
        let commit = read_commit(self.file, offset, header)?.filter(|commit| commit.store == self.store);
        let Some(commit) = commit else { return Ok(Step::Damage { offset, end }) };
        // Nothing but this store writes its id, so what follows is no imitation.
        self.is_certain = true;
        Ok(Step::Commit { id: header.id, commit: Box::new(commit), offset, end })
    }
}

/// The COMMIT at `offset`, verified; `None` if it is damaged.
pub(crate) fn read_commit(file: &File, offset: u64, header: &EntryHeader) -> io::Result<Option<Commit>> {
    Ok(decode_commit(header, read_payload(file, offset, header)?))
}

/// The COMMIT that a stored payload is, verified; `None` if it is damaged.
pub(crate) fn decode_commit(header: &EntryHeader, stored: Vec<u8>) -> Option<Commit> {
    Commit::decode(&decode_payload(header, stored).ok()?).ok()
}

/// The members of the block at `offset`; `None` if its table is damaged. Their bytes are not read.
pub(crate) fn read_table(file: &File, offset: u64, header: &EntryHeader) -> io::Result<Option<Vec<Member>>> {
    let mut table = vec![0; TABLE_START];
    let at = offset + HEADER_LEN as u64;
    read_exact_at(file, &mut table, at)?;
    let length = table_length(&table).filter(|length| *length as u64 <= header.stored_length);
    let Some(length) = length else { return Ok(None) };
    table.resize(length, 0);
    read_exact_at(file, &mut table, at)?;
    Ok(decode_table(header, &table).ok())
}

/// The stored payload of the entry at `offset`; its length was checked when the header was decoded.
pub(crate) fn read_payload(file: &File, offset: u64, header: &EntryHeader) -> io::Result<Vec<u8>> {
    let mut payload = vec![0; header.stored_length as usize];
    read_exact_at(file, &mut payload, offset + HEADER_LEN as u64)?;
    Ok(payload)
}

/// The header at `offset`, if there is a sound one.
pub(crate) fn read_header(file: &File, offset: u64, place: Place) -> io::Result<Option<EntryHeader>> {
    let mut bytes = [0; HEADER_LEN];
    match read_exact_at(file, &mut bytes, offset) {
        Ok(()) => Ok(EntryHeader::decode(&bytes, place).ok()),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}
