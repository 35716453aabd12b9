//! Reaching into a store's files behind its back.
#![allow(dead_code, reason = "each test target uses a part of it")]

use isobox_domain::content::ContentId;
use isobox_domain::record::{TaskArtifacts, TaskRecord};
use isobox_ports::contract::sample::{draft, record};
use isobox_ports::{Attempts, RecordLog, Role};
use isobox_store::FsTaskStore;
use isobox_store_format::block::{decode_table, table_length};
use isobox_store_format::entry::{EntryHeader, EntryKind, HEADER_LEN};
use isobox_store_format::scan::{Found, Scanner};
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Every lane and pack of the store in `records`.
pub(crate) fn packs(records: &Path) -> Vec<PathBuf> {
    let listed = ["lanes", "packs"].map(|name| fs::read_dir(records.join("store").join(name)).unwrap());
    let paths = listed.into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut packs: Vec<_> = paths.filter(|path| path.extension().is_some_and(|e| e == "pack")).collect();
    packs.sort();
    packs
}

/// The entries of a pack: where each starts, and its header.
pub(crate) fn entries(bytes: &[u8]) -> Vec<(usize, EntryHeader)> {
    let mut scanner = Scanner::new(bytes, 0, bytes.len() as u64);
    let mut found = Vec::new();
    while let Some(next) = scanner.find_next().unwrap() {
        if let Found::Entry { offset, header } = next {
            found.push((offset as usize, header));
        }
    }
    found
}

/// The same without dictionaries, which have the bytes of a record but are none.
pub(crate) fn objects(bytes: &[u8]) -> Vec<(usize, EntryHeader)> {
    let mut found = entries(bytes);
    found.retain(|(_, header)| header.kind != EntryKind::Dictionary);
    found
}

/// Flips a bit in every stored copy of the object `id`.
pub(crate) fn damage(records: &Path, id: &ContentId) {
    let hex = id.to_hex();
    let large = records.join("store/large").join(&hex[..2]).join(&hex[2..]);
    if large.exists() {
        return flip(&large, fs::metadata(&large).unwrap().len() as usize / 2);
    }
    for pack in packs(records) {
        let copies = objects(&fs::read(&pack).unwrap());
        copies.iter().filter(|(_, header)| header.id == *id).for_each(|(at, _)| flip(&pack, at + HEADER_LEN));
        let blocks = copies.iter().filter(|(at, header)| {
            header.kind == EntryKind::Block && has_member(&fs::read(&pack).unwrap(), *at, header, id)
        });
        // The last byte of a block is in its frame.
        blocks.for_each(|(at, header)| flip(&pack, at + header.entry_length() as usize - 1));
    }
}

fn has_member(bytes: &[u8], at: usize, header: &EntryHeader, id: &ContentId) -> bool {
    let payload = &bytes[at + HEADER_LEN..at + header.entry_length() as usize];
    let table = table_length(payload).and_then(|length| decode_table(header, &payload[..length]).ok());
    table.is_some_and(|members| members.iter().any(|member| member.id == *id))
}

/// Flips a bit of the byte at `at`.
pub(crate) fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 0x10;
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Publishes the n-th record with this output.
pub(crate) fn publish_stdout(store: &FsTaskStore, n: u64, stdout: &[u8]) -> ContentId {
    let attempt = store.begin(&draft(n)).unwrap();
    let mut writer = attempt.stage(Role::Stdout).unwrap();
    writer.write_all(stdout).unwrap();
    let artifacts = TaskArtifacts { stdout: Some(writer.finish().unwrap()), ..TaskArtifacts::default() };
    store.publish(attempt, &TaskRecord { artifacts, ..record(n) }).unwrap()
}

/// What is done over and over beside something else.
pub(crate) type Busy<'a> = &'a (dyn Fn(&FsTaskStore) + Sync);

/// Does `work` while each of `others` goes on in a thread of its own, with a store of its own in `records`.
pub(crate) fn beside<T>(records: &Path, others: &[Busy<'_>], work: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let _over = OnDrop(&is_over);
        for other in others {
            scope.spawn(|| {
                let store = FsTaskStore::create(records).unwrap();
                while !is_over.load(Ordering::Relaxed) {
                    other(&store);
                }
            });
        }
        work()
    })
}

/// Says so when it goes, also where that is because of a panic: else a scope would wait for its threads for ever.
struct OnDrop<'a>(&'a AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Every file below `root`, by its path from there.
pub(crate) fn files_below(root: &Path) -> BTreeMap<String, PathBuf> {
    let (mut files, mut open) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                files.insert(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned(), path);
            }
        }
    }
    files
}
