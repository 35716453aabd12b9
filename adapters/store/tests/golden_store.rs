//! A store that was written once stays readable, and is written on.

#[path = "../../../store-format/tests/samples/mod.rs"]
mod samples;

use isobox_domain::change::{After, Change, ChangeLine, ChangeSummary, Mode};
use isobox_domain::content::{ContentId, ContentRef, hex};
use isobox_domain::event::{Event, EventKind};
use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_domain::task_id::TaskId;
use isobox_ports::{Attempt, Attempts, ObjectStore, RecordLog, Role, StoredEvent};
use isobox_store::FsTaskStore;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

const REGENERATE: &str = "ISOBOX_WRITE_GOLDEN";

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// Every file below `directory` with its path from there, in order.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut open = vec![directory.to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).expect("list a directory") {
            let path = entry.expect("list a directory").path();
            if path.is_dir() { open.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files.iter().map(|path| path.strip_prefix(directory).expect("below").to_owned()).collect()
}

/// The BLAKE3 of every file of a store, as `b3sum` prints it.
fn checksums(store: &Path) -> String {
    files(store).iter().fold(String::new(), |mut text, path| {
        let bytes = fs::read(store.join(path)).expect("read a file");
        writeln!(text, "{}  {}", hex(blake3::hash(&bytes).as_bytes()), path.display()).expect("a string");
        text
    })
}

/// A copy of the golden store as a store has to be: private, and with the directories that Git does not keep.
fn copy_of_golden() -> tempfile::TempDir {
    let records = tempfile::tempdir().expect("a directory");
    let store = records.path().join("store");
    let make = |path: &Path| fs::DirBuilder::new().mode(0o700).recursive(true).create(path).expect("make a directory");
    ["locks", "lanes", "packs", "large", "tmp", "quarantine", "cache"].iter().for_each(|name| make(&store.join(name)));
    for path in files(&golden().join("store")) {
        make(store.join(&path).parent().expect("a parent"));
        fs::copy(golden().join("store").join(&path), store.join(&path)).expect("copy a file");
    }
    records
}

fn hash(mut content: impl Read) -> ContentId {
    let mut hasher = blake3::Hasher::new();
    std::io::copy(&mut content, &mut hasher).expect("read content");
    ContentId::new(*hasher.finalize().as_bytes())
}

/// What a store holds, everything read and verified, as text.
fn describe(store: &FsTaskStore) -> String {
    let mut text = String::new();
    for entry in store.list().expect("list") {
        let entry = entry.expect("an entry");
        let record = store.load(&entry.record).expect("load").expect("a record");
        writeln!(text, "{} attempt {} {}", entry.task, entry.attempt, entry.record).expect("a string");
        for (name, reference) in contents(&record) {
            let content = store.open(&reference.id).expect("open").expect("content");
            assert_eq!(hash(content), reference.id);
            writeln!(text, "  {name} {} {}", reference.length, reference.id).expect("a string");
        }
        let mut summary = ChangeSummary::default();
        for line in record.artifacts.change_set.iter().flat_map(|set| store.changes(set).expect("open")) {
            let line = line.expect("a line");
            summary.count(&line);
            if let ChangeLine::Change(Change { after: Some(After { content, .. }), .. }) = &line {
                assert_eq!(hash(store.open(&content.id).expect("open").expect("content")), content.id);
            }
        }
        let ChangeSummary { added, modified, deleted, not_captured } = summary;
        writeln!(text, "  changes {added} {modified} {deleted} {not_captured}").expect("a string");
        for StoredEvent { id, event } in store.events(&entry.record).expect("events") {
            let word = if matches!(event.kind, EventKind::Promoted(_)) { "promoted" } else { "rejected" };
            writeln!(text, "  {word} {id}").expect("a string");
        }
    }
    text
}

fn contents(record: &TaskRecord) -> Vec<(&'static str, ContentRef)> {
    let TaskArtifacts { stdout, stderr, patch, workspace_git, .. } = record.artifacts;
    let all = [("stdout", stdout), ("stderr", stderr), ("patch", patch), ("workspace git", workspace_git)];
    all.into_iter().filter_map(|(name, found)| found.map(|reference| (name, reference))).collect()
}

#[test]
fn a_store_of_the_first_day_is_read_whole() {
    if std::env::var_os(REGENERATE).is_some() {
        write_golden();
    }
    let hint = format!(
        "the format changed? `{REGENERATE}=1 cargo test -p isobox-store --test golden_store is_read_whole` starts anew"
    );
    let read = |name: &str| fs::read_to_string(golden().join(name)).expect("read a golden file");
    assert_eq!(checksums(&golden().join("store")), read("store.b3"), "{hint}");
    let records = copy_of_golden();
    let store = FsTaskStore::open(records.path()).expect("open").expect("a store");
    assert_eq!(describe(&store), read("store.txt"), "{hint}");
}

#[test]
fn a_store_of_the_first_day_is_written_on() {
    let records = copy_of_golden();
    let before = describe(&FsTaskStore::open(records.path()).expect("open").expect("a store"));
    let store = FsTaskStore::create(records.path()).expect("open for writing");
    let record = TaskRecord { task: TaskId::new([9; 8]), ..samples::bare_record() };
    let id = store.publish(store.begin(&record).expect("begin"), &record).expect("publish");
    drop(store);
    let store = FsTaskStore::open(records.path()).expect("open").expect("a store");
    assert_eq!(store.load(&id).expect("load"), Some(record));
    let after = describe(&store);
    assert!(before.lines().all(|line| after.contains(line)), "{after}");
    assert_eq!(after.lines().filter(|line| line.starts_with("task-")).count(), 4);
}

fn write_golden() {
    let records = tempfile::tempdir().expect("a directory");
    let store = FsTaskStore::create(records.path()).expect("create");
    let root = records.path().join("store");

    let full = samples::record();
    let first = publish(&store, full.clone(), true, b"one line\n");
    append(&store, first, samples::events::rejected());
    seal(&root, "lane-00.pack");
    let large: Vec<u8> = (0..250_000).flat_map(|number: u32| format!("{number}\n").into_bytes()).collect();
    let second = publish(&store, TaskRecord { attempt: 3, parents: vec![first], ..full }, true, &large);
    let lock = OpenOptions::new().write(true).open(root.join("locks/lane-00")).expect("open a lock");
    lock.lock().expect("take a lock");
    let rejected = append(&store, second, samples::events::rejected());
    append(&store, second, Event { previous: Some(rejected), ..samples::events::promoted() });
    publish(&store, TaskRecord { task: TaskId::new([3; 8]), ..samples::bare_record() }, false, b"");
    // A second writer that was killed in the midst of an entry.
    let entry = fs::read(root.join("lanes/lane-00.pack")).expect("read a lane");
    let mut lane = OpenOptions::new().append(true).open(root.join("lanes/lane-01.pack")).expect("open a lane");
    lane.write_all(&entry[..80]).expect("append to a lane");

    let text = describe(&store);
    fs::write(golden().join("store.txt"), text).expect("write");
    if golden().join("store").exists() {
        fs::remove_dir_all(golden().join("store")).expect("remove what was there");
    }
    for path in ["FORMAT", "lanes", "packs", "large"].iter().flat_map(|name| below(&root, name)) {
        let copy = golden().join("store").join(&path);
        fs::create_dir_all(copy.parent().expect("a parent")).expect("make a directory");
        fs::write(copy, fs::read(root.join(&path)).expect("read")).expect("write");
    }
    fs::write(golden().join("store.b3"), checksums(&golden().join("store"))).expect("write");
}

fn below(root: &Path, name: &str) -> Vec<PathBuf> {
    let all = files(root).into_iter();
    // Tables are derived.
    all.filter(|path| path.starts_with(name) && path.extension().is_none_or(|e| e != "idx")).collect()
}

fn append(store: &FsTaskStore, subject: ContentId, event: Event) -> ContentId {
    store.append(&Event { subject, ..event }).expect("append")
}

/// What sealing does to a lane that is full.
fn seal(root: &Path, lane: &str) {
    let path = root.join("lanes").join(lane);
    let id = hash(File::open(&path).expect("open a lane"));
    fs::rename(path, root.join("packs").join(format!("{}.pack", id.to_hex()))).expect("rename");
}

fn publish(store: &FsTaskStore, record: TaskRecord, has_changes: bool, stdout: &[u8]) -> ContentId {
    let attempt = store.begin(&record).expect("begin");
    let mut artifacts = TaskArtifacts { stdout: stage(&*attempt, Role::Stdout, stdout), ..TaskArtifacts::default() };
    if has_changes {
        artifacts.stderr = stage(&*attempt, Role::Stderr, &b"warning: all work and no play\n".repeat(50));
        let mut sink = attempt.capture_sink().expect("a sink");
        for line in samples::change_lines() {
            let line = with_content(line, |bytes| sink.content(&mut &*bytes).expect("stage"));
            sink.line(line).expect("add a line");
        }
        sink.patch().write_all(b"diff --git a/a b/a\n").expect("write");
        sink.workspace_git().write_all(b"opaque").expect("write");
        let captured = sink.finish().expect("finish");
        artifacts.change_set = captured.change_set;
        (artifacts.patch, artifacts.workspace_git) = (captured.patch, captured.workspace_git);
    }
    store.publish(attempt, &TaskRecord { artifacts, ..record }).expect("publish")
}

fn stage(attempt: &dyn Attempt, role: Role, bytes: &[u8]) -> Option<ContentRef> {
    let mut writer = attempt.stage(role).expect("stage");
    writer.write_all(bytes).expect("write");
    let reference = writer.finish().expect("finish");
    (!bytes.is_empty()).then_some(reference)
}

/// `line` with content that exists in place of the sample's.
fn with_content(line: ChangeLine, mut stage: impl FnMut(&[u8]) -> ContentRef) -> ChangeLine {
    let ChangeLine::Change(mut change) = line else { return line };
    if let Some(After { mode, content, .. }) = &mut change.after {
        let large = vec![b'x'; 1 << 20];
        *content = match mode {
            Mode::Symlink => stage(b"../target"),
            Mode::Executable => stage(&large),
            _ => stage(change.path.as_bytes()),
        };
    }
    ChangeLine::Change(change)
}
