//! Finding Tasks by what they are, in an order, and no more of them than are wanted.

use crate::failure::{Failure, FailureKind};
use crate::use_case::find::{Found, Ports, Query, Rest, find};
use isobox_domain::content::ContentId;
use isobox_domain::listing::{CommandPattern, Direction, Filter, First, Limit, Order, PromotionWanted, SortKey};
use isobox_domain::outcome::Outcome;
use isobox_domain::record::{RecordEntry, RecordedArgument, TaskRecord};
use isobox_domain::task_id::TaskId;
use isobox_domain::task_state::TaskState;
use isobox_domain::timestamp::Timestamp;
use isobox_ports::contract::sample::{draft, promoted, record, rejected};
use isobox_ports::fake::InMemoryStore;
use isobox_ports::{
    Attempt, Attempts, Entries, Listing, Listings, OpenAttempt, OpenAttempts, RecordLog, StoreError, StoreErrorKind,
    StoredEvent,
};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// A store that counts the records that are read, and in which something happens after the attempts were looked at.
struct Watched {
    inner: InMemoryStore,
    loads: AtomicU64,
    /// Ends as the 20th Task.
    ending: Mutex<Option<Box<dyn Attempt>>>,
    /// The row of this Task cannot be read.
    unreadable: Option<u64>,
}

struct WatchedListing<'a> {
    inner: Box<dyn Listing + 'a>,
    loads: &'a AtomicU64,
    unreadable: Option<u64>,
}

impl Watched {
    fn new(inner: InMemoryStore) -> Self {
        Self { inner, loads: AtomicU64::new(0), ending: Mutex::default(), unreadable: None }
    }
}

impl OpenAttempts for Watched {
    fn look(&self) -> Result<Vec<Box<dyn OpenAttempt>>, StoreError> {
        let seen = self.inner.look();
        if let Some(attempt) = self.ending.lock().expect("no panic").take() {
            self.inner.publish(attempt, &record(20))?;
        }
        seen
    }
}

impl Listings for Watched {
    fn begin_listing(&self) -> Result<Box<dyn Listing + '_>, StoreError> {
        let inner = self.inner.begin_listing()?;
        Ok(Box::new(WatchedListing { inner, loads: &self.loads, unreadable: self.unreadable }))
    }
}

impl Listing for WatchedListing<'_> {
    fn count(&self) -> u64 {
        self.inner.count()
    }

    fn entries(&self, direction: Direction) -> Entries<'_> {
        Box::new(self.inner.entries(direction).map(|entry| match entry {
            Ok(entry) if self.unreadable == Some(number(entry.task)) => Err(unreadable()),
            entry => entry,
        }))
    }

    fn damage(&self) -> Vec<StoreError> {
        self.inner.damage()
    }

    fn load(&self, entry: &RecordEntry) -> Result<Option<TaskRecord>, StoreError> {
        self.loads.fetch_add(1, Ordering::Relaxed);
        self.inner.load(entry)
    }

    fn events(&self, entry: &RecordEntry) -> Result<Vec<StoredEvent>, StoreError> {
        self.inner.events(entry)
    }
}

fn unreadable() -> StoreError {
    StoreError {
        kind: StoreErrorKind::Damaged,
        operation: "list",
        subject: "a row".into(),
        source: "it is torn".into(),
    }
}

fn number(task: TaskId) -> u64 {
    u64::from_be_bytes(*task.as_bytes())
}

/// What is found, by the numbers of Tasks, and how many records are damaged.
fn found(watched: &Watched, query: &Query) -> Result<(Vec<u64>, u64, Rest), Failure> {
    let ports = Ports { listings: watched, attempts: watched, objects: &watched.inner };
    let (mut tasks, mut damaged) = (Vec::new(), 0);
    let rest = find(&ports, query, &mut |found| {
        match found {
            Ok(Found::Open(draft, _)) => tasks.push(number(draft.task)),
            Ok(Found::Recorded(listed)) => tasks.push(number(listed.record.task)),
            Err(_) => damaged += 1,
        }
        Ok(())
    })?;
    Ok((tasks, damaged, rest))
}

fn by(key: SortKey, direction: Direction, limit: Limit) -> Query {
    Query { filter: Filter::default(), order: Order { key, direction }, limit }
}

fn newest(filter: Filter, limit: Limit) -> Query {
    Query { filter, ..by(SortKey::Time, Direction::Descending, limit) }
}

fn publish(store: &InMemoryStore, record: &TaskRecord) -> ContentId {
    let attempt = store.begin(&draft(number(record.task))).expect("the fake begins");
    store.publish(attempt, record).expect("the fake publishes")
}

/// Ten Tasks, each shorter than the one before; the third and the seventh failed.
fn store() -> InMemoryStore {
    let store = InMemoryStore::default();
    for n in 0..10 {
        let ended_at = Timestamp::nearest(record(n).ended_at.unix_ms() + 1000 - 100 * n);
        let outcome = if n % 4 == 3 { Outcome::WorkloadCommandExit } else { Outcome::Success };
        let shown = format!("step-{n}").into_bytes();
        let command = vec![RecordedArgument { shown, masked_digest: None }];
        publish(&store, &TaskRecord { ended_at, outcome, command, ..record(n) });
    }
    store
}

fn is_found(query: &Query) -> (Vec<u64>, u64, Rest) {
    found(&Watched::new(store()), query).expect("nothing fails")
}

#[test]
fn a_limit_reads_no_more_records_than_it_shows() {
    for direction in [Direction::Descending, Direction::Ascending] {
        let watched = Watched::new(store());
        let (tasks, _, rest) = found(&watched, &by(SortKey::Time, direction, Limit::Most(3))).expect("nothing fails");
        let expected = if direction == Direction::Descending { [9, 8, 7] } else { [0, 1, 2] };
        assert_eq!((tasks.as_slice(), watched.loads.load(Ordering::Relaxed)), (&expected[..], 3));
        assert_eq!(rest, Rest { not_shown: 7, not_looked_at: 0 });
    }
    assert_eq!(is_found(&newest(Filter::default(), Limit::Most(10))).2, Rest::default());
}

#[test]
fn what_cannot_be_read_behind_the_limit_is_not_the_end() {
    let watched = Watched { unreadable: Some(6), ..Watched::new(store()) };
    let (tasks, damaged, rest) = found(&watched, &newest(Filter::default(), Limit::Most(3))).expect("nothing fails");
    assert_eq!((tasks, damaged, rest), (vec![9, 8, 7], 0, Rest { not_shown: 7, not_looked_at: 0 }));
}

#[test]
fn what_a_filter_was_not_asked_about_is_counted() {
    let filter = Filter { outcomes: vec![Outcome::WorkloadCommandExit], ..Filter::default() };
    assert_eq!(is_found(&newest(filter.clone(), Limit::All)), (vec![7, 3], 0, Rest::default()));
    let rest = Rest { not_shown: 0, not_looked_at: 7 };
    assert_eq!(is_found(&newest(filter, Limit::Most(1))), (vec![7], 0, rest));
}

#[test]
fn filters_are_all_asked() {
    let command = |text: &str| Filter { command: Some(CommandPattern::new(text)), ..Filter::default() };
    assert_eq!(is_found(&newest(command("tep-3"), Limit::All)).0, [3]);
    let none = Filter { outcomes: vec![Outcome::Success], ..command("tep-3") };
    assert_eq!(is_found(&newest(none, Limit::All)).0, Vec::<u64>::new());
    let times = Filter { since: Some(record(2).created_at), until: Some(record(4).created_at), ..Filter::default() };
    assert_eq!(is_found(&newest(times, Limit::All)).0, [4, 3, 2]);
}

#[test]
fn other_orders_show_the_largest_or_smallest_and_count_the_rest() {
    let (tasks, _, rest) = is_found(&by(SortKey::Duration, Direction::Descending, Limit::Most(2)));
    assert_eq!((tasks, rest), (vec![0, 1], Rest { not_shown: 8, not_looked_at: 0 }));
    assert_eq!(is_found(&by(SortKey::Duration, Direction::Ascending, Limit::Most(2))).0, [9, 8]);
    // Equals are told newest first.
    assert_eq!(is_found(&by(SortKey::Changes, Direction::Descending, Limit::Most(3))).0, [9, 8, 7]);
}

#[test]
fn more_than_can_be_sorted_is_refused_before_anything_is_shown() {
    let query = by(SortKey::Output, Direction::Descending, Limit::Most(First::<()>::MOST + 1));
    let refused = found(&Watched::new(store()), &query).expect_err("it is too many");
    assert_eq!(refused.kind, FailureKind::Usage);
}

#[test]
fn standing_is_that_of_the_newest_event_and_promotion_that_of_any() {
    let store = store();
    let id =
        |n| store.list().expect("the fake lists").flatten().find(|entry| number(entry.task) == n).map(|e| e.record);
    let (first, second) = (id(1).expect("it is there"), id(2).expect("it is there"));
    let promotion = store.append(&promoted(1, first, None)).expect("appended");
    store.append(&rejected(1, first, Some(promotion))).expect("appended");
    store.append(&promoted(2, second, None)).expect("appended");
    let watched = Watched::new(store);
    let tasks = |filter| found(&watched, &newest(filter, Limit::All)).expect("nothing fails").0;
    assert_eq!(tasks(Filter { states: vec![TaskState::Promoted], ..Filter::default() }), [2]);
    assert_eq!(tasks(Filter { promotion: Some(PromotionWanted::Promoted), ..Filter::default() }), [2, 1]);
    assert_eq!(tasks(Filter { promotion: Some(PromotionWanted::Unpromoted), ..Filter::default() }).len(), 8);
    assert_eq!(tasks(Filter { states: vec![TaskState::Rejected, TaskState::Promoted], ..Filter::default() }), [2, 1]);
}

#[test]
fn a_task_that_ends_while_it_is_looked_for_is_shown_once() {
    let store = store();
    let ending = Mutex::new(Some(store.begin(&draft(20)).expect("the fake begins")));
    let watched = Watched { ending, ..Watched::new(store) };
    let (tasks, ..) = found(&watched, &newest(Filter::default(), Limit::Most(2))).expect("found");
    assert_eq!(tasks, [20, 9]);
}

#[test]
fn what_runs_is_newest_and_has_no_outcome() {
    let store = store();
    let _running: Box<dyn Attempt> = store.begin(&draft(20)).expect("the fake begins");
    let watched = Watched::new(store);
    let tasks = |query: &Query| found(&watched, query).expect("nothing fails");
    assert_eq!(tasks(&newest(Filter::default(), Limit::Most(2))).0, [20, 9]);
    assert_eq!(tasks(&by(SortKey::Duration, Direction::Descending, Limit::Most(2))).0, [20, 0]);
    assert_eq!(tasks(&by(SortKey::Time, Direction::Ascending, Limit::All)).0.last(), Some(&20));
    let (oldest, _, rest) = tasks(&by(SortKey::Time, Direction::Ascending, Limit::Most(1)));
    assert_eq!((oldest, rest.not_shown), (vec![0], 10));
    let filter = Filter { outcomes: vec![Outcome::Interruption], ..Filter::default() };
    assert_eq!(tasks(&newest(filter, Limit::All)).0, Vec::<u64>::new());
}

#[test]
fn a_damaged_record_costs_its_own_row_alone() {
    let store = store();
    let id = store.list().expect("the fake lists").flatten().nth(1).expect("an entry").record;
    store.damage(&id);
    let watched = Watched::new(store);
    for key in [SortKey::Time, SortKey::Duration] {
        let (tasks, damaged, _) = found(&watched, &by(key, Direction::Descending, Limit::All)).expect("nothing fails");
        assert_eq!((tasks.len(), damaged), (9, 1), "{key:?}");
    }
}

#[test]
fn older_attempts_are_superseded_in_every_order_and_with_every_filter() {
    let store = store();
    for attempt in 2..4 {
        let begun = store.begin(&TaskRecord { attempt, ..draft(5) }).expect("the fake begins");
        store.publish(begun, &TaskRecord { attempt, ..record(5) }).expect("the fake publishes");
    }
    let watched = Watched::new(store);
    let standing = |query: &Query| {
        let ports = Ports { listings: &watched, attempts: &watched, objects: &watched.inner };
        let mut attempts = Vec::new();
        find(&ports, query, &mut |found| {
            if let Ok(Found::Recorded(listed)) = found
                && number(listed.record.task) == 5
            {
                attempts.push((listed.record.attempt, listed.state() == TaskState::Superseded));
            }
            Ok(())
        })
        .expect("nothing fails");
        attempts.sort_unstable();
        attempts
    };
    for key in [SortKey::Time, SortKey::Duration] {
        for direction in [Direction::Ascending, Direction::Descending] {
            let expected = [(1, true), (2, true), (3, false)];
            assert_eq!(standing(&by(key, direction, Limit::All)), expected, "{key:?} {direction:?}");
            let filter = Filter { states: vec![TaskState::Superseded], ..Filter::default() };
            let query = Query { filter, ..by(key, direction, Limit::All) };
            assert_eq!(standing(&query), expected[..2], "{key:?} {direction:?}");
        }
    }
}
