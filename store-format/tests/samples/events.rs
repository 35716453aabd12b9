//! Events of every kind.

use super::{TASK, id, path, time};
use isobox_domain::event::{Confirmation, Destination, Event, EventKind, Promoted};
use isobox_domain::git_oid::GitOid;
use isobox_domain::promotion::{BlockedRisk, ChosenHunks, Overridden, PromotionRequirement, Selection};
use isobox_domain::report::{RiskCategory, RiskLevel};
use std::collections::BTreeSet;

pub(crate) fn promoted() -> Event {
    Event {
        task: TASK,
        subject: id(0x51),
        previous: Some(id(0x52)),
        at: time(9000),
        kind: EventKind::Promoted(Promoted {
            host_path: b"/home/ana/app".to_vec(),
            commit: GitOid::Sha1([0x22; 20]),
            branch: Some(b"refs/heads/main".to_vec()),
            confirmation: Confirmation::Flag,
            paths: 6,
            part: None,
            destination: Destination::WorkingTree,
            merged: None,
            overridden: None,
            verified: None,
        }),
    }
}

/// A part of a result, which became a commit on a branch of its own.
pub(crate) fn promoted_in_part() -> Event {
    let mut event = promoted();
    if let EventKind::Promoted(promoted) = &mut event.kind {
        promoted.paths = 2;
        let (only, except) = ([path(b"src")].into(), [path(b"src/generated")].into());
        promoted.part = Some(Box::new(Selection { only, except, hunks: Vec::new() }));
        promoted.destination = Destination::Branch { made: GitOid::Sha1([0x23; 20]), name: b"refs/heads/try".to_vec() };
    }
    event
}

/// Some hunks of a file, and all of another.
pub(crate) fn promoted_in_hunks() -> Event {
    let mut event = promoted();
    if let EventKind::Promoted(promoted) = &mut event.kind {
        let hunks = vec![ChosenHunks { path: path(b"src/main.rs"), numbers: vec![0, 2, 300] }];
        promoted.paths = 2;
        promoted.part = Some(Box::new(Selection {
            only: BTreeSet::from([path(b"src/lib.rs"), path(b"src/main.rs")]),
            except: BTreeSet::new(),
            hunks,
        }));
    }
    event
}

/// One that was verified before, and made in spite of what the policy asks for.
pub(crate) fn promoted_in_spite() -> Event {
    let mut event = promoted();
    if let EventKind::Promoted(promoted) = &mut event.kind {
        promoted.verified = Some(id(0x53));
        promoted.overridden = Some(Box::new(Overridden {
            reason: "read with Ana".into(),
            require: vec![PromotionRequirement::Success, PromotionRequirement::Review],
            block: vec![BlockedRisk::Level(RiskLevel::High), BlockedRisk::Category(RiskCategory::SecretContent)],
        }));
    }
    event
}

pub(crate) fn undone() -> Event {
    Event { kind: EventKind::Undone, ..rejected() }
}

pub(crate) fn rejected() -> Event {
    Event {
        task: TASK,
        subject: id(0x51),
        previous: None,
        at: time(8000),
        kind: EventKind::Rejected { reason: "tests were deleted".into() },
    }
}

pub(crate) fn pinned() -> Event {
    Event { kind: EventKind::Pinned, ..rejected() }
}

pub(crate) fn unpinned() -> Event {
    Event { kind: EventKind::Unpinned, ..promoted() }
}

pub(crate) fn pruned() -> Event {
    Event { kind: EventKind::Pruned { reason: "keep-last 10".into() }, ..promoted() }
}
