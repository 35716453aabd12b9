//! The file of a running attempt: its drafts and notes, appended as entries, under a lock that dies with its process.

use crate::pack_scan::read_payload;
use isobox_domain::content::{ContentId, parse_hex};
use isobox_domain::record::TaskRecord;
use isobox_store_format::entry::{EntryHeader, EntryKind};
use isobox_store_format::frame::decode_payload;
use isobox_store_format::record::{decode_record, encode_record};
use isobox_store_format::scan::{Found, Scanner};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

// Notes of callers are lower-case letters and `-`, so this is none of them.
const PUBLISHING: &str = "PUBLISHING";

/// An open journal whose lock is held.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    end: u64,
}

/// What a journal says.
#[derive(Debug, Default)]
pub(crate) struct Replayed {
    /// The newest draft.
    pub(crate) draft: Option<TaskRecord>,
    /// The newest state of every note.
    pub(crate) notes: HashMap<String, Vec<u8>>,
    /// The record that its owner began to publish last.
    pub(crate) publishing: Option<ContentId>,
}

impl Journal {
    /// Begins one in an empty file.
    pub(crate) fn new(file: File) -> Self {
        Self { file, end: 0 }
    }

    /// Appends a draft.
    pub(crate) fn draft(&mut self, draft: &TaskRecord) -> io::Result<()> {
        let encoded = encode_record(draft).map_err(io::Error::other)?;
        let policy = entry(EntryKind::Artifact, &encoded.policy_bytes);
        self.append(&[policy, entry(EntryKind::Record, &encoded.bytes)].concat())
    }

    /// Appends a note.
    pub(crate) fn note(&mut self, name: &str, state: &[u8]) -> io::Result<()> {
        self.append(&entry(EntryKind::Filler, &[name.as_bytes(), b"\0", state].concat()))
    }

    /// Notes that `record` is about to be committed.
    pub(crate) fn publishing(&mut self, record: &ContentId) -> io::Result<()> {
        self.note(PUBLISHING, record.to_hex().as_bytes())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, self.end)?;
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Reads a dead owner's journal, up to the entry that its death cut off.
    pub(crate) fn replay(file: File) -> io::Result<(Self, Replayed)> {
        let mut scanner = Scanner::new(&file, 0, file.metadata()?.len());
        let (mut replayed, mut policy, mut end) = (Replayed::default(), Vec::new(), 0);
        while let Some(Found::Entry { offset, header }) = scanner.find_next()? {
            let Ok(payload) = decode_payload(&header, read_payload(&file, offset, &header)?) else { break };
            end = offset + header.entry_length();
            match header.kind {
                EntryKind::Artifact => policy = payload,
                EntryKind::Record => replayed.draft = decode_record(&payload, &policy).ok().or(replayed.draft),
                _ => replayed.take_note(&payload),
            }
        }
        Ok((Self { file, end }, replayed))
    }
}

impl Replayed {
    fn take_note(&mut self, payload: &[u8]) {
        let Some(at) = payload.iter().position(|&byte| byte == 0) else { return };
        let (name, state) = (String::from_utf8_lossy(&payload[..at]).into_owned(), &payload[at + 1..]);
        if name == PUBLISHING {
            self.publishing = std::str::from_utf8(state).ok().and_then(parse_hex).map(ContentId::new);
        } else {
            self.notes.insert(name, state.to_vec());
        }
    }
}

fn entry(kind: EntryKind, payload: &[u8]) -> Vec<u8> {
    [EntryHeader::raw(kind, payload).encode().as_slice(), payload].concat()
}
