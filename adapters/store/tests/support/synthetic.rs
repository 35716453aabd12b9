//! Stores of many records, made by encoding packs directly: without attempts, locks and flushes.
#![allow(dead_code, reason = "each test target uses a part of it")]

use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::event::{Event, EventKind};
use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_domain::task_id::TaskId;
use isobox_domain::timestamp::Timestamp;
use isobox_ports::contract::sample::record;
use isobox_store_format::commit::{Commit, Committed, CommittedChild};
use isobox_store_format::entry::EntryKind;
use isobox_store_format::event::encode_event;
use isobox_store_format::format_file::{FormatFile, StoreId};
use isobox_store_format::frame::Compressor;
use isobox_store_format::object::reference_to;
use isobox_store_format::record::{children, encode_record};
use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::Path;

const LANES: u64 = 32;

/// Writes sealed packs into a store that is there.
pub(crate) struct Synthesis<'a> {
    records: &'a Path,
    store: StoreId,
    compressor: Compressor,
    /// Number and digest of the last COMMIT of each lane.
    last: BTreeMap<u8, (u64, ContentId)>,
    packs: u64,
}

impl<'a> Synthesis<'a> {
    /// Begins in the store below `records`.
    pub(crate) fn new(records: &'a Path) -> Self {
        let format = FormatFile::decode(&fs::read(records.join("store/FORMAT")).unwrap()).unwrap();
        let compressor = Compressor::new().unwrap();
        Self { records, store: format.store, compressor, last: BTreeMap::new(), packs: 0 }
    }

    /// A pack that holds the records of a range, which share a policy, each with so many small files of its own.
    pub(crate) fn pack(&mut self, tasks: Range<u64>, files: u64) {
        let lane = (self.packs % LANES) as u8;
        self.packs += 1;
        let mut pack = Vec::new();
        let first = tasks.start;
        for n in tasks {
            let start = pack.len();
            for file in 0..files {
                self.entry(&mut pack, EntryKind::Artifact, &(n << 32 | file).to_le_bytes());
            }
            let encoded = encode_record(&record(n)).unwrap();
            if n == first {
                self.entry(&mut pack, EntryKind::Artifact, &encoded.policy_bytes);
            }
            let children = children_of(&encoded.bytes);
            let reference = self.entry(&mut pack, EntryKind::Record, &encoded.bytes);
            let time = Timestamp::nearest(1_700_000_000_000 + n);
            let span = (pack.len() - start) as u64;
            let commit = Commit { children, span, ..self.commit_of(lane, record(n).task, reference, time) };
            self.commit(&mut pack, &commit);
        }
        self.seal(&pack);
    }

    /// A pack in `lane` that holds these Tasks, which share a policy. Tasks of a lane come in the order of their ends.
    pub(crate) fn pack_of(&mut self, lane: u8, tasks: impl Iterator<Item = Task>) {
        let mut pack = Vec::new();
        for Task { record, stdout, event } in tasks {
            let is_first = pack.is_empty();
            let stdout = Some(self.entry(&mut pack, EntryKind::Artifact, &stdout));
            let artifacts = TaskArtifacts { stdout, ..TaskArtifacts::default() };
            let record = TaskRecord { artifacts, ..record };
            let encoded = encode_record(&record).unwrap();
            if is_first {
                self.entry(&mut pack, EntryKind::Artifact, &encoded.policy_bytes);
                self.entry(&mut pack, EntryKind::Artifact, &encoded.policy_bytes);
            }
            let children = children_of(&encoded.bytes);
            let reference = self.entry(&mut pack, EntryKind::Record, &encoded.bytes);
            let (task, at) = (record.task, record.ended_at);
            let commit = Commit { children, ..self.commit_of(lane, task, reference, at) };
            self.commit(&mut pack, &commit);
            if let Some(kind) = event {
                let event = Event { task, subject: reference.id, previous: None, at, kind };
                let event = self.entry(&mut pack, EntryKind::Record, &encode_event(&event).unwrap());
                let committed = Committed::Event { subject: reference.id };
                let commit = Commit { attempt: 0, committed, ..self.commit_of(lane, task, event, at) };
                self.commit(&mut pack, &commit);
            }
        }
        self.seal(&pack);
    }

    /// A small file of the n-th record.
    pub(crate) fn file(n: u64, file: u64) -> ContentRef {
        reference_to(&(n << 32 | file).to_le_bytes())
    }

    /// The next COMMIT of a lane, of a record without children.
    fn commit_of(&self, lane: u8, task: TaskId, record: ContentRef, time: Timestamp) -> Commit {
        let last = self.last.get(&lane).copied();
        Commit {
            store: self.store,
            task,
            attempt: 1,
            committed: Committed::Record,
            record,
            time,
            lane,
            sequence: last.map_or(1, |(sequence, _)| sequence + 1),
            previous: last.map(|(_, id)| id),
            span: 0,
            packs: Vec::new(),
            children: Vec::new(),
        }
    }

    fn commit(&mut self, pack: &mut Vec<u8>, commit: &Commit) {
        let payload = commit.encode().unwrap();
        self.entry(pack, EntryKind::Commit, &payload);
        self.last.insert(commit.lane, (commit.sequence, Commit::id(&payload)));
    }

    fn seal(&self, pack: &[u8]) {
        let name = ContentId::new(*blake3::hash(pack).as_bytes()).to_hex();
        fs::write(self.records.join(format!("store/packs/{name}.pack")), pack).unwrap();
    }

    fn entry(&mut self, pack: &mut Vec<u8>, kind: EntryKind, raw: &[u8]) -> ContentRef {
        let (header, stored) = self.compressor.entry(kind, raw).unwrap();
        pack.extend(header.encode());
        pack.extend(stored);
        ContentRef { id: header.id, length: header.raw_length }
    }
}

/// A Task of a pack, with what it printed and what happened to it later.
pub(crate) struct Task {
    pub(crate) record: TaskRecord,
    pub(crate) stdout: Vec<u8>,
    pub(crate) event: Option<EventKind>,
}

fn children_of(record: &[u8]) -> Vec<CommittedChild> {
    let children = children(record).unwrap().into_iter();
    children.map(|child| CommittedChild { role: child.role.number(), reference: child.reference }).collect()
}
