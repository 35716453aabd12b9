//! The n-th change of the file system fails, for each n: the repository is as it was, or finished.

use super::fixture::{RECEIPT, everything};
use crate::fault::testing::{Fault, forget, plan};
use isobox_ports::{ApplyError, IndexMode, TrustedRepository};
use nix::libc::{EIO, ENOSPC, EXDEV};

fn each_operation_fails(index: IndexMode, fault: Fault) {
    let (template, set) = everything();
    for at in 0.. {
        let fixture = template.copy();
        let (before, index_before) = (fixture.tree(), fixture.index());
        let after = set.applied_to(&before);
        // Taking the lock comes first, outside of the loop: its faults are those of looking.
        let repository = fixture.repository();
        let mut promotion = repository.begin_promotion().expect("the lock");
        plan(at, fault);
        let applied = promotion.apply(set.lines(), &set, index, RECEIPT);
        let finished = applied.is_ok().then(|| promotion.finish());
        let was_hit = forget();
        drop(promotion);
        match (&applied, &finished) {
            (Ok(_), Some(Ok(()))) => assert_eq!(fixture.tree(), after, "step {at}"),
            (Ok(_), _) => {
                assert_eq!(fixture.tree(), after, "step {at}");
                fixture.settle();
                assert_eq!(fixture.tree(), after, "step {at}, settled");
            }
            (Err(ApplyError::Unsettled { .. }), _) => {
                let unfinished = fixture.settle();
                let expected = if unfinished.is_some() { &after } else { &before };
                assert_eq!(&fixture.tree(), expected, "step {at}, settled");
                assert!(unfinished.is_none_or(|unfinished| unfinished.receipt == RECEIPT), "step {at}");
                if expected == &before {
                    assert_eq!(fixture.index(), index_before, "step {at}");
                }
            }
            (Err(error), _) => {
                assert_eq!(fixture.tree(), before, "step {at}: {error}");
                assert_eq!(fixture.index(), index_before, "step {at}: {error}");
                fixture.settle();
                assert_eq!(fixture.tree(), before, "step {at}, settled");
            }
        }
        fixture.assert_nothing_is_left();
        if !was_hit {
            assert!(at > 50, "only {at} steps were counted");
            return;
        }
    }
}

#[test]
fn a_repository_is_whole_whichever_operation_fails() {
    each_operation_fails(IndexMode::Leave, Fault::FailOnce(EIO));
}

#[test]
fn a_repository_is_whole_whichever_operation_fails_while_staging() {
    each_operation_fails(IndexMode::Stage, Fault::FailOnce(EIO));
}

#[test]
fn a_repository_is_settled_whenever_the_disk_stops_to_work() {
    each_operation_fails(IndexMode::Leave, Fault::FailFromHere(EIO));
}

#[test]
fn a_repository_is_settled_whenever_the_disk_is_full() {
    each_operation_fails(IndexMode::Stage, Fault::FailFromHere(ENOSPC));
}

#[test]
fn a_repository_is_settled_whenever_undoing_a_failure_fails_too() {
    for gap in [2, 5, 11] {
        each_operation_fails(IndexMode::Leave, Fault::FailAgain(EIO, gap));
    }
}

#[test]
fn a_directory_that_cannot_be_renamed_is_replaced_or_restored_all_the_same() {
    each_operation_fails(IndexMode::Leave, Fault::FailOnce(EXDEV));
    each_operation_fails(IndexMode::Leave, Fault::FailAgain(EXDEV, 4));
}
