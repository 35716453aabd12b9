//! Finds the Tasks that a filter admits, in an order, a few or all.

use crate::failure::{Failure, FailureKind};
use crate::use_case::list::{Listed, Met};
use crate::use_case::open_tasks;
use isobox_domain::listing::{Direction, Filter, First, Glance, Limit, Order, SortKey, TooMany};
use isobox_domain::outcome::Outcome;
use isobox_domain::record::{RecordEntry, TaskRecord};
use isobox_domain::task_state::TaskState;
use isobox_ports::{Listing, Listings, ObjectStore, OpenAttempt, OpenAttempts, StoreError, StoreErrorKind};

/// What a search touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) listings: &'a dyn Listings,
    pub(crate) attempts: &'a dyn OpenAttempts,
    pub(crate) objects: &'a dyn ObjectStore,
}

/// What is looked for.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) filter: Filter,
    pub(crate) order: Order,
    pub(crate) limit: Limit,
}

/// A Task that was found.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found<'a> {
    /// One that is not over, by the draft of its record.
    Open(&'a TaskRecord, TaskState),
    /// One that is on record.
    Recorded(&'a Listed),
}

/// What the limit left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rest {
    /// Tasks that were found and not handed over.
    pub(crate) not_shown: u64,
    /// Records that were not compared with the filter.
    pub(crate) not_looked_at: u64,
}

/// Takes what was found, or what is damaged, in turn.
pub(crate) type Each<'a> = &'a mut dyn FnMut(Result<Found<'_>, StoreError>) -> Result<(), Failure>;

/// Hands every Task that is found to `each`, until that fails. Tasks that are not over are the newest; where the order is not
/// by time, they come first. What is damaged is handed over as its error, and passed by.
pub(crate) fn find(ports: &Ports<'_>, query: &Query, each: Each<'_>) -> Result<Rest, Failure> {
    // Whatever ends between the two is on record in the listing.
    let open = open_tasks::attempts_at_tasks(ports.attempts)?;
    let listing = ports.listings.begin_listing()?;
    let open = open_tasks::not_on_record(open, listing.entries(Direction::Descending).filter_map(Result::ok));
    let mut search = Search { ports, query, listing: &*listing, each, shown: 0, met: Met::default() };
    open.iter().for_each(|attempt| search.met.meet_open(attempt.draft()));
    let is_oldest_first = query.order == Order { key: SortKey::Time, direction: Direction::Ascending };
    let mut rest = Rest::default();
    if !is_oldest_first {
        rest.not_shown += search.open(&open)?;
    }
    let recorded = match query.order.key {
        SortKey::Time => search.by_time(query.order.direction)?,
        key => search.sorted(key, query.order.direction)?,
    };
    rest = Rest { not_shown: rest.not_shown + recorded.not_shown, not_looked_at: recorded.not_looked_at };
    if is_oldest_first {
        rest.not_shown += search.open(&open)?;
    }
    listing.damage().into_iter().try_for_each(|error| (search.each)(Err(error)))?;
    Ok(rest)
}

struct Search<'a, 'b> {
    ports: &'a Ports<'a>,
    query: &'a Query,
    listing: &'a dyn Listing,
    each: Each<'b>,
    shown: u64,
    met: Met,
}

impl Search<'_, '_> {
    /// Hands over Tasks that are not over; how many of them the limit leaves out.
    fn open(&mut self, open: &[Box<dyn OpenAttempt>]) -> Result<u64, Failure> {
        let mut not_shown = 0;
        for attempt in open {
            let state = if open_tasks::is_running(&**attempt) { TaskState::Running } else { TaskState::Interrupted };
            if !admits_open(&self.query.filter, attempt.draft(), state) {
                continue;
            }
            match self.query.limit.is_reached(self.shown) {
                true => not_shown += 1,
                false => self.show(Found::Open(attempt.draft(), state))?,
            }
        }
        Ok(not_shown)
    }

    fn by_time(&mut self, direction: Direction) -> Result<Rest, Failure> {
        let listing = self.listing;
        if direction == Direction::Ascending {
            // Which attempts others followed is known from the end alone.
            listing.entries(Direction::Descending).flatten().for_each(|entry| self.met.meet_recorded(&entry));
        }
        let mut entries = listing.entries(direction);
        let mut passed = 0;
        while !self.query.limit.is_reached(self.shown) {
            let Some(entry) = entries.next() else { return Ok(Rest::default()) };
            passed += 1;
            self.meet(&entry);
            let found = match entry.map(|entry| (self.query.filter.glance(&entry), entry)) {
                Err(error) => Err(error),
                Ok((Glance::NoneBefore, _)) if direction == Direction::Descending => return Ok(Rest::default()),
                Ok((Glance::NoneBefore | Glance::No, _)) => continue,
                Ok((Glance::Perhaps, entry)) => self.admitted(&entry),
            };
            self.show_found(found)?;
        }
        let left = listing.count().saturating_sub(passed);
        let Some(next) = entries.next() else { return Ok(Rest::default()) };
        // What cannot be read may be anything, and others come after it.
        let glance = next.ok().map(|next| self.query.filter.glance(&next));
        Ok(match (self.query.filter.is_empty(), glance) {
            (_, Some(Glance::NoneBefore)) if direction == Direction::Descending => Rest::default(),
            (true, _) => Rest { not_shown: left, not_looked_at: 0 },
            (false, _) => Rest { not_shown: 0, not_looked_at: left },
        })
    }

    /// Goes through all records twice as far as they are shown: in between, an entry is kept of each.
    fn sorted(&mut self, key: SortKey, direction: Direction) -> Result<Rest, Failure> {
        let limit = match self.query.limit {
            Limit::Most(most) => Limit::Most(most.saturating_sub(self.shown)),
            Limit::All => Limit::All,
        };
        let mut first = First::new(direction, limit).map_err(too_many)?;
        let listing = self.listing;
        for entry in listing.entries(Direction::Descending) {
            self.meet(&entry);
            let found = match entry.map(|entry| (self.query.filter.glance(&entry), entry)) {
                Err(error) => Err(error),
                Ok((Glance::NoneBefore, _)) => break,
                Ok((Glance::No, _)) => continue,
                Ok((Glance::Perhaps, entry)) => self.value(&entry, key).map(|value| value.map(|value| (value, entry))),
            };
            match found {
                Ok(Some((value, entry))) => first.add(value, entry).map_err(too_many)?,
                Ok(None) => {}
                Err(error) => (self.each)(Err(error))?,
            }
        }
        let not_shown = first.passed_over();
        for entry in first.in_order() {
            let found = self.admitted(&entry);
            self.show_found(found)?;
        }
        Ok(Rest { not_shown, not_looked_at: 0 })
    }

    fn meet(&mut self, entry: &Result<RecordEntry, StoreError>) {
        if let Ok(entry) = entry {
            self.met.meet_recorded(entry);
        }
    }

    fn show_found(&mut self, found: Result<Option<Listed>, StoreError>) -> Result<(), Failure> {
        match found {
            Ok(Some(listed)) => self.show(Found::Recorded(&listed)),
            Ok(None) => Ok(()),
            Err(error) => (self.each)(Err(error)),
        }
    }

    fn show(&mut self, found: Found<'_>) -> Result<(), Failure> {
        self.shown += 1;
        (self.each)(Ok(found))
    }

    /// The record of an entry with its events, if the filter admits it.
    fn admitted(&self, entry: &RecordEntry) -> Result<Option<Listed>, StoreError> {
        let Some(record) = self.admitted_record(entry)? else { return Ok(None) };
        let events = self.listing.events(entry)?;
        let listed = Listed::new(entry.record, record, events, self.met.standing(entry));
        Ok(self.stands_so(&listed)?.then_some(listed))
    }

    /// What the record of an entry is ordered by, if the filter admits it.
    fn value(&self, entry: &RecordEntry, key: SortKey) -> Result<Option<u64>, StoreError> {
        let Some(record) = self.admitted_record(entry)? else { return Ok(None) };
        let events = if self.query.filter.asks_for_standing() { self.listing.events(entry)? } else { Vec::new() };
        let listed = Listed::new(entry.record, record, events, self.met.standing(entry));
        Ok(self.stands_so(&listed)?.then(|| key.value(&listed.record)))
    }

    fn admitted_record(&self, entry: &RecordEntry) -> Result<Option<TaskRecord>, StoreError> {
        let filter = &self.query.filter;
        let is_admitted = |record: &TaskRecord| filter.admits_outcome(record.outcome) && filter.admits(record);
        Ok(self.listing.load(entry)?.filter(is_admitted))
    }

    fn stands_so(&self, listed: &Listed) -> Result<bool, StoreError> {
        Ok(self.query.filter.admits_standing(listed.state(), &listed.events) && self.has_path(&listed.record)?)
    }

    fn has_path(&self, record: &TaskRecord) -> Result<bool, StoreError> {
        let Some(change_set) = record.artifacts.change_set.filter(|_| self.query.filter.path.is_some()) else {
            return Ok(self.query.filter.path.is_none());
        };
        for line in self.ports.objects.changes(&change_set)? {
            let line = line.map_err(|source| StoreError {
                kind: StoreErrorKind::Damaged,
                operation: "read change set of",
                subject: record.task.to_string(),
                source,
            })?;
            if self.query.filter.admits_line(&line) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether a Task that is not over is listed. One that runs has no outcome yet.
fn admits_open(filter: &Filter, draft: &TaskRecord, state: TaskState) -> bool {
    let has_outcome = match state {
        TaskState::Interrupted => filter.admits_outcome(Outcome::Interruption),
        _ => filter.outcomes.is_empty(),
    };
    has_outcome && filter.admits(draft) && filter.admits_standing(state, &[])
}

fn too_many(error: TooMany) -> Failure {
    Failure::new(FailureKind::Usage, error.to_string())
        .with_hint("`--limit N` sorts any number and shows the first N; filters such as --since make them fewer")
}
