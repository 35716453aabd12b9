//! A store that has one of everything, and a close look at a copy of it that was spoilt.
#![allow(dead_code, reason = "each test target uses a part of it")]

use crate::signer::TestSigner;
use crate::support;
use isobox_domain::change::{After, Change, ChangeLine, Mode};
use isobox_domain::compaction::Scope;
use isobox_domain::content::ContentId;
use isobox_domain::event::Event;
use isobox_domain::log::{TreeHash, TreeHead};
use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_domain::repo_path::RepoPath;
use isobox_domain::verification::{Defect, Thoroughness};
use isobox_ports::contract::sample::{draft, noise, pruned, record, rejected};
use isobox_ports::{
    Attempts, Collector, Compactor, Gaps, LogUpdates, ObjectStore, RecordLog, Role, StoreError, TransparencyLog,
    Verifier,
};
use isobox_store::FsTaskStore;
use isobox_store_format::block::{decode_table, table_length};
use isobox_store_format::commit::{Commit, Committed};
use isobox_store_format::entry::{EntryHeader, EntryKind, HEADER_LEN, Place};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::ops::Range;
use std::path::Path;
use tempfile::TempDir;

/// Everything about one record, as it was published.
#[derive(Debug)]
struct Truth {
    record: TaskRecord,
    events: Vec<Event>,
    /// Outputs and changed files.
    content: BTreeMap<ContentId, Vec<u8>>,
    lines: Vec<ChangeLine>,
    /// The ids of all that it refers to, and its own.
    below: BTreeSet<ContentId>,
}

/// The store, and what is true of it.
pub(crate) struct Specimen {
    directory: TempDir,
    truth: BTreeMap<ContentId, Truth>,
    pruned: BTreeSet<ContentId>,
    head: TreeHead,
    files: BTreeMap<String, Vec<u8>>,
}

/// What a file of a store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    Format,
    Lane,
    Plain,
    Compacted,
    Large,
    Log,
    Table,
}

impl Class {
    pub(crate) const ALL: [Self; 7] =
        [Self::Format, Self::Lane, Self::Plain, Self::Compacted, Self::Large, Self::Log, Self::Table];
}

/// What is left of a store.
pub(crate) struct Look {
    /// Records that are not there whole, or of which an event is gone.
    pub(crate) lost: BTreeSet<ContentId>,
    /// Records that defects name.
    pub(crate) named: BTreeSet<ContentId>,
    pub(crate) defects: Vec<Defect>,
}

impl Specimen {
    /// Records in blocks, in a sealed pack and in a lane, each with outputs, an output that others share, and a changed file;
    /// two large artifacts, events, a record that was pruned, and a log of all that.
    pub(crate) fn make() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = FsTaskStore::create(directory.path()).unwrap();
        let mut specimen = Self {
            directory,
            truth: BTreeMap::new(),
            pruned: BTreeSet::new(),
            head: TreeHead { size: 0, root: TreeHash([0; 32]) },
            files: BTreeMap::new(),
        };
        let blocks: Vec<_> =
            (1..=4).map(|n| specimen.publish(&store, n, if n == 4 { 1 << 20 } else { 70_000 })).collect();
        specimen.reject(&store, 2, blocks[1]);
        specimen.prune(&store, 3, blocks[2]);
        store.sweep(&|_| {}).unwrap();
        store.compact(Scope::All, &|_| {}).unwrap();
        let sealed: Vec<_> = (5..=7).map(|n| specimen.publish(&store, n, 3_000)).collect();
        specimen.reject(&store, 6, sealed[1]);
        specimen.reject(&store, 1, blocks[0]);
        seal(specimen.records());
        let store = FsTaskStore::create(specimen.records()).unwrap();
        let lane: Vec<_> =
            (8..=11).map(|n| specimen.publish(&store, n, if n == 9 { (2 << 20) + 77 } else { 2_000 })).collect();
        specimen.reject(&store, 8, lane[0]);
        specimen.reject(&store, 5, sealed[0]);
        specimen.head = store.extend(&TestSigner::new(1), Gaps::Stop).unwrap().head;
        specimen.files = files(&specimen.records().join("store"));
        specimen
    }

    fn publish(&mut self, store: &FsTaskStore, n: u64, length: usize) -> ContentId {
        let attempt = store.begin(&draft(n)).unwrap();
        let mut content = BTreeMap::new();
        let outputs = [(Role::Stdout, noise(n, length)), (Role::Stderr, b"the same of all".repeat(3))];
        let [stdout, stderr] = outputs.map(|(role, bytes)| {
            let mut writer = attempt.stage(role).unwrap();
            writer.write_all(&bytes).unwrap();
            let written = writer.finish().unwrap();
            content.insert(written.id, bytes);
            Some(written)
        });
        let mut sink = attempt.capture_sink().unwrap();
        let file = noise(1000 + n, 300);
        let written = sink.content(&mut file.as_slice()).unwrap();
        content.insert(written.id, file);
        let after = After { mode: Mode::File, content: written, binary: true };
        let path = RepoPath::parse("src/lib.rs").unwrap();
        let line =
            ChangeLine::Change(Change { path, before: None, after: Some(after), renamed_from: None, submodule: None });
        sink.line(line.clone()).unwrap();
        let captured = sink.finish().unwrap();
        let artifacts = TaskArtifacts {
            stdout,
            stderr,
            change_set: captured.change_set,
            patch: captured.patch,
            ..TaskArtifacts::default()
        };
        let published = TaskRecord { artifacts, ..record(n) };
        let id = store.publish(attempt, &published).unwrap();
        let bytes = store.bytes(&id).unwrap().unwrap();
        let mut below: BTreeSet<_> = content.keys().copied().chain([id]).collect();
        below.extend(isobox_store_format::record::children(&bytes).unwrap().iter().map(|child| child.reference.id));
        below.extend(chunks(store, &published));
        self.truth.insert(id, Truth { record: published, events: Vec::new(), content, lines: vec![line], below });
        id
    }

    fn reject(&mut self, store: &FsTaskStore, n: u64, subject: ContentId) {
        let event = rejected(n, subject, None);
        let id = store.append(&event).unwrap();
        let truth = self.truth.get_mut(&subject).unwrap();
        truth.events.push(event);
        truth.below.insert(id);
    }

    fn prune(&mut self, store: &FsTaskStore, n: u64, subject: ContentId) {
        store.append(&pruned(n, subject, None)).unwrap();
        self.truth.remove(&subject);
        self.pruned.insert(subject);
    }

    /// The directory that the store lies in.
    pub(crate) fn records(&self) -> &Path {
        self.directory.path()
    }

    /// The files of a class, by their path below the store.
    pub(crate) fn files_of(&self, class: Class) -> Vec<(&str, &[u8])> {
        let files = self.files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
        files.filter(|(name, bytes)| !bytes.is_empty() && class_of(name, bytes) == Some(class)).collect()
    }

    /// A file of the store as it was.
    pub(crate) fn file(&self, name: &str) -> &[u8] {
        &self.files[name]
    }

    /// Puts all files back as they were, one of them spoilt, and tables as asked.
    pub(crate) fn spoil(&self, name: &str, bytes: &[u8], has_tables: bool) {
        for derived in files(&self.records().join("store")).keys().filter(|name| is_derived(name)) {
            fs::remove_file(self.records().join("store").join(derived)).unwrap();
        }
        let tables = self.files.iter().filter(|(name, _)| has_tables && is_derived(name));
        tables.for_each(|(name, bytes)| self.put(name, bytes));
        self.put(name, bytes);
    }

    /// Puts a file back.
    pub(crate) fn mend(&self, name: &str) {
        self.put(name, &self.files[name]);
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        let path = self.records().join("store").join(name);
        // Sealed packs are read-only.
        if path.exists() {
            fs::remove_file(&path).unwrap();
        }
        fs::write(path, bytes).unwrap();
    }

    /// A copy of the store with one file spoilt, without what is derived.
    pub(crate) fn spoilt_copy(&self, name: &str, bytes: &[u8]) -> TempDir {
        let copy = tempfile::tempdir().unwrap();
        FsTaskStore::create(copy.path()).unwrap();
        for (file, whole) in self.files.iter().filter(|(file, _)| !is_derived(file)) {
            let path = copy.path().join("store").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, if file == name { bytes } else { whole }).unwrap();
        }
        copy
    }

    /// The record of the n-th Task.
    pub(crate) fn record_of(&self, n: u64) -> ContentId {
        *self.truth.iter().find(|(_, truth)| truth.record.task == record(n).task).unwrap().0
    }

    /// What is left. Fails if anything that is handed out is not as it was, or if anything ends otherwise than with an answer
    /// or an error of its own.
    pub(crate) fn look(&self) -> Result<Look, StoreError> {
        self.look_at(self.records(), &[])
    }

    /// The same of a store in another place, to which `more` was added.
    pub(crate) fn look_at(&self, records: &Path, more: &[ContentId]) -> Result<Look, StoreError> {
        let store = FsTaskStore::open(records)?.expect("a store");
        let listed: BTreeSet<_> = store.list()?.filter_map(Result::ok).map(|entry| entry.record).collect();
        let known: BTreeSet<_> = self.truth.keys().chain(&self.pruned).chain(more).copied().collect();
        assert!(listed.is_subset(&known), "{listed:?}");
        let is_lost = |(id, truth): &(&ContentId, &Truth)| !listed.contains(id) || !truth.is_whole(&store, id);
        let lost = self.truth.iter().filter(is_lost).map(|(id, _)| *id).collect();
        let mut defects = store.verify(Thoroughness::Full, &|_| {})?.defects;
        defects.extend(store.compare(&self.head, &|_| {})?.defects);
        let named = defects.iter().flat_map(|defect| &defect.records).map(|affected| affected.record).collect();
        Ok(Look { lost, named, defects })
    }

    /// The records that what stands in a range of a file may cost.
    pub(crate) fn touched(&self, name: &str, range: &Range<usize>) -> BTreeSet<ContentId> {
        let bytes = &self.files[name];
        let mut hit = BTreeSet::new();
        match class_of(name, bytes) {
            Some(Class::Lane | Class::Plain | Class::Compacted) => {
                for (at, header) in support::entries(bytes) {
                    if at < range.end && range.start < at + header.entry_length() as usize {
                        hit.extend(named_by(&bytes[at..at + header.entry_length() as usize], &header));
                    }
                }
            }
            Some(Class::Large) => {
                hit.extend(EntryHeader::decode(bytes.first_chunk().unwrap(), Place::Large).map(|large| large.id))
            }
            _ => {}
        }
        self.truth.iter().filter(|(_, truth)| !truth.below.is_disjoint(&hit)).map(|(id, _)| *id).collect()
    }
}

impl Truth {
    fn is_whole(&self, store: &FsTaskStore, id: &ContentId) -> bool {
        let is_loaded = store.load(id).ok().flatten().is_some_and(|found| {
            assert_eq!(found, self.record);
            true
        });
        let is_read = |(id, bytes): (&ContentId, &Vec<u8>)| {
            let Some(mut content) = store.open(id).ok().flatten() else { return false };
            let mut found = Vec::new();
            // What is opened was verified.
            content.read_to_end(&mut found).unwrap();
            assert!(found == *bytes, "other bytes were handed out as {id}");
            true
        };
        let events = store.events(id).map(|events| events.into_iter().map(|stored| stored.event).collect::<Vec<_>>());
        let has_events = events.is_ok_and(|events| {
            assert!(events.iter().all(|event| self.events.contains(event)), "{events:?}");
            events.len() == self.events.len()
        });
        // Everything is asked for, whatever was found before.
        let are_read: Vec<bool> = self.content.iter().map(is_read).collect();
        let has_lines = self.has_lines(store);
        is_loaded && has_events && has_lines && are_read.into_iter().all(|is_read| is_read)
    }

    fn has_lines(&self, store: &FsTaskStore) -> bool {
        let change_set = self.record.artifacts.change_set.expect("a change set");
        let Ok(lines) = store.changes(&change_set) else { return false };
        let Ok(lines) = lines.collect::<Result<Vec<_>, _>>() else { return false };
        assert_eq!(lines, self.lines);
        true
    }
}

/// The parts of a Change Set, which nobody else names.
fn chunks(store: &FsTaskStore, record: &TaskRecord) -> Vec<ContentId> {
    let mut bytes = Vec::new();
    store.open(&record.artifacts.change_set.unwrap().id).unwrap().unwrap().read_to_end(&mut bytes).unwrap();
    isobox_store_format::change_set::decode_index(&bytes).unwrap().chunks.iter().map(|chunk| chunk.id).collect()
}

/// What an entry holds, or makes visible.
fn named_by(entry: &[u8], header: &EntryHeader) -> Vec<ContentId> {
    let payload = &entry[HEADER_LEN..];
    match header.kind {
        EntryKind::Commit => {
            let commit = Commit::decode(payload).unwrap();
            match commit.committed {
                Committed::Record => vec![commit.record.id],
                Committed::Event { subject } | Committed::Pruned { subject } => vec![commit.record.id, subject],
            }
        }
        EntryKind::Block => {
            let length = table_length(payload).unwrap();
            decode_table(header, &payload[..length]).unwrap().iter().map(|member| member.id).collect()
        }
        EntryKind::Large => {
            vec![EntryHeader::decode(payload.first_chunk().unwrap(), Place::Large).unwrap().id]
        }
        _ => vec![header.id],
    }
}

fn is_derived(name: &str) -> bool {
    name.ends_with(".idx") || name.starts_with("cache/")
}

fn class_of(name: &str, bytes: &[u8]) -> Option<Class> {
    let is_compacted = || support::entries(bytes).iter().any(|(_, header)| header.kind == EntryKind::Block);
    match name.split_once('/').unwrap_or((name, "")) {
        ("FORMAT", _) => Some(Class::Format),
        ("lanes", _) => Some(Class::Lane),
        ("packs" | "cache", table) if table.ends_with(".idx") => Some(Class::Table),
        ("packs", _) if is_compacted() => Some(Class::Compacted),
        ("packs", _) => Some(Class::Plain),
        ("large", _) => Some(Class::Large),
        // Checkpoints are vouched for elsewhere.
        ("log", file) if file.starts_with("tile/") => Some(Class::Log),
        _ => None,
    }
}

fn seal(records: &Path) {
    let lane = records.join("store/lanes/lane-00.pack");
    let id = ContentId::new(*blake3::hash(&fs::read(&lane).unwrap()).as_bytes());
    fs::rename(lane, records.join(format!("store/packs/{}.pack", id.to_hex()))).unwrap();
}

/// The content of every file below `root`, by its path from there.
fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    support::files_below(root).into_iter().map(|(name, path)| (name, fs::read(path).unwrap())).collect()
}
