//! Making an attempt durable as a record.

use crate::attempt::FsAttempt;
use crate::error::{damaged, error, failed};
use crate::index::{Location, Pack};
use crate::lane::{Known, Lane, is_usable, require_usable};
use crate::large_place::place_large;
use crate::layout::Layout;
use crate::locks::{lock_for_put, lock_lane, lock_record};
use crate::object_reader::read_entry;
use crate::room::give_back;
use crate::staging::{REMEMBERED, StagedLarge, Staging, hold};
use crate::steps::step;
use crate::store::{FsTaskStore, Shared};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::event::{Event, EventKind};
use isobox_domain::record::TaskRecord;
use isobox_domain::timestamp::Timestamp;
use isobox_ports::{Cause, StoreError, StoreErrorKind};
use isobox_store_format::commit::{Commit, Committed, CommittedChild};
use isobox_store_format::entry::{EntryHeader, EntryKind, HEADER_LEN};
use isobox_store_format::format_file::StoreId;
use isobox_store_format::frame::Compressor;
use isobox_store_format::limits::MAX_PACK;
use isobox_store_format::object::reference_to;
use isobox_store_format::record::{Child, EncodedRecord, children, encode_record};
use std::collections::HashSet;
use std::io;
use std::sync::Arc;

/// Publishes `record` with what its attempt staged, and leaves the attempt as it is.
pub(crate) fn publish(attempt: &mut FsAttempt, record: &TaskRecord) -> Result<ContentId, StoreError> {
    let refused = |e| error(StoreErrorKind::Io, "encode record of", record.task.to_string(), e);
    let encoded = encode_record(record).map_err(refused)?;
    match put(attempt, record, &encoded) {
        // The disk was filled meanwhile: now the room that was set aside is needed.
        Err(error) if error.kind == StoreErrorKind::Full => {
            give_back(&hold(&attempt.staging).dir()).map_err(failed("make room for record of", record.task))?;
            put(attempt, record, &encoded)
        }
        put => put,
    }
}

fn put(attempt: &mut FsAttempt, record: &TaskRecord, encoded: &EncodedRecord) -> Result<ContentId, StoreError> {
    let reference = encoded.reference();
    let id = reference.id;
    attempt.note_publishing(&id)?;
    let store = Arc::clone(&attempt.store);
    let staging = hold(&attempt.staging);
    let locks = store.layout.locks()?;
    step("puts");
    let _record = lock_record(locks, &id)?;
    let _gc = lock_for_put(locks)?;
    let mut put = Put::open(&store, staging.length() + encoded.bytes.len() as u64)?;
    step("opened a lane");
    if is_published(&store, &id)? {
        return Ok(id);
    }
    match put.add_all(&staging, encoded, &reference) {
        Ok(children) => {
            step("decided what is stored");
            put.commit(commit_of(record, reference, children))?;
            step("committed");
            Ok(id)
        }
        Err(error) => {
            put.lane.abandon();
            Err(error)
        }
    }
}

/// Whether the record `id` was published before, by what is known for this put. Nobody does so meanwhile: its lock is held.
fn is_published(store: &Arc<Shared>, id: &ContentId) -> Result<bool, StoreError> {
    let is_known = store.known_index().has_noted(id) || !store.known_locations(id)?.is_empty();
    Ok(is_known && FsTaskStore { shared: Arc::clone(store) }.is_published_whole(id)?)
}

/// Appends an event whose place after the newest one of its subject was checked.
pub(crate) fn append_event(store: &Shared, event: &Event, bytes: &[u8]) -> Result<(), StoreError> {
    let _gc = lock_for_put(store.layout.locks()?)?;
    let mut put = Put::open(store, bytes.len() as u64)?;
    let reference = reference_to(bytes);
    put.add_record(bytes, &reference).inspect_err(|_| put.lane.abandon())?;
    let subject = event.subject;
    let committed = match event.kind {
        EventKind::Pruned { .. } => Committed::Pruned { subject },
        _ => Committed::Event { subject },
    };
    put.commit(Commit { task: event.task, committed, ..blank(reference, Vec::new()) })
}

fn commit_of(record: &TaskRecord, reference: ContentRef, children: Vec<CommittedChild>) -> Commit {
    Commit { task: record.task, attempt: record.attempt, ..blank(reference, children) }
}

// The lane fills in the rest.
fn blank(record: ContentRef, children: Vec<CommittedChild>) -> Commit {
    Commit {
        store: StoreId([0; 16]),
        task: isobox_domain::task_id::TaskId::new([0; 8]),
        attempt: 0,
        committed: Committed::Record,
        record,
        time: Timestamp::nearest(0),
        lane: 0,
        sequence: 1,
        previous: None,
        span: 0,
        packs: Vec::new(),
        children,
    }
}

/// One put into a lane.
struct Put<'a> {
    layout: &'a Layout,
    store: &'a Shared,
    lane: Lane<'a>,
    compressor: Compressor,
    /// Entries of this put, as many as are remembered; further equal ones are stored twice.
    added: HashSet<(EntryKind, ContentId)>,
}

impl<'a> Put<'a> {
    fn open(store: &'a Shared, expected: u64) -> Result<Self, StoreError> {
        let layout = &store.layout;
        layout.require_writable()?;
        require_usable(layout)?;
        let locked = lock_lane(layout.locks()?, store.last_lane(), |lane| is_usable(layout, lane))?;
        let number = locked.0;
        store.remember_lane(number);
        let known = Known::of(&*store.index_for_put(number)?, number);
        let lane = Lane::open(layout, locked, expected, known)?;
        let compressor = Compressor::new().map_err(failed("prepare", "a compressor"))?;
        Ok(Self { layout, store, lane, compressor, added: HashSet::new() })
    }

    /// Adds what was staged and the record, and returns the record's children.
    fn add_all(
        &mut self,
        staging: &Staging,
        encoded: &EncodedRecord,
        reference: &ContentRef,
    ) -> Result<Vec<CommittedChild>, StoreError> {
        let record = reference.id;
        // Of a put that fills packs, the record may go to another one than the dictionary, and be pruned while that stays.
        if staging.length() < MAX_PACK / 2 {
            self.lane.begin_like(&encoded.bytes, &mut self.compressor)?;
        }
        let direct = children(&encoded.bytes).map_err(|e| damaged("read back record", record.to_string(), e))?;
        let mut missing: HashSet<ContentId> = direct.iter().map(|child| child.reference.id).collect();
        for large in staging.large() {
            self.add_large(staging, large)?;
            missing.remove(&large.header.id);
        }
        missing.remove(&self.add_policy(&encoded.policy_bytes)?);
        let dir = staging.dir();
        let add_small = |header: &EntryHeader, stored: &[u8]| {
            missing.remove(&header.id);
            self.add_small(header, stored)
        };
        staging.for_each_small(add_small, |e| failed("read back", dir.shown("staged"))(e))?;
        if !missing.is_empty() {
            // For this put, not all was gone through that other lanes have.
            drop(self.store.fresh_index()?);
        }
        for id in missing {
            if !self.store.make_durable(&id)? {
                let reason = format!("it refers to {id}, which was never staged");
                return Err(error(StoreErrorKind::Io, "publish record", record.to_string(), reason));
            }
        }
        self.add_record(&encoded.bytes, reference)?;
        Ok(direct.iter().map(committed).collect())
    }

    // All records of a project may share one policy, without which none is loaded: two copies of it are kept, so that
    // one damaged bit costs none of them.
    fn add_policy(&mut self, bytes: &[u8]) -> Result<ContentId, StoreError> {
        let reference = reference_to(bytes);
        if self.is_wanted(EntryKind::Artifact, &reference, 2)? {
            let entry = self.compressor.entry_of(EntryKind::Artifact, bytes, &reference);
            let (header, stored) = entry.map_err(failed("compress", "a policy"))?;
            self.lane.append(&header, &stored, &header.id)?;
        }
        Ok(reference.id)
    }

    fn add_small(&mut self, header: &EntryHeader, stored: &[u8]) -> Result<(), StoreError> {
        let reference = ContentRef { id: header.id, length: header.raw_length };
        let is_wanted = self.is_wanted(header.kind, &reference, 1)?;
        if is_wanted { self.lane.append(header, stored, &header.id) } else { Ok(()) }
    }

    /// Whether an entry is to be added, of which `copies` are wanted. Remembers it.
    fn is_wanted(&mut self, kind: EntryKind, content: &ContentRef, copies: usize) -> Result<bool, StoreError> {
        if self.added.contains(&(kind, content.id)) || self.count_stored(kind, content, copies)? == copies {
            return Ok(false);
        }
        if self.added.len() < REMEMBERED {
            self.added.insert((kind, content.id));
        }
        Ok(true)
    }

    fn add_record(&mut self, bytes: &[u8], reference: &ContentRef) -> Result<(), StoreError> {
        let find = |file: &_, length| self.store.recent_dictionaries().find_in_lane(file, length);
        let dictionary = self.lane.dictionary_for((HEADER_LEN + bytes.len()) as u64, find)?;
        let entry = self.compressor.entry_with(EntryKind::Record, bytes, reference, dictionary);
        let (header, stored) = entry.map_err(failed("compress", "a record"))?;
        self.lane.append(&header, &stored, &header.id)
    }

    fn commit(mut self, commit: Commit) -> Result<(), StoreError> {
        if let Some(appended) = self.lane.commit(&mut self.compressor, commit)? {
            self.store.known_index().take_put(self.layout, &appended);
        }
        Ok(())
    }

    // A hit counts only where it is durable with this put's own flush: in a sealed pack, which was flushed before it got
    // its name, or in this very lane. What lies in another lane may be a COMMIT whose flush has yet to come.
    fn certain(&self, kind: EntryKind, id: &ContentId) -> Result<Vec<Location>, StoreError> {
        let own = Pack::Lane(self.lane.number());
        let counts = |pack| matches!(pack, Pack::Sealed(_)) || pack == own;
        let mut found = self.store.ask(|index, layout| index.locations_among(layout, id, counts))?;
        found.retain(|found| found.kind == kind && found.is_certain);
        Ok(found)
    }

    fn count_stored(&self, kind: EntryKind, content: &ContentRef, wanted: usize) -> Result<usize, StoreError> {
        let mut count = 0;
        for location in self.certain(kind, &content.id)? {
            let subject = location.pack.shown(self.layout);
            let read = match self.read(&content.id, location) {
                // Compaction removed the pack. What was in it is somewhere else, but one copy more does no harm.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                read => read.map_err(failed("read", &subject))?,
            };
            count += usize::from(read.is_ok_and(|raw| raw.len() as u64 == content.length));
            if count == wanted {
                break;
            }
        }
        Ok(count)
    }

    fn read(&self, id: &ContentId, location: Location) -> io::Result<Result<Vec<u8>, Cause>> {
        match location.pack == Pack::Lane(self.lane.number()) && !location.is_member {
            true => read_entry(self.lane.file(), id, location, |file| {
                self.store.recent_dictionaries().find(location.pack, file)
            }),
            false => self.store.read_object(id, location),
        }
    }

    // A large artifact is linked into place, so that a put that fails leaves it in the attempt too.
    fn add_large(&mut self, staging: &Staging, large: &StagedLarge) -> Result<(), StoreError> {
        let id = large.header.id;
        if self.added.insert((EntryKind::Large, id)) {
            place_large(self.layout, staging, large).map_err(failed("store large artifact", id))?;
            if self.certain(EntryKind::Large, &id)?.is_empty() {
                let payload = large.header.encode();
                self.lane.append(&EntryHeader::raw(EntryKind::Large, &payload), &payload, &id)?;
            }
        }
        Ok(())
    }
}

fn committed(child: &Child) -> CommittedChild {
    CommittedChild { role: child.role.number(), reference: child.reference }
}
