//! Whole stores on disk, made up from scripts and read, verified and written on as any store is.

use super::made_store::{Filling, MadeStore, Signer};
use super::script::Script;
use isobox_domain::compaction::Scope;
use isobox_domain::content::ContentId;
use isobox_domain::listing::Direction;
use isobox_domain::record::{RecordEntry, TaskRecord};
use isobox_domain::verification::Thoroughness;
use isobox_ports::contract::sample::{draft, record, rejected};
use isobox_ports::{
    Attempts, Collector, Compactor, Gaps, Listings, LogUpdates, Measurer, MendMode, Mender, ObjectStore, RecordLog,
    StoreError, StoredEvent, TransparencyLog, Verifier,
};
use isobox_store::FsTaskStore;
use isobox_store_format::object::reference_to;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

/// What is told of a store to whoever reads all of it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    entries: Vec<Option<RecordEntry>>,
    records: BTreeMap<ContentId, Known>,
    /// The records of a listing in the other direction.
    backwards: BTreeSet<ContentId>,
    /// Of the objects that were ever stored, those that are handed out.
    contents: BTreeSet<ContentId>,
}

/// What is told of a record; `None` where it is damaged.
#[derive(Debug, PartialEq, Eq)]
struct Known {
    record: Option<TaskRecord>,
    events: Option<Vec<StoredEvent>>,
}

// A table changes nothing but how fast that is.
pub(crate) fn store(bytes: &[u8]) {
    let mut script = Script::new(bytes);
    let made = MadeStore::new();
    let Filling { objects, has_blocks_in_lanes } = made.fill(&mut script);
    let records = made.records();
    let untouched = FsTaskStore::open_untouched_in(records).expect("a store").expect("a store");
    let Some(first) = seen(&untouched, &objects) else { return };
    assert!(first.backwards.iter().eq(first.records.keys()), "{first:?}");
    // Whoever opens it for the first time writes tables.
    drop(open(records).begin_listing());
    assert_eq!(seen(&open(records), &objects).as_ref(), Some(&first), "with tables");
    let mut is_swept = false;
    for _ in 0..script.byte() % 4 {
        let what = script.byte();
        is_swept |= what % 10 == SWEEP;
        work(&open(records), what, &first);
    }
    let last = seen(&open(records), &objects).expect("a store that could be read can be read");
    // The copies in such a block may be the only sound ones.
    if !has_blocks_in_lanes {
        check_kept(&first, &last, is_swept);
    }
}

/// So much for a sweep among what can be done to a store.
const SWEEP: u8 = 4;

// Whatever was done to a store, nothing went but what a sweep takes.
fn check_kept(first: &Seen, last: &Seen, is_swept: bool) {
    for (id, known) in &first.records {
        let now = last.records.get(id).unwrap_or_else(|| panic!("the record {id} went"));
        assert!(known.record.is_none() || now.record == known.record, "the record {id} is no longer read");
        let events = now.events.as_deref().unwrap_or_default();
        assert!(known.events.iter().flatten().all(|event| events.contains(event)), "an event about {id} went");
    }
    assert!(is_swept || first.contents.is_subset(&last.contents), "content went: {first:?}\n{last:?}");
}

/// A store whose tables say what a script says.
pub(crate) fn table(bytes: &[u8]) {
    let mut script = Script::new(bytes);
    let made = MadeStore::new();
    let Filling { objects, .. } = made.fill(&mut script);
    let records = made.records();
    seen(&open(records), &objects);
    made.remake_tables(&mut script);
    seen(&open(records), &objects);
    for _ in 0..script.byte() % 3 {
        let store = open(records);
        if let Some(first) = seen(&store, &objects) {
            work(&store, script.byte(), &first);
        }
    }
}

fn open(records: &Path) -> FsTaskStore {
    FsTaskStore::open(records).expect("a store").expect("a store")
}

/// Everything, or `None` where all that is told is that nothing can be.
fn seen(store: &FsTaskStore, objects: &[ContentId]) -> Option<Seen> {
    let listing = store.begin_listing().ok()?;
    listing.damage();
    let mut seen = Seen::default();
    for entry in listing.entries(Direction::Ascending) {
        if let Ok(entry) = &entry {
            let known = Known { record: listing.load(entry).ok().flatten(), events: listing.events(entry).ok() };
            seen.records.insert(entry.record, known);
        }
        seen.entries.push(entry.ok());
    }
    let backwards = listing.entries(Direction::Descending).flatten().map(|entry| entry.record);
    seen.backwards = backwards.collect();
    seen.contents = objects.iter().filter(|id| is_read(store, id)).copied().collect();
    Some(seen)
}

fn is_read(store: &FsTaskStore, id: &ContentId) -> bool {
    let Ok(Some(mut content)) = store.open(id) else { return false };
    let mut bytes = Vec::new();
    let is_whole = content.read_to_end(&mut bytes).is_ok();
    assert!(!is_whole || reference_to(&bytes).id == *id, "what is handed out is what was asked for");
    is_whole
}

fn work(store: &FsTaskStore, what: u8, first: &Seen) {
    let tell = |_: isobox_ports::Advance| {};
    match what % 10 {
        0 => drop(store.verify(Thoroughness::Deep, &tell)),
        1 => drop(store.measure(&tell)),
        2 => drop(store.compact(Scope::All, &tell)),
        3 => drop(store.compact(Scope::Sealed, &tell)),
        SWEEP => drop(store.sweep(&tell)),
        5 => drop(store.mend(&|_| None, MendMode::Mend)),
        6 => drop(store.rebuild_tables()),
        7 => drop(publish(store)),
        8 => drop(log(store)),
        _ => {
            for id in first.records.keys() {
                let events = store.events(id).unwrap_or_default();
                drop(store.append(&rejected(1, *id, events.last().map(|event| event.id))));
            }
        }
    }
}

// What was acknowledged is there.
fn publish(store: &FsTaskStore) -> Result<(), StoreError> {
    let attempt = store.begin(&draft(99))?;
    let id = store.publish(attempt, &record(99))?;
    assert_eq!(store.load(&id).expect("it was published just now"), Some(record(99)));
    assert!(store.list()?.any(|entry| entry.is_ok_and(|entry| entry.record == id)));
    Ok(())
}

fn log(store: &FsTaskStore) -> Result<(), StoreError> {
    store.commits()?;
    let signer = Signer::new();
    let extended = store.extend(&signer, Gaps::LogAsLost)?;
    let compared = store.compare(&extended.head, &|_| {})?;
    assert_eq!((compared.is_whole, compared.defects, compared.leaves), (true, Vec::new(), extended.head.size));
    Ok(())
}
