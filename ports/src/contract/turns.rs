//! What every implementation of [`Turns`](crate::Turns) keeps.

use super::open_attempts::OpenAttemptsFixture;
use super::sample::draft;
use crate::{Room, StoreError, Turns};
use libtest_mimic::{Failed, Trial};
use std::sync::Barrier;
use std::sync::mpsc::channel;

/// An empty Task Store in which attempts begin in turn.
pub trait TurnsFixture: OpenAttemptsFixture {
    /// The turns.
    fn turns(&self) -> &dyn Turns;
}

type Case = fn(&(dyn TurnsFixture + Sync)) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("eight_threads_that_begin_at_once_never_run_more_than_there_is_room_for", no_more_than_there_is_room_for),
    ("where_there_is_no_room_nothing_is_begun", nothing_is_begun),
    ("whoever_asks_sees_what_is_open_and_whether_somebody_waits", what_is_open_is_seen),
    ("the_head_of_the_queue_is_one_at_a_time", one_at_the_head),
];

/// The suite, as tests of `name`. `fixture` is called once a case.
pub fn cases<F: TurnsFixture + Sync + 'static>(name: &str, fixture: fn() -> F) -> Vec<Trial> {
    let trial = |(case, run): &(&str, Case)| {
        let run = *run;
        Trial::test(format!("{name}::turns::{case}"), move || run(&fixture()))
    };
    CASES.iter().map(trial).collect()
}

fn running(room: &Room<'_>) -> usize {
    room.open.iter().filter(|attempt| attempt.is_running()).count()
}

fn no_more_than_there_is_room_for(fixture: &(dyn TurnsFixture + Sync)) -> Result<(), Failed> {
    const MOST: usize = 3;
    let all_are_there = Barrier::new(8);
    let has_room = |room: &Room<'_>| {
        let has_room = running(room) < MOST;
        // Time enough for all others to ask as well, if nothing keeps them.
        (0..1000).for_each(|_| std::thread::yield_now());
        has_room
    };
    let begin = |n| {
        all_are_there.wait();
        let begun = fixture.turns().begin_if(&draft(n), &mut { has_room });
        begun.map(|begun| (begun.is_some(), begun))
    };
    let begun: Vec<_> = std::thread::scope(|scope| {
        let begin = &begin;
        let threads: Vec<_> = (0..8).map(|n| scope.spawn(move || begin(n))).collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    });
    let mut kept = Vec::new();
    for begun in begun {
        let begun: Result<_, StoreError> = begun.map_err(|_| "a thread panicked")?;
        kept.extend(begun?.1);
    }
    assert_eq!(kept.len(), MOST);
    kept.pop().ok_or("none was begun")?.discard()?;
    let again = fixture.turns().begin_if(&draft(9), &mut |room| running(room) < MOST)?;
    assert!(again.is_some(), "there was room again");
    Ok(())
}

fn nothing_is_begun(fixture: &(dyn TurnsFixture + Sync)) -> Result<(), Failed> {
    assert!(fixture.turns().begin_if(&draft(1), &mut |_| false)?.is_none());
    assert!(fixture.open_attempts().look()?.is_empty());
    assert!(fixture.attempts().abandoned()?.is_empty());
    Ok(())
}

fn what_is_open_is_seen(fixture: &(dyn TurnsFixture + Sync)) -> Result<(), Failed> {
    let attempt = fixture.attempts().begin(&draft(1))?;
    let mut seen = Vec::new();
    let mut look = |room: &Room<'_>| {
        seen.push((room.open.iter().map(|open| open.draft().task).collect::<Vec<_>>(), room.is_queued_for));
        false
    };
    fixture.turns().begin_if(&draft(2), &mut look)?;
    let turn = fixture.turns().queue()?;
    fixture.turns().begin_if(&draft(2), &mut look)?;
    drop(turn);
    attempt.discard()?;
    fixture.turns().begin_if(&draft(2), &mut look)?;
    assert_eq!(seen, [(vec![draft(1).task], false), (vec![draft(1).task], true), (vec![], false)]);
    Ok(())
}

fn one_at_the_head(fixture: &(dyn TurnsFixture + Sync)) -> Result<(), Failed> {
    let first = fixture.turns().queue()?;
    let (told, heard) = channel();
    std::thread::scope(|scope| {
        let second = scope.spawn(move || {
            let turn = fixture.turns().queue()?;
            told.send("second").ok();
            drop(turn);
            Ok::<_, StoreError>(())
        });
        assert!(heard.try_recv().is_err(), "two at the head");
        drop(first);
        assert_eq!(heard.recv(), Ok("second"));
        Ok::<_, Failed>(second.join().map_err(|_| "the wait panicked")??)
    })
}
