//! What facts mean.

use super::*;
use crate::fact::{
    Duplicate, IgnoreCoverage, Namespace, PolicyTrust, Refused, Relation, Room, Running, StoreHealth, Trial,
};

fn one(fact: Fact) -> Finding {
    let found = findings(&[fact]);
    assert_eq!(found.len(), 1, "{found:?}");
    found.into_iter().next().expect("one")
}

fn works() -> Trial {
    Trial::Works("it did".to_owned())
}

fn fails() -> Trial {
    Trial::Fails("it did not".to_owned())
}

#[test]
fn what_keeps_every_task_from_starting_is_an_error_and_says_so() {
    let room = Room { bytes: 1 << 20, files: None };
    for fact in [
        Fact::Bubblewrap(fails()),
        Fact::SandboxStarts(fails()),
        Fact::OwnDirectory("state", fails()),
        Fact::Repository(Err(Refused { reason: "not yours".to_owned(), hint: None })),
        Fact::BadPolicy(vec![Refused { reason: "1:1: no".to_owned(), hint: Some("yes".to_owned()) }]),
        Fact::StoreWritable(fails()),
        Fact::StoreRoom(room),
        Fact::StoreRoom(Room { bytes: u64::MAX, files: Some(0) }),
    ] {
        let finding = one(fact);
        assert_eq!(finding.severity, Severity::Error, "{finding:?}");
        assert!(finding.consequence.is_some(), "{finding:?}");
    }
}

#[test]
fn what_this_version_does_not_use_is_no_trouble() {
    for fact in [Fact::Landlock(fails()), Fact::Overlay(fails())] {
        let finding = one(fact);
        assert_eq!((finding.severity, finding.found.as_str()), (Severity::Ok, "it did not"));
        assert!(finding.consequence.is_some_and(|consequence| consequence.starts_with("none")));
    }
}

#[test]
fn a_restriction_counts_only_where_no_sandbox_starts_and_its_remedy_is_named_with_both() {
    let restriction = Fact::Restriction { setting: "kernel.x=1".to_owned(), remedy: "do this".to_owned() };
    let stopped = findings(&[Fact::SandboxStarts(fails()), restriction.clone()]);
    assert!(stopped.iter().all(|finding| finding.severity == Severity::Error), "{stopped:?}");
    assert!(stopped.iter().all(|finding| finding.fix.as_deref() == Some("do this")), "{stopped:?}");
    assert_eq!(worst(&findings(&[Fact::SandboxStarts(works()), restriction])), Severity::Ok);
}

#[test]
fn another_copy_on_path_is_a_warning_and_another_name_of_the_same_file_is_none() {
    let with = |relation| {
        let duplicate = Duplicate { host_path: "/b/isobox".to_owned(), relation };
        let first = Some("/a/isobox".to_owned());
        one(Fact::OnPath { first, running: Running::First, duplicates: vec![duplicate] })
    };
    for relation in [Relation::SamePath, Relation::SymbolicLink, Relation::HardLink] {
        assert_eq!(with(relation).severity, Severity::Ok, "{relation:?}");
    }
    assert_eq!(with(Relation::OtherFile).severity, Severity::Warning);
    assert_eq!(with(Relation::HardLink).found, "/a/isobox is the first\n/b/isobox: a hard link to the same file");
}

#[test]
fn what_a_person_can_put_right_in_a_project_is_a_warning_with_a_fix() {
    for fact in [
        Fact::NoRepository,
        Fact::NoPolicy("/p".to_owned()),
        Fact::PolicyTrust("/p".to_owned(), PolicyTrust::Missing),
        Fact::Views(Ok(IgnoreCoverage::NotIgnored)),
        Fact::Views(Ok(IgnoreCoverage::Tracked)),
        Fact::Dirt(Ok(vec!["untracked: a".to_owned()]), 12),
        Fact::StoreRoom(Room { bytes: 1 << 28, files: None }),
        Fact::StoreRoom(Room { bytes: u64::MAX, files: Some(3) }),
    ] {
        let finding = one(fact);
        assert_eq!(finding.severity, Severity::Warning, "{finding:?}");
        assert!(finding.fix.is_some(), "{finding:?}");
    }
}

#[test]
fn a_healthy_project_has_nothing_to_say_but_ok() {
    let facts = [
        Fact::Repository(Ok("/p".to_owned())),
        Fact::Dirt(Ok(Vec::new()), 0),
        Fact::Views(Ok(IgnoreCoverage::Ignored)),
        Fact::PolicyTrust("/p".to_owned(), PolicyTrust::Given),
        Fact::Store("/s".to_owned(), StoreHealth::Readable { read: 3 }),
        Fact::StoreWritable(works()),
        Fact::StoreRoom(Room { bytes: 1 << 40, files: Some(1 << 20) }),
        Fact::Opens(Namespace::User, works()),
    ];
    let found = findings(&facts);
    assert_eq!(found.len(), facts.len());
    assert_eq!(worst(&found), Severity::Ok);
}

#[test]
fn an_old_bubblewrap_is_told_from_a_recent_one() {
    let severity = |major, minor| worst(&findings(&[Fact::Bubblewrap(works()), Fact::BubblewrapVersion(major, minor)]));
    assert_eq!(
        [severity(0, 7), severity(0, 8), severity(0, 11), severity(1, 0)],
        [Severity::Warning, Severity::Ok, Severity::Ok, Severity::Ok]
    );
}
