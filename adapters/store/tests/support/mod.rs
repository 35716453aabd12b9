//! Reaching into a store's files behind its back.
#![allow(dead_code, reason = "each test target uses a part of it")]

use isobox_domain::content::ContentId;
use isobox_store_format::block::{decode_table, table_length};
use isobox_store_format::entry::{EntryHeader, EntryKind, HEADER_LEN};
use isobox_store_format::scan::{Found, Scanner};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

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

/// Flips a bit in every stored copy of the object `id`.
pub(crate) fn damage(records: &Path, id: &ContentId) {
    let hex = id.to_hex();
    let large = records.join("store/large").join(&hex[..2]).join(&hex[2..]);
    if large.exists() {
        return flip(&large, fs::metadata(&large).unwrap().len() as usize / 2);
    }
    for pack in packs(records) {
        let copies = entries(&fs::read(&pack).unwrap());
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
