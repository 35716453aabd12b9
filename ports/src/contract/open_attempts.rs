//! What every implementation of [`OpenAttempts`] keeps.

use super::sample::{draft, noise, record};
use super::store::{StoreFixture, publish};
use crate::{Attempt, Flow, OpenAttempt, OpenAttempts, Role};
use libtest_mimic::{Failed, Trial};
use std::io::Write;

/// An empty Task Store whose attempts can be looked at.
pub trait OpenAttemptsFixture: StoreFixture {
    /// The look.
    fn open_attempts(&self) -> &dyn OpenAttempts;
}

type Case = fn(&dyn OpenAttemptsFixture) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("a_running_attempt_is_seen_with_its_newest_draft_and_notes", running_is_seen),
    ("an_abandoned_attempt_is_seen_as_not_running_and_left_alone", abandoned_is_left_alone),
    ("a_published_or_discarded_attempt_is_not_seen", ended_is_not_seen),
    ("a_follower_receives_every_byte_that_was_written", every_byte_is_received),
    ("a_follower_receives_the_timeline_before_what_it_tells_of", timeline_is_first),
    ("a_follower_that_wants_no_more_is_let_go", follower_is_let_go),
    ("waiting_ends_when_the_attempt_does", waiting_ends),
];

/// The suite, as tests of `name`. `fixture` is called once a case.
pub fn cases<F: OpenAttemptsFixture + 'static>(name: &str, fixture: fn() -> F) -> Vec<Trial> {
    let trial = |(case, run): &(&str, Case)| {
        let run = *run;
        Trial::test(format!("{name}::open_attempts::{case}"), move || run(&fixture()))
    };
    CASES.iter().map(trial).collect()
}

fn only(fixture: &dyn OpenAttemptsFixture) -> Result<Box<dyn OpenAttempt>, Failed> {
    let mut seen = fixture.open_attempts().look()?;
    assert_eq!(seen.len(), 1, "open attempts");
    Ok(seen.remove(0))
}

fn running_is_seen(fixture: &dyn OpenAttemptsFixture) -> Result<(), Failed> {
    let mut attempt = fixture.attempts().begin(&draft(1))?;
    attempt.update(&draft(2))?;
    attempt.note("workspace", b"\0state\xff")?;
    let seen = only(fixture)?;
    assert!(seen.is_running());
    assert_eq!(seen.draft(), &draft(2));
    assert_eq!(seen.noted("workspace"), Some(&b"\0state\xff"[..]));
    assert_eq!(seen.noted("other"), None);
    attempt.discard()?;
    Ok(())
}

fn abandoned_is_left_alone(fixture: &dyn OpenAttemptsFixture) -> Result<(), Failed> {
    drop(fixture.attempts().begin(&draft(1))?);
    let seen = only(fixture)?;
    assert!(!seen.is_running());
    assert_eq!(seen.draft(), &draft(1));
    seen.wait()?;
    drop(seen);
    assert_eq!(fixture.attempts().abandoned()?.len(), 1);
    Ok(())
}

fn ended_is_not_seen(fixture: &dyn OpenAttemptsFixture) -> Result<(), Failed> {
    publish(fixture, &record(1))?;
    fixture.attempts().begin(&draft(2))?.discard()?;
    assert!(fixture.open_attempts().look()?.is_empty());
    Ok(())
}

fn write(attempt: &dyn Attempt, role: Role, bytes: &[u8]) -> Result<(), Failed> {
    let mut output = attempt.stage(role)?;
    for chunk in bytes.chunks(50_000) {
        output.write_all(chunk)?;
    }
    Ok(())
}

fn every_byte_is_received(fixture: &dyn OpenAttemptsFixture) -> Result<(), Failed> {
    let (said, complained) = (noise(1, (3 << 20) + 4321), noise(2, 70_000));
    let attempt = fixture.attempts().begin(&draft(1))?;
    let seen = only(fixture)?;
    let (mut out, mut err) = (Vec::new(), Vec::new());
    std::thread::scope(|scope| {
        let follower = scope.spawn(|| {
            seen.follow(&mut |role, bytes| {
                if role == Role::Stdout { &mut out } else { &mut err }.extend_from_slice(bytes);
                Flow::Continue
            })
        });
        write(&*attempt, Role::Stdout, &said)?;
        write(&*attempt, Role::Stderr, &complained)?;
        drop(attempt);
        Ok::<_, Failed>(follower.join().map_err(|_| "the follower panicked")??)
    })?;
    assert!(out == said, "{} bytes of standard output instead of {}", out.len(), said.len());
    assert!(err == complained, "{} bytes of standard error instead of {}", err.len(), complained.len());
    Ok(())
}

fn timeline_is_first(fixture: &dyn OpenAttemptsFixture) -> Result<(), Failed> {
    let attempt = fixture.attempts().begin(&draft(1))?;
    write(&*attempt, Role::Timeline, b"when")?;
    write(&*attempt, Role::Stderr, b"complained")?;
    drop(attempt);
    let mut received = Vec::new();
    only(fixture)?.follow(&mut |role, bytes| {
        received.push((role, bytes.to_vec()));
        Flow::Continue
    })?;
    assert_eq!(received, [(Role::Timeline, b"when".to_vec()), (Role::Stderr, b"complained".to_vec())]);
    Ok(())
}

fn follower_is_let_go(fixture: &dyn OpenAttemptsFixture) -> Result<(), Failed> {
    let attempt = fixture.attempts().begin(&draft(1))?;
    let mut output = attempt.stage(Role::Stdout)?;
    output.write_all(b"said")?;
    drop((output, attempt));
    let mut calls = 0;
    only(fixture)?.follow(&mut |_, _| {
        calls += 1;
        Flow::Closed
    })?;
    assert_eq!(calls, 1);
    Ok(())
}

fn waiting_ends(fixture: &dyn OpenAttemptsFixture) -> Result<(), Failed> {
    let attempt = fixture.attempts().begin(&draft(1))?;
    let seen = only(fixture)?;
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| seen.wait());
        attempt.discard()?;
        Ok::<_, Failed>(waiting.join().map_err(|_| "the wait panicked")??)
    })?;
    assert!(fixture.open_attempts().look()?.is_empty());
    Ok(())
}
