//! The n-th change of the file system fails, for each n: the repository is as it was, or finished.

use super::fixture::{Fixture, RECEIPT, apply, everything};
use crate::fault::testing::{Fault, forget, plan};
use isobox_domain::git_oid::GitOid;
use isobox_ports::{ApplyError, Landing, Route, TrustedRepository};
use nix::libc::{EIO, ENOSPC, EXDEV};

fn each_operation_fails(route: &Route, fault: Fault) {
    let (template, set) = everything();
    each_operation_on_the_way_fails(&template, &set, route, fault);
}

/// The same where a commit is made.
fn each_operation_of_a_commit_fails(fault: Fault) {
    let (template, set) = everything();
    for route in [Route::Commit, template.to_a_branch()] {
        each_operation_on_the_way_fails(&template, &set, &route, fault);
    }
}

fn each_operation_on_the_way_fails(template: &Fixture, set: &super::fixture::ChangeSet, route: &Route, fault: Fault) {
    let state = |fixture: &Fixture| (fixture.tree(), fixture.references());
    let finished = template.copy();
    finished.promote(set, route).expect("it is promoted");
    let after = state(&finished);
    for at in 0.. {
        let fixture = template.copy();
        let (before, index_before) = (state(&fixture), fixture.index());
        // Taking the lock comes first, outside of the loop: its faults are those of looking.
        let repository = fixture.repository();
        let (head, _) = repository.head().expect("a commit");
        let mut promotion = repository.begin_promotion().expect("the lock");
        plan(at, fault);
        let applied = apply(&mut *promotion, &head, set, route);
        let finished = applied.is_ok().then(|| promotion.finish());
        let was_hit = forget();
        drop(promotion);
        match (&applied, &finished) {
            (Ok(_), Some(Ok(()))) => assert_eq!(state(&fixture), after, "step {at}"),
            (Ok(_), _) => {
                assert_eq!(state(&fixture), after, "step {at}");
                fixture.settle();
                assert_eq!(state(&fixture), after, "step {at}, settled");
            }
            (Err(ApplyError::Unsettled { .. }), _) => {
                let unfinished = fixture.settle();
                let expected = if unfinished.is_some() { &after } else { &before };
                assert_eq!(&state(&fixture), expected, "step {at}, settled");
                assert!(unfinished.is_none_or(|unfinished| unfinished.receipt == RECEIPT), "step {at}");
                if expected == &before {
                    assert_eq!(fixture.index(), index_before, "step {at}");
                }
            }
            (Err(error), _) => {
                assert_eq!(state(&fixture), before, "step {at}: {error}");
                assert_eq!(fixture.index(), index_before, "step {at}: {error}");
                fixture.settle();
                assert_eq!(state(&fixture), before, "step {at}, settled");
            }
        }
        fixture.assert_nothing_is_left();
        if !was_hit {
            assert!(at > 25, "only {at} steps were counted");
            return;
        }
    }
}

/// A Promotion is taken back, and the n-th operation of that fails: it is taken back, or stands.
fn each_operation_of_taking_back_fails(route: fn(&Fixture) -> Route, fault: Fault) {
    let (template, set) = everything();
    let route = &route(&template);
    let state = |fixture: &Fixture| (fixture.tree(), fixture.references());
    let before = state(&template);
    for at in 0.. {
        let fixture = template.copy();
        let (start, _) = fixture.repository().head().expect("a commit");
        fixture.promote(&set, route).expect("it is promoted");
        let after = state(&fixture);
        let repository = fixture.repository();
        let mut promotion = repository.begin_promotion().expect("the lock");
        let (head, _) = repository.head().expect("a commit");
        let made = match route {
            Route::Branch { name, .. } => {
                let name = String::from_utf8(name.clone()).expect("UTF-8");
                Some(GitOid::from_hex(fixture.git(&["rev-parse", &name]).trim()).expect("a commit"))
            }
            _ => (*route == Route::Commit).then_some(start),
        };
        let made = made.as_ref();
        plan(at, fault);
        let applied = promotion.take_back(Landing { route, made, head: Some(&head) }, b"undone");
        let finished = applied.is_ok().then(|| promotion.finish());
        let was_hit = forget();
        drop(promotion);
        let settled = fixture.settle();
        match (applied, finished) {
            (Ok(_), Some(_)) => assert_eq!(state(&fixture), before, "step {at}"),
            (Err(ApplyError::Unsettled { .. }), _) => {
                let expected = if settled.is_some() { &before } else { &after };
                assert_eq!(&state(&fixture), expected, "step {at}");
            }
            _ => assert_eq!(state(&fixture), after, "step {at}"),
        }
        fixture.assert_nothing_is_left();
        if !was_hit {
            return assert!(at > 15, "only {at} steps were counted");
        }
    }
}

#[test]
fn a_branch_is_removed_or_stands_whichever_operation_fails() {
    each_operation_of_taking_back_fails(Fixture::to_a_branch, Fault::FailOnce(EIO));
    each_operation_of_taking_back_fails(Fixture::to_a_branch, Fault::FailFromHere(ENOSPC));
}

#[test]
fn a_promotion_is_taken_back_or_stands_whichever_operation_fails() {
    each_operation_of_taking_back_fails(|_| Route::Files, Fault::FailOnce(EIO));
    each_operation_of_taking_back_fails(|_| Route::Commit, Fault::FailFromHere(ENOSPC));
}

#[test]
fn a_repository_is_whole_whichever_operation_fails() {
    each_operation_fails(&Route::Files, Fault::FailOnce(EIO));
}

#[test]
fn a_repository_is_whole_whichever_operation_fails_while_staging() {
    each_operation_fails(&Route::Index, Fault::FailOnce(EIO));
}

#[test]
fn a_repository_is_whole_whichever_operation_fails_while_a_commit_is_made() {
    each_operation_of_a_commit_fails(Fault::FailOnce(EIO));
}

#[test]
fn a_repository_is_settled_whenever_the_disk_stops_to_work_while_a_commit_is_made() {
    each_operation_of_a_commit_fails(Fault::FailFromHere(EIO));
    each_operation_of_a_commit_fails(Fault::FailAgain(EIO, 3));
}

#[test]
fn a_repository_is_settled_whenever_the_disk_stops_to_work() {
    each_operation_fails(&Route::Files, Fault::FailFromHere(EIO));
}

#[test]
fn a_repository_is_settled_whenever_the_disk_is_full() {
    each_operation_fails(&Route::Index, Fault::FailFromHere(ENOSPC));
}

#[test]
fn a_repository_is_settled_whenever_undoing_a_failure_fails_too() {
    for gap in [2, 5, 11] {
        each_operation_fails(&Route::Files, Fault::FailAgain(EIO, gap));
    }
}

#[test]
fn a_directory_that_cannot_be_renamed_is_replaced_or_restored_all_the_same() {
    each_operation_fails(&Route::Files, Fault::FailOnce(EXDEV));
    each_operation_fails(&Route::Files, Fault::FailAgain(EXDEV, 4));
}
