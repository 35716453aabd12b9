//! Somebody who may write to the whole store, knows its format, and has none of its keys.

use isobox_domain::content::{ContentId, ContentRef};
use isobox_store_format::commit::{Commit, CommittedChild};
use isobox_store_format::dictionary::find_dictionary;
use isobox_store_format::entry::{EntryHeader, EntryKind, HEADER_LEN};
use isobox_store_format::frame::{Compressor, decode_payload_with};
use isobox_store_format::record::{ChildRole, children, decode_record, encode_record};
use isobox_store_format::scan::{Found, Scanner};
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Makes a lane say that the task which printed `said` printed `forged`, with every id, checksum, COMMIT and chain right again.
pub(crate) fn rewrite(lane: &Path, said: &[u8], forged: &[u8]) {
    let bytes = fs::read(lane).expect("read the lane");
    let dictionary = find_dictionary(&bytes[..], bytes.len() as u64).expect("memory can be read");
    let mut rewrite = Rewrite::default();
    let mut scanner = Scanner::new(&bytes[..], 0, bytes.len() as u64);
    while let Some(found) = scanner.find_next().expect("memory can be read") {
        let Found::Entry { offset, header } = found else { panic!("{found:?} in a sound lane") };
        let payload = offset as usize + HEADER_LEN;
        let stored = bytes[payload..payload + header.stored_length as usize].to_vec();
        if header.kind == EntryKind::Dictionary {
            rewrite.lane.extend([&header.encode()[..], &stored].concat());
            continue;
        }
        let raw = decode_payload_with(&header, stored, dictionary.as_ref()).expect("a sound entry");
        rewrite.take(&header, raw, said, forged);
    }
    assert!(rewrite.others.len() >= 3, "an output, its record and its COMMIT are others");
    fs::write(lane, rewrite.lane).expect("write the lane");
    fs::remove_dir_all(lane.parent().expect("lanes").with_file_name("cache")).expect("nobody remembers");
}

#[derive(Default)]
struct Rewrite {
    lane: Vec<u8>,
    /// Where the last COMMIT ends.
    settled: usize,
    /// What came in the place of what.
    others: HashMap<ContentId, ContentRef>,
    objects: HashMap<ContentId, Vec<u8>>,
}

impl Rewrite {
    fn take(&mut self, header: &EntryHeader, raw: Vec<u8>, said: &[u8], forged: &[u8]) {
        let other = match header.kind {
            EntryKind::Artifact if raw == said => forged.to_vec(),
            EntryKind::Record => self.record(&raw),
            EntryKind::Commit => self.commit(&raw),
            _ => raw.clone(),
        };
        let (entry, stored) = Compressor::new().and_then(|mut by| by.entry(header.kind, &other)).expect("compress");
        self.lane.extend(entry.encode());
        self.lane.extend(stored);
        if entry.id != header.id {
            self.others.insert(header.id, ContentRef { id: entry.id, length: entry.raw_length });
        }
        if header.kind == EntryKind::Commit {
            self.settled = self.lane.len();
        }
        self.objects.insert(header.id, raw);
    }

    fn other(&self, reference: ContentRef) -> ContentRef {
        self.others.get(&reference.id).copied().unwrap_or(reference)
    }

    fn record(&self, raw: &[u8]) -> Vec<u8> {
        let all = children(raw).expect("children");
        let policy = all.iter().find(|child| child.role == ChildRole::Policy).expect("a policy");
        let mut record = decode_record(raw, &self.objects[&policy.reference.id]).expect("a record");
        record.artifacts.stdout = record.artifacts.stdout.map(|stdout| self.other(stdout));
        encode_record(&record).expect("encode").bytes
    }

    fn commit(&self, raw: &[u8]) -> Vec<u8> {
        let commit = Commit::decode(raw).expect("a COMMIT");
        let previous = commit.previous.map(|id| self.others.get(&id).map_or(id, |other| other.id));
        let children = commit.children.iter();
        let children =
            children.map(|child| CommittedChild { reference: self.other(child.reference), ..*child }).collect();
        let (record, span) = (self.other(commit.record), (self.lane.len() - self.settled) as u64);
        Commit { record, previous, children, span, ..commit }.encode().expect("encode")
    }
}
