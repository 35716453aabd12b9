//! What facts mean.

use super::*;
use crate::enforcement::{Control, ControlReport, Enforcement};
use crate::fact::{
    Duplicate, Exposable, ExposingKey, IgnoreCoverage, Namespace, OverlayPlace, PolicyTrust, Refused, Relation, Room,
    Running, StoreHealth, Trial,
};
use crate::limit::{Limit, LimitReport};
use crate::policy::{BackendChoice, BackendName, Capabilities, SandboxPolicy};

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
fn what_one_backend_lacks_is_no_trouble_where_another_starts() {
    let finding = one(Fact::Landlock(fails()));
    assert_eq!((finding.severity, finding.found.as_str()), (Severity::Ok, "not here: it did not"));
    assert_eq!(finding.consequence.as_deref(), Some("the backend `landlock` cannot be used"));
    let found = findings(&[Fact::Bubblewrap(fails()), Fact::SandboxStarts(works())]);
    assert_eq!((found[0].check.as_str(), found[0].severity), ("bubblewrap.program", Severity::Ok));
    assert!(found[0].consequence.as_deref().is_some_and(|told| told.contains("`landlock` needs no program")));
}

#[test]
fn where_no_overlay_can_be_mounted_what_each_task_costs_is_a_warning_if_that_is_known_and_has_no_other_cause() {
    let known = Fact::Overlay(OverlayPlace::Workspaces, fails());
    let finding = one(known.clone());
    assert_eq!(finding.severity, Severity::Warning);
    assert!(finding.consequence.is_some_and(|consequence| consequence.contains("each task copies the files")));
    assert!(finding.fix.is_some());
    let guessed = one(Fact::Overlay(OverlayPlace::Memory, fails()));
    assert_eq!(guessed.severity, Severity::Ok);
    assert!(guessed.tried.ends_with("looking makes nothing there"), "{guessed:?}");
    let found = findings(&[Fact::SandboxStarts(fails()), known]);
    assert_eq!(found[1].severity, Severity::Ok);
    assert_eq!(one(Fact::Overlay(OverlayPlace::Workspaces, works())).consequence, None);
}

#[test]
fn where_no_setting_forbids_namespaces_and_none_opens_the_way_out_of_a_chroot_is_named() {
    let found = findings(&[Fact::SandboxStarts(fails()), Fact::Opens(Namespace::User, fails())]);
    assert!(found[0].fix.as_deref().is_some_and(|fix| fix.starts_with("leave the chroot or container")), "{found:?}");
    let found = findings(&[Fact::SandboxStarts(fails()), Fact::Opens(Namespace::User, works())]);
    assert_eq!(found[0].fix, None);
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

fn backends() -> [Fact; 2] {
    [BackendName::Bubblewrap, BackendName::Host].map(|backend| {
        let enforcement = Enforcement::Enforced { mechanism: "namespaces".to_owned() };
        let controls = vec![ControlReport { control: Control::Filesystem, enforcement }];
        Fact::Backend(Box::new(Capabilities::of(backend, controls)))
    })
}

/// What is said of a policy on a machine with `backends`.
fn of_policy(asked: SandboxPolicy, backends: &[Fact]) -> Finding {
    let found = findings(&[&[Fact::Asked(Box::new(asked))], backends].concat());
    assert_eq!(found.len(), 1, "{found:?}");
    found.into_iter().next().expect("one")
}

#[test]
fn a_policy_under_which_nothing_starts_anywhere_is_an_error_with_its_fix() {
    let rules = SandboxPolicy { network_allow: vec!["example.org".to_owned()], ..SandboxPolicy::default() };
    let backend = BackendChoice::Named(BackendName::Host);
    let host = SandboxPolicy { backend, ..SandboxPolicy::default() };
    for (asked, found, fix) in [
        (rules, "`network.allow` cannot be enforced", "remove the rules"),
        (host, "this version of isobox does not have it", "ask for `auto`"),
    ] {
        let finding = of_policy(asked, &backends()[..1]);
        assert_eq!((finding.check.as_str(), finding.severity), ("policy.sandbox", Severity::Error), "{finding:?}");
        assert!(finding.found.contains(found) && finding.fix.is_some_and(|told| told.contains(fix)));
    }
}

#[test]
fn a_policy_is_not_blamed_for_a_machine_on_which_no_sandbox_starts() {
    let finding = of_policy(SandboxPolicy::default(), &[]);
    assert_eq!(finding.severity, Severity::Warning);
    assert!(finding.consequence.is_some_and(|told| told.contains("`sandbox.starts`")));
}

#[test]
fn a_policy_that_contains_nothing_is_a_warning_and_one_that_does_is_none() {
    let host = SandboxPolicy { backend: BackendChoice::Named(BackendName::Host), ..SandboxPolicy::default() };
    let finding = of_policy(host, &backends());
    assert_eq!(finding.severity, Severity::Warning);
    assert!(finding.consequence.is_some_and(|told| told.starts_with("it contains nothing")));
    let finding = of_policy(SandboxPolicy::default(), &backends());
    assert_eq!(
        (finding.severity, finding.found.as_str()),
        (Severity::Ok, "runtime_backend bubblewrap, network.default deny")
    );
}

#[test]
fn a_limit_that_does_not_hold_here_is_a_warning_and_says_which() {
    let asked = SandboxPolicy::default();
    let judged = |limits: Vec<LimitReport>| {
        let able = backends().map(|fact| match fact {
            Fact::Backend(capabilities) => Fact::Backend(Box::new(capabilities.with_limits(&limits))),
            fact => fact,
        });
        of_policy(asked.clone(), &able)
    };
    let held = LimitReport::by(Limit::OpenFiles, 64, "RLIMIT_NOFILE");
    assert_eq!(judged(vec![held.clone()]).severity, Severity::Ok);
    let finding = judged(vec![LimitReport::not(Limit::Memory, 1 << 20, "no control group"), held]);
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(
        finding.consequence.as_deref(),
        Some("a workload may use more than the policy says: memory not_enforced")
    );
}

#[test]
fn the_paths_of_a_policy_are_judged_together_and_by_the_worst_of_them() {
    let path = |name: &str, found: Exposable| Fact::Exposes(ExposingKey::Read, name.to_owned(), found);
    let facts = [
        path("/a", Exposable::Readable),
        path("/b", Exposable::Unreadable("no".to_owned())),
        path("/c", Exposable::Refused("look at `/c`: not there".to_owned())),
    ];
    let told =
        |facts: &[Fact]| findings(facts).into_iter().map(|found| (found.severity, found.found)).collect::<Vec<_>>();
    let lines = ["/a can be read", "/b cannot be read: no", "look at `/c`: not there"];
    for (count, severity) in [(1, Severity::Ok), (2, Severity::Warning), (3, Severity::Error)] {
        assert_eq!(told(&facts[..count]), [(severity, lines[..count].join("\n"))]);
    }
    // What another key exposes is another finding.
    let others = [ExposingKey::Write, ExposingKey::ReuseInputs]
        .map(|key| Fact::Exposes(key, "/a".to_owned(), Exposable::Refused("no".to_owned())));
    let facts = [facts[0].clone(), others[0].clone(), others[1].clone()];
    let found = findings(&facts);
    let checks: Vec<_> = found.iter().map(|found| (found.check.as_str(), found.severity)).collect();
    let error = Severity::Error;
    assert_eq!(checks, [("policy.read", Severity::Ok), ("policy.write", error), ("policy.reuse_inputs", error)]);
}
