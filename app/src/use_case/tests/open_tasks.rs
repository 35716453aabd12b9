//! Naming Tasks that are not over.

use crate::failure::Failure;
use crate::use_case::fixture::clock;
use crate::use_case::open_tasks::{self, Meant, Ports};
use crate::use_case::recover::RECOVERY;
use isobox_domain::task_id::TaskId;
use isobox_ports::contract::sample::{draft, record};
use isobox_ports::fake::InMemoryStore;
use isobox_ports::{Attempts, RecordLog};

/// A store in which the Tasks 1 and 2 are on record.
fn store() -> InMemoryStore {
    let store = InMemoryStore::default();
    for n in [1, 2] {
        let attempt = store.begin(&draft(n)).expect("the fake begins");
        store.publish(attempt, &record(n)).expect("the fake publishes");
    }
    store
}

fn meant(store: &InMemoryStore, typed: &str) -> Result<(bool, TaskId), Failure> {
    let clock = clock();
    let ports = Ports { attempts: store, records: store, clock: &clock };
    let selector = crate::use_case::select::parse(typed)?;
    Ok(match open_tasks::select(&ports, &selector, typed)? {
        Meant::Open(attempt) => (true, attempt.draft().task),
        Meant::Recorded(selected) => (false, selected.record.task),
    })
}

fn look(store: &InMemoryStore) -> Vec<(TaskId, bool)> {
    let clock = clock();
    let ports = Ports { attempts: store, records: store, clock: &clock };
    let open = open_tasks::look(&ports).expect("the fake looks");
    open.iter().map(|attempt| (attempt.draft().task, open_tasks::is_running(&**attempt))).collect()
}

#[test]
fn latest_counts_tasks_that_are_not_over_first() {
    let store = store();
    let _running = store.begin(&draft(3)).expect("the fake begins");
    assert_eq!(meant(&store, "@latest").expect("found"), (true, draft(3).task));
    assert_eq!(meant(&store, "@latest~1").expect("found"), (false, record(2).task));
    assert_eq!(meant(&store, "@latest~2").expect("found"), (false, record(1).task));
    assert_eq!(meant(&store, &draft(3).task.to_string()).expect("found"), (true, draft(3).task));
    assert_eq!(meant(&store, &record(1).task.to_string()).expect("found"), (false, record(1).task));
    assert!(meant(&store, "@latest~3").is_err());
}

#[test]
fn what_is_on_record_is_not_open() {
    let store = store();
    let _published = store.begin(&draft(2)).expect("the fake begins");
    assert!(look(&store).is_empty());
}

#[test]
fn an_attempt_that_is_left_or_recovered_does_not_run() {
    let store = InMemoryStore::default();
    drop(store.begin(&draft(1)).expect("the fake begins"));
    assert_eq!(look(&store), [(draft(1).task, false)]);
    let mut taken_over = store.abandoned().expect("the fake looks").remove(0);
    assert_eq!(look(&store), [(draft(1).task, true)]);
    taken_over.note(RECOVERY, b"").expect("the fake notes");
    assert_eq!(look(&store), [(draft(1).task, false)]);
}
