//! What every implementation of [`RecordLog`](crate::RecordLog) keeps.

use super::sample::{draft, noise, promoted, record, rejected};
use super::store::{Case, StoreFixture, cases_of, publish, staged};
use crate::{AppendError, Role, StoreErrorKind};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::record::{RecordEntry, TaskArtifacts, TaskRecord};
use libtest_mimic::{Failed, Trial};

const CASES: &[(&str, Case)] = &[
    ("a_published_record_is_loaded_as_it_was_and_listed", published_is_loaded),
    ("an_unknown_digest_loads_nothing", unknown_is_none),
    ("the_bytes_of_a_record_have_its_digest", bytes_have_the_digest),
    ("listing_is_newest_first", listing_is_newest_first),
    ("an_empty_store_lists_nothing", empty_lists_nothing),
    ("a_record_that_refers_to_what_was_never_staged_is_refused_and_its_attempt_is_left", refused_is_left),
    ("a_record_that_was_published_twice_with_equal_bytes_is_the_same_record", published_twice),
    ("two_attempts_of_a_task_are_two_records", two_attempts),
    ("events_come_oldest_first_and_only_those_of_the_subject", events_in_order),
    ("an_event_that_does_not_follow_the_newest_one_is_stale", stale_is_refused),
    ("of_two_events_at_once_one_wins", one_event_wins),
    ("eight_threads_that_publish_at_once_lose_nothing", concurrent_publishing),
    ("a_damaged_record_is_an_error", damaged_is_an_error),
    ("a_damaged_record_costs_no_other", damaged_costs_no_other),
];

/// The suite, as tests of `name`. `fixture` is called once a case.
pub fn cases<F: StoreFixture + 'static>(name: &str, fixture: fn() -> F) -> Vec<Trial> {
    cases_of(name, "record_log", CASES, fixture)
}

fn list(fixture: &dyn StoreFixture) -> Result<Vec<RecordEntry>, Failed> {
    Ok(fixture.records().list()?.collect::<Result<_, _>>()?)
}

fn listed_ids(fixture: &dyn StoreFixture) -> Result<Vec<ContentId>, Failed> {
    Ok(list(fixture)?.iter().map(|entry| entry.record).collect())
}

fn published_is_loaded(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    let id = publish(fixture, &record(1))?;
    assert_eq!(fixture.records().load(&id)?, Some(record(1)));
    let [entry] = list(fixture)?[..] else { return Err("not one entry".into()) };
    assert_eq!((entry.task, entry.attempt, entry.record), (record(1).task, 1, id));
    Ok(())
}

fn bytes_have_the_digest(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    let id = publish(fixture, &record(1))?;
    let event = fixture.records().append(&rejected(1, id, None))?;
    for id in [id, event] {
        let bytes = fixture.records().bytes(&id)?.ok_or("there are no bytes")?;
        assert_eq!(ContentId::new(*blake3::hash(&bytes).as_bytes()), id);
    }
    assert_eq!(fixture.records().bytes(&ContentId::new([7; 32]))?, None);
    Ok(())
}

fn unknown_is_none(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    publish(fixture, &record(1))?;
    assert_eq!(fixture.records().load(&ContentId::new([7; 32]))?, None);
    assert_eq!(fixture.records().events(&ContentId::new([7; 32]))?, []);
    Ok(())
}

fn listing_is_newest_first(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    let mut ids = (0..5).map(|n| publish(fixture, &record(n))).collect::<Result<Vec<_>, _>>()?;
    ids.reverse();
    assert_eq!(listed_ids(fixture)?, ids);
    Ok(())
}

fn empty_lists_nothing(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    assert_eq!(list(fixture)?, []);
    Ok(())
}

fn refused_is_left(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    let attempt = fixture.attempts().begin(&draft(1))?;
    staged(&*attempt, Role::Stdout, b"staged")?;
    let missing = Some(ContentRef { id: ContentId::new([7; 32]), length: 7 });
    let artifacts = TaskArtifacts { stdout: missing, ..TaskArtifacts::default() };
    let refused = fixture.records().publish(attempt, &TaskRecord { artifacts, ..record(1) });
    assert!(refused.is_err());
    assert_eq!(list(fixture)?, []);
    let mut left = fixture.attempts().abandoned()?;
    assert_eq!(left.len(), 1);
    let left = left.remove(0);
    assert_eq!(left.draft(), &draft(1));
    assert_eq!(left.salvage(Role::Stdout)?.map(|content| content.length), Some(6));
    Ok(())
}

fn published_twice(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    let id = publish(fixture, &record(1))?;
    publish(fixture, &record(2))?;
    assert_eq!(publish(fixture, &record(1))?, id);
    assert_eq!(listed_ids(fixture)?.iter().filter(|listed| **listed == id).count(), 1);
    assert!(fixture.attempts().abandoned()?.is_empty());
    Ok(())
}

fn two_attempts(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    let first = publish(fixture, &record(1))?;
    let second = publish(fixture, &TaskRecord { attempt: 2, parents: vec![first], ..record(1) })?;
    assert_eq!(listed_ids(fixture)?, [second, first]);
    Ok(())
}

fn events_in_order(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    let (subject, other) = (publish(fixture, &record(1))?, publish(fixture, &record(2))?);
    // The clock was put back between the two.
    let first = fixture.records().append(&rejected(9, subject, None))?;
    fixture.records().append(&rejected(2, other, None))?;
    let second = fixture.records().append(&promoted(1, subject, Some(first)))?;
    let events = fixture.records().events(&subject)?;
    assert_eq!(events.iter().map(|stored| stored.id).collect::<Vec<_>>(), [first, second]);
    assert_eq!(events[1].event, promoted(1, subject, Some(first)));
    assert_eq!(listed_ids(fixture)?, [other, subject], "events are no records");
    Ok(())
}

fn stale_is_refused(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    let subject = publish(fixture, &record(1))?;
    let first = fixture.records().append(&rejected(1, subject, None))?;
    for previous in [None, Some(subject)] {
        match fixture.records().append(&promoted(2, subject, previous)) {
            Err(AppendError::Stale { newest }) => assert_eq!(newest, Some(first)),
            other => return Err(format!("{other:?}").into()),
        }
    }
    assert_eq!(fixture.records().events(&subject)?.len(), 1);
    Ok(())
}

fn one_event_wins(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    let subject = publish(fixture, &record(1))?;
    let append = |n| fixture.records().append(&promoted(n, subject, None));
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|n| scope.spawn(move || append(n))).collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    });
    let won = outcomes.iter().filter(|outcome| matches!(outcome, Ok(Ok(_)))).count();
    let stale = outcomes.iter().filter(|outcome| matches!(outcome, Ok(Err(AppendError::Stale { .. })))).count();
    assert_eq!((won, stale), (1, 3), "{outcomes:?}");
    assert_eq!(fixture.records().events(&subject)?.len(), 1);
    Ok(())
}

fn concurrent_publishing(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    let work = |thread: u64| -> Result<(), Failed> {
        for n in 0..10 {
            let n = thread * 100 + n;
            let attempt = fixture.attempts().begin(&draft(n))?;
            let stdout = Some(staged(&*attempt, Role::Stdout, &noise(n % 7, 3000))?);
            let artifacts = TaskArtifacts { stdout, ..TaskArtifacts::default() };
            fixture.records().publish(attempt, &TaskRecord { artifacts, ..record(n) })?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|thread| scope.spawn(move || work(thread))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?)
    })?;
    let mut tasks = Vec::new();
    for id in listed_ids(fixture)? {
        tasks.push(fixture.records().load(&id)?.ok_or("a listed record is not there")?.task);
    }
    tasks.sort();
    let expected: Vec<_> = (0..8).flat_map(|t| (0..10).map(move |n| record(t * 100 + n).task)).collect();
    assert_eq!(tasks, expected);
    Ok(())
}

/// Publishes three records and damages the second.
fn damaged(fixture: &dyn StoreFixture) -> Result<Vec<ContentId>, Failed> {
    let ids = (0..3).map(|n| publish(fixture, &record(n))).collect::<Result<Vec<_>, _>>()?;
    fixture.damage(&ids[1]);
    Ok(ids)
}

fn damaged_is_an_error(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    let ids = damaged(fixture)?;
    let refused = fixture.records().load(&ids[1]).err().map(|error| error.kind);
    assert_eq!(refused, Some(StoreErrorKind::Damaged));
    Ok(())
}

fn damaged_costs_no_other(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    let ids = damaged(fixture)?;
    for n in [0, 2] {
        assert_eq!(fixture.records().load(&ids[n])?, Some(record(n as u64)));
    }
    let listed: Vec<_> = fixture.records().list()?.filter_map(Result::ok).map(|entry| entry.record).collect();
    assert!(listed.contains(&ids[0]) && listed.contains(&ids[2]), "{listed:?}");
    Ok(())
}
