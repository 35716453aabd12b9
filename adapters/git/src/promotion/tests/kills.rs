//! The process is killed before the n-th change of the file system, for each n, and again while settling.

use super::fixture::{Fixture, RECEIPT, apply, every_change, everything};
use crate::GixRepository;
use crate::fault::testing::{Child, asked, forget};
use crate::oid;
use gix::bstr::ByteSlice;
use isobox_domain::git_oid::GitOid;
use isobox_ports::{Landing, Route, TrustedRepository};
use std::path::Path;

/// Not a test: what a child of the tests below does before it is killed.
#[test]
#[ignore = "is run by other tests, in a process of its own"]
fn child() {
    let Some((root, action)) = asked() else { return };
    let repository = GixRepository::discover(&root).expect("a repository");
    let set = every_change();
    let mut promotion = repository.begin_promotion().expect("the lock");
    if action == "take back" {
        let branch = route(&repository, "branch").expect("a route");
        let made = made_by(&repository, &branch);
        let landing = Landing { route: &branch, made: made.as_ref(), head: None };
        promotion.take_back(landing, b"undone").expect("it is taken back");
        promotion.finish().expect("it is finished");
        forget();
        return;
    }
    let Some(route) = route(&repository, &action) else {
        return assert!(!forget(), "a step that is reached kills");
    };
    let (head, _) = repository.head().expect("a commit");
    apply(&mut *promotion, &head, &set, &route).expect("it is applied");
    promotion.finish().expect("it is finished");
    forget();
}

fn route(repository: &GixRepository, action: &str) -> Option<Route> {
    let (parent, _) = repository.head().expect("a commit");
    Some(match action {
        "leave" => Route::Files,
        "stage" => Route::Index,
        "commit" => Route::Commit,
        "branch" => Route::Branch { name: Fixture::BRANCH.into(), parent },
        _ => return None,
    })
}

/// Takes the last Promotion back, as the use case does.
fn take_back(fixture: &Fixture, route: &Route) {
    let repository = fixture.repository();
    let mut promotion = repository.begin_promotion().expect("the lock");
    let (head, _) = repository.head().expect("a commit");
    let made = made_by(&repository, route);
    let landing = Landing { route, made: made.as_ref(), head: Some(&head) };
    promotion.take_back(landing, b"undone").expect("it is taken back");
    promotion.finish().expect("it is finished");
}

/// What a Promotion by `route` is taken back with.
fn made_by(repository: &GixRepository, route: &Route) -> Option<GitOid> {
    let git = repository.gix();
    let named = match route {
        Route::Files | Route::Index => return None,
        Route::Commit => git.rev_parse_single("HEAD^"),
        Route::Branch { name, .. } => git.rev_parse_single(name.as_bstr()),
    };
    Some(oid::from_gix(&named.expect("a commit")))
}

/// Whether the child was killed.
fn run_child(root: &Path, action: &str, step: u64) -> bool {
    Child { test: "promotion::tests::kills::child", root, action }.is_killed(step)
}

fn each_step_is_killed(action: &str) {
    let (template, set) = everything();
    // What is kept of an earlier Promotion goes when another one is kept: here, other contents under the same names.
    template.promote(&set, &Route::Files).expect("it is promoted");
    take_back(&template, &Route::Files);
    let state = |fixture: &Fixture| (fixture.tree(), fixture.references());
    let done = template.copy();
    done.promote(&set, &route(&done.repository(), action).expect("a route")).expect("it is promoted");
    let after = state(&done);
    let (mut undone, mut finished) = (0, 0);
    for step in 0.. {
        let fixture = template.copy();
        let (before, index_before) = (state(&fixture), fixture.index());
        let is_killed = run_child(&fixture.root(), action, step);
        if is_killed {
            // Twice more while a later start settles it.
            run_child(&fixture.root(), "settle", step * 7 % 41);
            run_child(&fixture.root(), "settle", step * 13 % 23);
        }
        match fixture.settle() {
            Some(unfinished) => {
                assert_eq!(unfinished.receipt, RECEIPT);
                assert_eq!(state(&fixture), after, "step {step}");
                finished += 1;
            }
            // A kill in the middle of forgetting a finished one leaves it finished, and nothing to hand back.
            None if state(&fixture) == after => finished += 1,
            None => {
                assert_eq!(state(&fixture), before, "step {step}");
                assert_eq!(fixture.index(), index_before, "step {step}");
                undone += 1;
            }
        }
        fixture.assert_nothing_is_left();
        if state(&fixture) == after {
            take_back(&fixture, &route(&fixture.repository(), action).expect("a route"));
            assert_eq!(state(&fixture), before, "step {step}, taken back");
        }
        if !is_killed {
            break;
        }
    }
    assert!(undone > 15 && finished > 5, "{undone} undone, {finished} finished");
}

#[test]
fn a_killed_promotion_is_undone_or_finished_by_the_next_start() {
    each_step_is_killed("leave");
}

#[test]
fn a_killed_promotion_that_stages_is_undone_or_finished_by_the_next_start() {
    each_step_is_killed("stage");
}

#[test]
fn a_killed_promotion_into_a_commit_is_undone_or_finished_by_the_next_start() {
    each_step_is_killed("commit");
}

#[test]
fn a_killed_promotion_into_a_branch_is_undone_or_finished_by_the_next_start() {
    each_step_is_killed("branch");
}

#[test]
fn a_branch_whose_removal_was_killed_is_there_or_gone_and_not_locked() {
    let (template, set) = everything();
    let state = |fixture: &Fixture| (fixture.tree(), fixture.references());
    let before = state(&template);
    let route = route(&template.repository(), "branch").expect("a route");
    let (mut there, mut gone) = (0, 0);
    for step in 0.. {
        let fixture = template.copy();
        fixture.promote(&set, &route).expect("it is promoted");
        let after = state(&fixture);
        let is_killed = run_child(&fixture.root(), "take back", step);
        if is_killed {
            run_child(&fixture.root(), "settle", step * 7 % 11);
        }
        let is_handed_back = fixture.settle().is_some();
        match state(&fixture) {
            found if found == before => gone += 1,
            found => {
                assert!(found == after && !is_handed_back, "step {step}");
                there += 1;
                take_back(&fixture, &route);
                assert_eq!(state(&fixture), before, "step {step}, taken back again");
            }
        }
        fixture.assert_nothing_is_left();
        if !is_killed {
            break;
        }
    }
    assert!(there > 8 && gone > 3, "{there} there, {gone} gone");
}
