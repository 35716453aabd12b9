//! What a commit holds, and what stands in its way.

use super::fixture::{ChangeSet, Fixture, RECEIPT, apply, everything};
use isobox_domain::change::Mode;
use isobox_ports::{ApplyError, CommitText, Landing, Route, TrustedRepository};
use std::fs;

/// The tree that Git makes of the same changes.
fn expected_tree(fixture: &Fixture, set: &ChangeSet) -> String {
    let oracle = fixture.copy();
    oracle.promote(set, &Route::Files).expect("it is promoted");
    oracle.git(&["add", "-A"]);
    oracle.git(&["write-tree"])
}

fn tree_of(fixture: &Fixture, revision: &str) -> String {
    fixture.git(&["rev-parse", &format!("{revision}^{{tree}}")])
}

#[test]
fn a_commit_is_what_git_would_have_committed_and_the_tree_is_clean_after_it() {
    let (fixture, set) = everything();
    let expected = expected_tree(&fixture, &set);
    let before = fixture.git(&["rev-parse", "HEAD"]);
    fixture.promote(&set, &Route::Commit).expect("it is promoted");
    assert_eq!(tree_of(&fixture, "HEAD"), expected);
    assert_eq!(fixture.git(&["rev-parse", "HEAD^"]), before);
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
    assert_eq!(fixture.git(&["log", "-1", "--format=%an %ae %cn %s"]), "Ana ana@example.org Ana Changed\n");
    fixture.git(&["fsck", "--strict"]);
    fixture.assert_nothing_is_left();
}

#[test]
fn the_logs_of_references_tell_of_a_commit() {
    let (fixture, set) = everything();
    fixture.promote(&set, &Route::Commit).expect("it is promoted");
    for name in ["HEAD", "main"] {
        let told = fixture.git(&["reflog", "-1", "--format=%gs %h", name]);
        assert_eq!(told, format!("isobox promote: Changed {}", fixture.git(&["rev-parse", "--short", "HEAD"])));
    }
    fixture.git(&["reset", "-q", "--hard", "HEAD@{1}"]);
}

#[test]
fn a_branch_of_its_own_touches_nothing_else() {
    let (fixture, set) = everything();
    let expected = expected_tree(&fixture, &set);
    let (tree, index, head) = (fixture.tree(), fixture.index(), fixture.git(&["rev-parse", "HEAD"]));
    fixture.git(&["pack-refs", "--all"]);
    fixture.promote(&set, &fixture.to_a_branch()).expect("it is promoted");
    assert_eq!((fixture.tree(), fixture.index(), fixture.git(&["rev-parse", "HEAD"])), (tree, index, head.clone()));
    assert_eq!(tree_of(&fixture, Fixture::BRANCH), expected);
    assert_eq!(fixture.git(&["rev-parse", &format!("{}^", Fixture::BRANCH)]), head);
    fixture.git(&["fsck", "--strict"]);
    fixture.assert_nothing_is_left();
}

#[test]
fn a_detached_head_and_one_of_another_working_tree_are_moved_themselves() {
    let (fixture, set) = everything();
    fixture.git(&["checkout", "-q", "--detach"]);
    let main = fixture.git(&["rev-parse", "main"]);
    fixture.promote(&set, &Route::Commit).expect("it is promoted");
    assert_eq!(fixture.git(&["rev-parse", "HEAD^", "main"]), format!("{main}{main}"));
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
}

#[test]
fn attributes_of_the_result_decide_how_its_files_are_converted() {
    let fixture = Fixture::new(&[(b"a", Mode::File, b"a\n")]);
    let mut set = ChangeSet::default();
    set.add(b".gitattributes", Mode::File, b"*.txt text\n").add(b"b.txt", Mode::File, b"one\r\n");
    fixture.promote(&set, &fixture.to_a_branch()).expect("it is promoted");
    assert_eq!(fixture.git(&["cat-file", "blob", &format!("{}:b.txt", Fixture::BRANCH)]), "one\n");
    fixture.promote(&set, &Route::Commit).expect("it is promoted");
    assert_eq!(tree_of(&fixture, "HEAD"), tree_of(&fixture, Fixture::BRANCH));
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
}

fn refused(fixture: &Fixture, set: &ChangeSet, route: &Route) -> String {
    let (tree, references) = (fixture.tree(), fixture.references());
    let error = fixture.promote(set, route).expect_err("something stands in its way");
    assert_eq!((fixture.tree(), fixture.references()), (tree, references));
    match error {
        ApplyError::Refused { reason, .. } => reason,
        other => std::error::Error::source(&other).map_or_else(|| other.to_string(), ToString::to_string),
    }
}

#[test]
fn names_that_cannot_be_branches_and_those_that_are_taken_are_refused() {
    let (fixture, set) = everything();
    let Route::Branch { parent, .. } = fixture.to_a_branch() else { return };
    let named = |name: &str| refused(&fixture, &set, &Route::Branch { name: name.into(), parent });
    assert_eq!(named("refs/heads/main"), "branch main cannot be made: it is there already");
    assert_eq!(named("refs/heads/main/x"), "branch main/x cannot be made: a branch above it is there already");
    assert_eq!(named("refs/heads/a..b"), "branch a..b cannot be made: it is no name for a branch");
    fixture.git(&["branch", "a/b"]);
    fixture.git(&["pack-refs", "--all"]);
    assert_eq!(named("refs/heads/a"), "branch a cannot be made: branches below it are there already");
    assert_eq!(named("refs/heads/a/b"), "branch a/b cannot be made: it is there already");
    fixture.git(&["branch", "-D", "-q", "a/b"]);
    fs::create_dir_all(fixture.root().join(".git/refs/heads/a/b")).expect("directories that Git left");
    fixture.promote(&set, &Route::Branch { name: "refs/heads/a".into(), parent }).expect("it is promoted");
}

#[test]
fn a_reference_that_somebody_moves_or_holds_meanwhile_is_left_to_them() {
    let (fixture, set) = everything();
    fs::write(fixture.root().join(".git/refs/heads/main.lock"), "").expect("a lock");
    assert_eq!(refused(&fixture, &set, &Route::Commit), "another git process seems to be moving refs/heads/main");
    fs::remove_file(fixture.root().join(".git/refs/heads/main.lock")).expect("the lock is gone");
    let text = CommitText { message: b"Changed\n".to_vec(), at: isobox_domain::timestamp::Timestamp::nearest(0) };
    let repository = fixture.repository();
    let mut promotion = repository.begin_promotion().expect("the lock");
    let (head, _) = repository.head().expect("a commit");
    let made = promotion.commit(set.lines(), &set, &Route::Commit, &text).expect("a commit");
    fixture.git(&["commit", "-q", "--allow-empty", "-m", "meanwhile"]);
    let landing = Landing { route: &Route::Commit, made: Some(&made), head: Some(&head) };
    let error = promotion.apply(set.lines(), &set, landing, RECEIPT);
    assert!(matches!(error, Err(ApplyError::Refused { .. })), "{error:?}");
    assert_eq!(fixture.git(&["log", "-1", "--format=%s"]), "meanwhile\n", "what was committed meanwhile is lost");
    assert_eq!(fixture.git(&["status", "--porcelain"]), "");
    let route = fixture.to_a_branch();
    let made = promotion.commit(set.lines(), &set, &route, &text).expect("a commit");
    fixture.git(&["branch", "try/this"]);
    let error = promotion.apply(set.lines(), &set, Landing { route: &route, made: Some(&made), head: None }, RECEIPT);
    assert!(matches!(error, Err(ApplyError::Refused { .. })), "{error:?}");
    assert_eq!(fixture.git(&["rev-parse", "try/this"]), fixture.git(&["rev-parse", "main"]));
}

#[test]
fn no_hook_runs() {
    let (fixture, set) = everything();
    for hook in ["pre-commit", "commit-msg", "post-commit", "reference-transaction", "prepare-commit-msg"] {
        super::fixture::write(
            &fixture.root().join(".git/hooks").join(hook),
            Mode::Executable,
            b"#!/bin/sh\ntouch .git/ran; exit 1\n",
        );
    }
    let repository = fixture.repository();
    let mut promotion = repository.begin_promotion().expect("the lock");
    let (head, _) = repository.head().expect("a commit");
    apply(&mut *promotion, &head, &set, &Route::Commit).expect("it is promoted");
    promotion.finish().expect("it is forgotten");
    assert!(!fixture.root().join(".git/ran").exists());
}
