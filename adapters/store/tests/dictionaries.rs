//! The dictionary that a pack begins with: it makes records short, costs none of them when it is damaged once, and goes with
//! the record that it was taken from.

mod support;

use isobox_domain::content::ContentId;
use isobox_domain::verification::{DefectKind, Thoroughness, Verification};
use isobox_ports::contract::sample::{noise, pruned};
use isobox_ports::{Collector, MendMode, Mender, RecordLog, Verifier};
use isobox_store::FsTaskStore;
use isobox_store_format::dictionary::find_dictionary;
use isobox_store_format::entry::{Codec, EntryHeader, EntryKind, HEADER_LEN};
use std::fs;
use std::path::{Path, PathBuf};

const RECORDS: u64 = 4;

fn filled(records: &Path) -> Vec<ContentId> {
    let store = FsTaskStore::create(records).unwrap();
    (0..RECORDS).map(|n| support::publish_stdout(&store, n, &noise(n, 900))).collect()
}

fn lane(records: &Path) -> PathBuf {
    records.join("store/lanes/lane-00.pack")
}

fn of_kind(records: &Path, kind: EntryKind) -> Vec<(usize, EntryHeader)> {
    let all = support::entries(&fs::read(lane(records)).unwrap());
    all.into_iter().filter(|(_, header)| header.kind == kind).collect()
}

fn verified(records: &Path) -> Verification {
    let store = FsTaskStore::open(records).unwrap().expect("a store");
    store.verify(Thoroughness::Full, &|_| {}).unwrap()
}

fn is_readable(records: &Path, id: &ContentId) -> bool {
    FsTaskStore::open(records).unwrap().expect("a store").load(id).is_ok_and(|record| record.is_some())
}

#[test]
fn records_of_one_pack_are_stored_in_little_room() {
    let records = tempfile::tempdir().unwrap();
    let all = filled(records.path());
    let stored = of_kind(records.path(), EntryKind::Record);
    assert_eq!(stored.len() as u64, RECORDS);
    for (_, header) in &stored {
        assert_eq!(header.codec, Codec::Dictionary);
        assert!(header.stored_length * 2 < header.raw_length, "{header:?}");
    }
    assert!(all.iter().all(|id| is_readable(records.path(), id)));
    assert!(verified(records.path()).is_sound());
}

#[test]
fn one_damaged_dictionary_costs_no_record_and_is_brought_back_from_the_other() {
    let records = tempfile::tempdir().unwrap();
    let all = filled(records.path());
    let dictionaries = of_kind(records.path(), EntryKind::Dictionary);
    assert_eq!(dictionaries.len(), 2);
    for (at, _) in dictionaries {
        let whole = fs::read(lane(records.path())).unwrap();
        support::flip(&lane(records.path()), at + HEADER_LEN + 5);
        assert!(all.iter().all(|id| is_readable(records.path(), id)));
        let found = verified(records.path());
        let [defect] = &found.defects[..] else { panic!("{found:?}") };
        assert!(matches!(defect.kind, DefectKind::Damaged { object: None, .. }) && defect.records.is_empty());
        fs::write(lane(records.path()), whole).unwrap();
    }
    support::flip(&lane(records.path()), HEADER_LEN + 5);
    let store = FsTaskStore::open(records.path()).unwrap().expect("a store");
    store.mend(&|_| None, MendMode::Mend).unwrap();
    assert!(verified(records.path()).is_sound());
    assert!(all.iter().all(|id| is_readable(records.path(), id)));
}

#[test]
fn two_damaged_dictionaries_are_told_with_every_record_that_needs_them() {
    let records = tempfile::tempdir().unwrap();
    let all = filled(records.path());
    for (at, _) in of_kind(records.path(), EntryKind::Dictionary) {
        support::flip(&lane(records.path()), at + HEADER_LEN + 5);
    }
    let found = verified(records.path());
    let named = |id| found.defects.iter().any(|defect| defect.records.iter().any(|affected| affected.record == id));
    assert!(all.iter().all(|id| named(*id)), "{found:?}");
    let store = FsTaskStore::create(records.path()).unwrap();
    let next = support::publish_stdout(&store, RECORDS, b"what comes after");
    assert!(is_readable(records.path(), &next));
}

#[test]
fn the_dictionary_goes_with_the_record_that_it_was_taken_from() {
    let records = tempfile::tempdir().unwrap();
    let all = filled(records.path());
    let store = FsTaskStore::create(records.path()).unwrap();
    let bytes = store.bytes(&all[0]).unwrap().expect("its bytes");
    store.append(&pruned(0, all[0], None)).unwrap();
    store.sweep(&|_| {}).unwrap();
    for pack in support::packs(records.path()) {
        let pack = fs::read(pack).unwrap();
        let dictionary = find_dictionary(pack.as_slice(), pack.len() as u64).unwrap();
        assert!(dictionary.is_none_or(|dictionary| dictionary.bytes() != bytes));
    }
    assert!(all[1..].iter().all(|id| is_readable(records.path(), id)));
}
