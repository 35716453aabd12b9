//! What every implementation of [`Attempts`] keeps.

use super::sample::{draft, noise, record};
use super::store::{Case, StoreFixture, cases_of, publish, read, staged};
use crate::{Attempt, Attempts, Publishing, Role, StoreErrorKind};
use isobox_domain::record::{TaskArtifacts, TaskRecord};
use libtest_mimic::{Failed, Trial};
use std::io::Write;

const CASES: &[(&str, Case)] = &[
    ("a_dropped_attempt_is_found_with_its_draft_its_notes_and_its_outputs", dropped_is_found),
    ("a_running_attempt_is_not_found", running_is_not_found),
    ("a_published_or_discarded_attempt_is_not_found", ended_is_not_found),
    ("what_became_of_a_record_is_told_until_its_attempt_is_discarded", published_is_told),
    ("an_abandoned_attempt_is_received_once_and_again_only_when_dropped", received_once),
    ("eight_threads_that_look_at_once_receive_every_abandoned_attempt_once", received_by_one_thread),
    ("nothing_staged_is_visible_before_its_record_is_published", staged_is_invisible),
    ("the_newest_draft_and_the_newest_note_count", newest_counts),
    ("output_of_several_pieces_is_salvaged_byte_for_byte", pieces_are_salvaged),
    ("output_that_was_finished_is_salvaged_too", finished_is_salvaged),
    ("what_was_never_written_is_not_salvaged", nothing_is_salvaged),
    ("a_salvaged_attempt_is_published_as_an_interruption", salvaged_is_published),
    ("every_role_but_file_is_staged_at_most_once", roles_are_staged_once),
    ("more_room_than_there_is_counts_as_full", no_room_is_full),
];

/// The suite, as tests of `name`. `fixture` is called once a case.
pub fn cases<F: StoreFixture + 'static>(name: &str, fixture: fn() -> F) -> Vec<Trial> {
    cases_of(name, "attempts", CASES, fixture)
}

fn only(attempts: &dyn Attempts) -> Result<Box<dyn Attempt>, Failed> {
    let mut found = attempts.abandoned()?;
    assert_eq!(found.len(), 1, "abandoned attempts");
    Ok(found.remove(0))
}

fn dropped_is_found(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    let mut attempt = fixture.attempts().begin(&draft(1))?;
    attempt.note("workspace", b"\0state\xff")?;
    attempt.stage(Role::Stdout)?.write_all(b"said\n")?;
    drop(attempt);
    let found = only(fixture.attempts())?;
    assert_eq!(found.draft(), &draft(1));
    assert_eq!(found.noted("workspace")?, Some(b"\0state\xff".to_vec()));
    assert_eq!(found.noted("other")?, None);
    let said = found.salvage(Role::Stdout)?;
    assert_eq!(said.map(|said| said.length), Some(5));
    Ok(())
}

fn running_is_not_found(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    let attempt = fixture.attempts().begin(&draft(1))?;
    assert!(fixture.attempts().abandoned()?.is_empty());
    drop(attempt);
    only(fixture.attempts()).map(drop)
}

fn ended_is_not_found(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    publish(fixture, &record(1))?;
    fixture.attempts().begin(&draft(2))?.discard()?;
    assert!(fixture.attempts().abandoned()?.is_empty());
    Ok(())
}

fn published_is_told(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    drop(fixture.attempts().begin(&draft(1))?);
    let unpublished = only(fixture.attempts())?;
    assert_eq!(unpublished.publishing(), None);
    unpublished.discard()?;
    let mut attempt = fixture.attempts().begin(&draft(2))?;
    attempt.note("workspace", b"state")?;
    let (id, attempt) = fixture.records().publish_keeping(attempt, &record(2))?;
    assert_eq!(fixture.records().load(&id)?, Some(record(2)));
    assert!(fixture.attempts().abandoned()?.is_empty(), "its process lives");
    drop(attempt);
    let left = only(fixture.attempts())?;
    assert_eq!((left.publishing(), left.noted("workspace")?), (Some(Publishing::Done(id)), Some(b"state".to_vec())));
    left.discard()?;
    assert!(fixture.attempts().abandoned()?.is_empty());
    Ok(())
}

fn received_once(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    drop(fixture.attempts().begin(&draft(1))?);
    let found = only(fixture.attempts())?;
    assert!(fixture.attempts().abandoned()?.is_empty(), "received twice");
    drop(found);
    only(fixture.attempts())?.discard()?;
    assert!(fixture.attempts().abandoned()?.is_empty(), "received after it was discarded");
    Ok(())
}

fn received_by_one_thread(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    for n in 0..20 {
        drop(fixture.attempts().begin(&draft(n))?);
    }
    let look = || fixture.attempts().abandoned().map(|found| (found.len(), found));
    let looked: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(look)).collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    });
    let mut tasks = Vec::new();
    for found in looked {
        let (_, found) = found.map_err(|_| "a thread panicked")??;
        tasks.extend(found.iter().map(|attempt| attempt.draft().task));
        // Kept until all have looked, so that nobody finds what another one has dropped again.
        std::mem::forget(found);
    }
    tasks.sort();
    assert_eq!(tasks, (0..20).map(|n| draft(n).task).collect::<Vec<_>>());
    Ok(())
}

fn staged_is_invisible(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    let attempt = fixture.attempts().begin(&draft(1))?;
    let small = staged(&*attempt, Role::Stdout, b"small")?;
    let large = staged(&*attempt, Role::Stderr, &noise(1, 2 << 20))?;
    for content in [small, large] {
        assert!(read(fixture, &content)?.is_none());
    }
    let artifacts = TaskArtifacts { stdout: Some(small), stderr: Some(large), ..TaskArtifacts::default() };
    fixture.records().publish(attempt, &TaskRecord { artifacts, ..record(1) })?;
    assert_eq!(read(fixture, &small)?, Some(b"small".to_vec()));
    assert_eq!(read(fixture, &large)?, Some(noise(1, 2 << 20)));
    Ok(())
}

fn newest_counts(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    let mut attempt = fixture.attempts().begin(&draft(1))?;
    let second = TaskRecord { warnings: vec!["started".into()], ..draft(1) };
    attempt.note("place", b"first")?;
    attempt.update(&second)?;
    attempt.note("place", b"second")?;
    assert_eq!(attempt.draft(), &second);
    drop(attempt);
    let found = only(fixture.attempts())?;
    assert_eq!((found.draft(), found.noted("place")?), (&second, Some(b"second".to_vec())));
    Ok(())
}

fn pieces_are_salvaged(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    let written = noise(2, (2 << 20) + 12_345);
    let attempt = fixture.attempts().begin(&draft(1))?;
    let mut output = attempt.stage(Role::Stdout)?;
    for chunk in written.chunks(50_000) {
        output.write_all(chunk)?;
    }
    drop((output, attempt));
    assert_salvaged(fixture, &written)
}

fn finished_is_salvaged(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    let attempt = fixture.attempts().begin(&draft(1))?;
    let content = staged(&*attempt, Role::Stdout, b"said and done")?;
    drop(attempt);
    assert_salvaged(fixture, b"said and done")?;
    let written = noise(3, 1 << 20);
    let attempt = fixture.attempts().begin(&draft(2))?;
    let large = staged(&*attempt, Role::Stdout, &written)?;
    drop(attempt);
    assert_ne!(content, large);
    assert_salvaged(fixture, &written)
}

fn assert_salvaged(fixture: &dyn StoreFixture, written: &[u8]) -> Result<(), Failed> {
    let found = only(fixture.attempts())?;
    let stdout = found.salvage(Role::Stdout)?;
    let draft = found.draft().clone();
    fixture
        .records()
        .publish(found, &TaskRecord { artifacts: TaskArtifacts { stdout, ..draft.artifacts }, ..draft })?;
    let stdout = stdout.ok_or("nothing was salvaged")?;
    assert!(read(fixture, &stdout)?.as_deref() == Some(written), "other bytes were salvaged");
    Ok(())
}

fn nothing_is_salvaged(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    let attempt = fixture.attempts().begin(&draft(1))?;
    drop((attempt.stage(Role::Stderr)?, attempt));
    let found = only(fixture.attempts())?;
    assert_eq!((found.salvage(Role::Stdout)?, found.salvage(Role::Stderr)?), (None, None));
    Ok(())
}

fn salvaged_is_published(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    let attempt = fixture.attempts().begin(&draft(1))?;
    attempt.stage(Role::Stderr)?.write_all(b"last words")?;
    drop(attempt);
    let found = only(fixture.attempts())?;
    let stderr = found.salvage(Role::Stderr)?;
    let last = TaskRecord { artifacts: TaskArtifacts { stderr, ..TaskArtifacts::default() }, ..draft(1) };
    let id = fixture.records().publish(found, &last)?;
    assert_eq!(fixture.records().load(&id)?, Some(last));
    assert!(fixture.attempts().abandoned()?.is_empty());
    Ok(())
}

fn roles_are_staged_once(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    let attempt = fixture.attempts().begin(&draft(1))?;
    for role in
        [Role::Stdout, Role::Stderr, Role::Timeline, Role::Patch, Role::WorkspaceGit, Role::V1Record, Role::V1Files]
    {
        staged(&*attempt, role, b"once")?;
        assert!(attempt.stage(role).is_err(), "{role:?}");
    }
    assert_ne!(staged(&*attempt, Role::File, b"one")?, staged(&*attempt, Role::File, b"another")?);
    let _sink = attempt.capture_sink()?;
    assert!(attempt.capture_sink().is_err());
    Ok(())
}

fn no_room_is_full(fixture: &dyn StoreFixture) -> Result<(), Failed> {
    fixture.attempts().probe(1)?;
    let refused = fixture.attempts().probe(u64::MAX).err().map(|error| error.kind);
    assert_eq!(refused, Some(StoreErrorKind::Full));
    Ok(())
}
