//! What is written, and what is refused.

use super::fixture::{ChangeSet, Fixture, RECEIPT, everything, write};
use isobox_domain::change::Mode;
use isobox_domain::repo_path::RepoPath;
use isobox_ports::{Applied, ApplyError, Landing, RepositoryError, Route, TrustedRepository};
use std::fs;
use std::os::unix::fs::symlink;

/// The conflicts of a Change Set, which change nothing.
fn conflicts(fixture: &Fixture, set: &ChangeSet) -> Vec<String> {
    let before = fixture.tree();
    let repository = fixture.repository();
    let mut promotion = repository.begin_promotion().expect("the lock");
    let rehearsed = match promotion.rehearse(set.lines(), &Route::Files) {
        Err(ApplyError::Conflicts { first, .. }) => first,
        other => panic!("{other:?}"),
    };
    match promotion.apply(set.lines(), set, Landing::without_commit(&Route::Files), RECEIPT) {
        Err(ApplyError::Conflicts { first, .. }) => assert_eq!(first, rehearsed),
        other => panic!("{other:?}"),
    }
    assert_eq!(fixture.tree(), before);
    fixture.assert_nothing_is_left();
    rehearsed
}

#[test]
fn every_path_is_written_byte_for_byte_and_the_index_is_left_alone() {
    let (fixture, set) = everything();
    let (before, index) = (fixture.tree(), fixture.index());
    let applied = fixture.promote(&set, &Route::Files).expect("it is promoted");
    assert_eq!(applied, Applied { paths: set.paths() });
    assert_eq!(fixture.tree(), set.applied_to(&before));
    assert_eq!(fixture.index(), index);
    fixture.assert_nothing_is_left();
}

#[test]
fn rehearsing_changes_nothing() {
    let (fixture, set) = everything();
    let before = fixture.tree();
    let repository = fixture.repository();
    let rehearsed =
        repository.begin_promotion().expect("the lock").rehearse(set.lines(), &Route::Files).expect("no conflict");
    assert_eq!(rehearsed, Applied { paths: set.paths() });
    assert_eq!(fixture.tree(), before);
    fixture.assert_nothing_is_left();
}

#[test]
fn staging_makes_the_index_what_git_add_would() {
    let (fixture, set) = everything();
    let oracle = fixture.copy();
    fixture.promote(&set, &Route::Index).expect("it is promoted");
    oracle.promote(&set, &Route::Files).expect("it is promoted");
    oracle.git(&["add", "-A"]);
    assert_eq!(fixture.git(&["write-tree"]), oracle.git(&["write-tree"]));
    assert_eq!(fixture.git(&["diff-files"]), "", "the stat information in the index is that of the files");
    fixture.git(&["fsck", "--strict"]);
}

#[test]
fn staging_converts_as_the_attributes_say_without_filter_drivers() {
    let fixture = Fixture::new(&[(b".gitattributes", Mode::File, b"*.txt text\n*.x filter=bad\n")]);
    fixture.git(&["config", "filter.bad.clean", "touch ran; cat"]);
    let mut set = ChangeSet::default();
    set.add(b"a.txt", Mode::File, b"one\r\ntwo\r\n").add(b"b.x", Mode::File, b"raw");
    fixture.promote(&set, &Route::Index).expect("it is promoted");
    assert_eq!(fs::read(fixture.root().join("a.txt")).expect("the file"), b"one\r\ntwo\r\n");
    assert_eq!(fixture.git(&["cat-file", "blob", ":a.txt"]), "one\ntwo\n");
    assert_eq!(fixture.git(&["cat-file", "blob", ":b.x"]), "raw");
    assert!(!fixture.root().join("ran").exists());
}

#[test]
fn a_file_in_another_form_of_the_same_blob_is_no_conflict() {
    let fixture = Fixture::new(&[(b".gitattributes", Mode::File, b"*.txt text\n"), (b"a.txt", Mode::File, b"one\n")]);
    fs::write(fixture.root().join("a.txt"), b"one\r\n").expect("it is written");
    let mut set = ChangeSet::default();
    set.delete(b"a.txt", Mode::File, b"one\n").add(b"a.txt", Mode::File, b"two\n");
    fixture.promote(&set, &Route::Files).expect("it is promoted");
    assert_eq!(fs::read(fixture.root().join("a.txt")).expect("the file"), b"two\n");
}

#[test]
fn what_is_not_as_the_change_set_expects_is_a_conflict() {
    let fixture = Fixture::new(&[
        (b"content", Mode::File, b"1"),
        (b"kind", Mode::File, b"2"),
        (b"mode", Mode::File, b"3"),
        (b".gitignore", Mode::File, b"ignored\n"),
    ]);
    for name in ["untracked", "ignored", "full/file"] {
        write(&fixture.root().join(name), Mode::File, b"mine");
    }
    let mut set = ChangeSet::default();
    set.delete(b"content", Mode::File, b"other")
        .delete(b"kind", Mode::Symlink, b"2")
        .delete(b"missing", Mode::File, b"4")
        .delete(b"mode", Mode::Executable, b"3")
        .add(b"full", Mode::File, b"5")
        .add(b"ignored", Mode::File, b"6")
        .add(b"untracked", Mode::File, b"7");
    assert_eq!(
        conflicts(&fixture, &set),
        [
            "content: its content was changed meanwhile",
            "full: a directory that is not empty is in its place",
            "ignored: a file that is not tracked is in its place",
            "kind: it is another kind of thing meanwhile",
            "missing: it is not there",
            "mode: its executable bit was changed meanwhile",
            "untracked: a file that is not tracked is in its place",
        ]
    );
}

#[test]
fn no_link_is_followed_and_no_other_repository_entered() {
    let fixture = Fixture::new(&[(b"a", Mode::File, b"1")]);
    let outside = tempfile::tempdir().expect("a directory");
    symlink(outside.path(), fixture.root().join("link")).expect("a link");
    fs::create_dir_all(fixture.root().join("nested/.git")).expect("a repository");
    fs::create_dir_all(fixture.root().join("whole/sub/.git")).expect("a repository");
    let mut set = ChangeSet::default();
    set.add(b"a/below", Mode::File, b"2").add(b"link/x", Mode::File, b"3").add(b"nested/y", Mode::File, b"4").add(
        b"whole",
        Mode::File,
        b"5",
    );
    assert_eq!(
        conflicts(&fixture, &set),
        [
            "a/below: a is no directory",
            "link/x: it lies below the symbolic link link",
            "nested/y: it lies in another repository, nested",
            "whole: another repository is in its place",
        ]
    );
    assert_eq!(fs::read_dir(outside.path()).expect("the directory").count(), 0);
}

#[test]
fn the_git_directory_is_protected_under_any_name() {
    let fixture = Fixture::new(&[(b"a", Mode::File, b"1"), (b".gitignore", Mode::File, b"metadata\n")]);
    fs::rename(fixture.root().join(".git"), fixture.root().join("metadata")).expect("it is moved");
    fs::write(fixture.root().join(".git"), "gitdir: metadata\n").expect("it is written");
    let mut set = ChangeSet::default();
    set.add(b"metadata/hooks/post-checkout", Mode::Executable, b"#!/bin/sh\n");
    let repository = fixture.repository();
    match repository.begin_promotion().expect("the lock").rehearse(set.lines(), &Route::Files) {
        Err(ApplyError::Conflicts { first, .. }) => {
            assert_eq!(first, ["metadata/hooks/post-checkout: it lies in the Git directory metadata"]);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn submodules_are_refused_with_the_reason() {
    let fixture = Fixture::new(&[(b"a", Mode::File, b"1")]);
    let mut set = ChangeSet::default();
    set.add(b"sub/x", Mode::File, b"2").change(b"sub/x").submodule = Some(RepoPath::parse(b"sub").expect("a path"));
    set.delete(b"module", Mode::Submodule, b"");
    assert_eq!(conflicts(&fixture, &set), ["module: it is a submodule", "sub/x: it lies in the submodule sub"]);
}

#[test]
fn conflicts_are_listed_up_to_ten_and_counted() {
    let fixture = Fixture::new(&[]);
    let mut set = ChangeSet::default();
    for n in 0..25 {
        set.delete(format!("x{n:02}").as_bytes(), Mode::File, b"");
    }
    let repository = fixture.repository();
    match repository.begin_promotion().expect("the lock").rehearse(set.lines(), &Route::Files) {
        Err(ApplyError::Conflicts { first, count }) => assert_eq!((first.len(), count), (10, 25)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn content_that_the_store_lost_changes_nothing() {
    let (fixture, mut set) = everything();
    set.lose(b"two\r\n");
    let before = fixture.tree();
    let error = fixture.promote(&set, &Route::Files).expect_err("content is missing");
    assert_eq!(error.to_string(), "stage modified; nothing was changed");
    assert_eq!(fixture.tree(), before);
    fixture.assert_nothing_is_left();
}

#[test]
fn content_that_is_not_what_its_digest_says_changes_nothing() {
    for (content, found) in [(b"two\r\n".as_slice(), b"bad\r\n".as_slice()), (b"../outside", b"../elsewhere")] {
        let (fixture, mut set) = everything();
        set.damage(content, found);
        let before = fixture.tree();
        assert!(matches!(fixture.promote(&set, &Route::Files), Err(ApplyError::Io { .. })));
        assert_eq!(fixture.tree(), before);
        fixture.assert_nothing_is_left();
    }
}

#[test]
fn of_two_promotions_at_once_one_is_locked_out() {
    let (fixture, _) = everything();
    let (first, second) = (fixture.repository(), fixture.repository());
    let held = first.begin_promotion().expect("the lock");
    match second.begin_promotion().err() {
        Some(RepositoryError::Locked { host_path }) => assert_eq!(host_path, fixture.root().display().to_string()),
        other => panic!("{other:?}"),
    }
    drop(held);
    assert!(second.begin_promotion().is_ok());
}

#[test]
fn an_unfinished_promotion_is_handed_back_until_it_is_finished() {
    let (fixture, set) = everything();
    let after = set.applied_to(&fixture.tree());
    for _ in 0..2 {
        let repository = fixture.repository();
        let mut promotion = repository.begin_promotion().expect("the lock");
        if promotion.unfinished().is_none() {
            promotion.apply(set.lines(), &set, Landing::without_commit(&Route::Files), RECEIPT).expect("it is applied");
        }
        assert!(repository.has_unfinished_promotion());
        assert!(
            promotion.apply(set.lines(), &set, Landing::without_commit(&Route::Files), RECEIPT).is_err(),
            "the first must be finished"
        );
    }
    assert_eq!(fixture.settle().expect("it is handed back").receipt, RECEIPT);
    assert_eq!(fixture.settle(), None);
    assert_eq!(fixture.tree(), after);
}

#[test]
fn an_edit_made_after_an_interrupted_promotion_is_never_lost() {
    let (fixture, set) = everything();
    let (before, repository) = (fixture.tree(), fixture.repository());
    let mut promotion = repository.begin_promotion().expect("the lock");
    promotion.apply(set.lines(), &set, Landing::without_commit(&Route::Files), RECEIPT).expect("it is applied");
    drop(promotion);
    // As if it had been killed right before its point of no return.
    fs::remove_file(fixture.root().join(".git/isobox/promotion/done")).expect("it is removed");
    fs::write(fixture.root().join("modified"), b"my own").expect("it is written");
    let error = repository.begin_promotion().err().expect("it is not settled");
    assert_eq!(error.to_string(), "settle an interrupted promotion: move files into place");
    assert_eq!(fs::read(fixture.root().join("modified")).expect("the file"), b"my own");
    fs::remove_file(fixture.root().join("modified")).expect("it is removed");
    assert_eq!(fixture.settle(), None);
    assert_eq!(fixture.tree(), before);
}

#[test]
fn a_linked_working_tree_is_promoted_into_and_shares_the_lock() {
    let (fixture, set) = everything();
    let linked = tempfile::tempdir().expect("a directory");
    let path = linked.path().join("linked");
    fixture.git(&["worktree", "add", "-q", "--detach", path.to_str().expect("UTF-8")]);
    let repository = crate::GixRepository::discover(&path).expect("a repository");
    let mut promotion = repository.begin_promotion().expect("the lock");
    assert!(matches!(fixture.repository().begin_promotion().err(), Some(RepositoryError::Locked { .. })));
    promotion.apply(set.lines(), &set, Landing::without_commit(&Route::Index), RECEIPT).expect("it is applied");
    drop(promotion);
    // Settled from the main working tree, whose own files are not touched.
    let before = fixture.tree();
    assert_eq!(fixture.settle().expect("it is handed back").receipt, RECEIPT);
    assert_eq!(fixture.tree(), before);
    assert_eq!(fs::read(path.join("modified")).expect("the file"), b"two\r\n");
    assert_eq!(
        fs::read_dir(&path)
            .expect("it")
            .filter(|e| e.as_ref().is_ok_and(|e| e.file_name().to_string_lossy().contains("isobox")))
            .count(),
        0
    );
    fixture.assert_nothing_is_left();
}

#[test]
fn a_copied_repository_never_settles_the_promotion_of_its_original() {
    let (fixture, set) = everything();
    let repository = fixture.repository();
    let mut promotion = repository.begin_promotion().expect("the lock");
    promotion.apply(set.lines(), &set, Landing::without_commit(&Route::Files), RECEIPT).expect("it is applied");
    drop(promotion);
    fs::remove_file(fixture.root().join(".git/isobox/promotion/done")).expect("it is removed");
    let before = fixture.tree();
    let copy = fixture.copy();
    assert!(copy.repository().begin_promotion().is_err());
    assert_eq!(fixture.tree(), before);
}
