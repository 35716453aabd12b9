//! Commits of results that nothing names, as Git sees them.

use super::fixture::{ChangeSet, Fixture, everything, write};
use crate::GixResultCommits;
use isobox_domain::change::Mode;
use isobox_domain::git_oid::GitOid;
use isobox_domain::timestamp::Timestamp;
use isobox_ports::{CommitAside, CommitText, ResultCommits, Route};
use std::fs;

fn text() -> CommitText {
    CommitText { message: b"Changed\n".to_vec(), at: Timestamp::nearest(1_800_000_000_000) }
}

fn head(fixture: &Fixture) -> GitOid {
    GitOid::from_hex(fixture.git(&["rev-parse", "HEAD"]).trim()).expect("an oid")
}

fn commits(fixture: &Fixture) -> GixResultCommits {
    GixResultCommits::around(&fixture.root()).expect("the repository is found")
}

fn make(fixture: &Fixture, set: &ChangeSet) -> GitOid {
    commits(fixture).make(&head(fixture), set.lines(), set, &text()).expect("a commit")
}

fn aside(fixture: &Fixture, set: &ChangeSet) -> Box<dyn CommitAside> {
    commits(fixture).make_aside(&head(fixture), set.lines(), set, &text()).expect("a commit")
}

fn tree_of(fixture: &Fixture, revision: &str) -> String {
    fixture.git(&["rev-parse", &format!("{revision}^{{tree}}")])
}

#[test]
fn it_has_the_tree_that_a_promotion_makes_and_no_hook_runs() {
    let (fixture, set) = everything();
    for hook in ["pre-commit", "commit-msg", "post-commit", "reference-transaction"] {
        let path = fixture.root().join(".git/hooks").join(hook);
        write(&path, Mode::Executable, b"#!/bin/sh\ntouch .git/ran; exit 1\n");
    }
    let (tree, index, references) = (fixture.tree(), fixture.index(), fixture.references());
    let made = make(&fixture, &set).to_string();
    assert_eq!((fixture.tree(), fixture.index(), fixture.references()), (tree, index, references));
    fixture.git(&["fsck", "--strict"]);
    commits(&fixture)
        .make_branch(b"refs/heads/made/here", &GitOid::from_hex(&made).expect("an oid"))
        .expect("a branch");
    assert!(!fixture.root().join(".git/ran").exists());
    fs::remove_dir_all(fixture.root().join(".git/hooks")).expect("no hooks");
    fixture.promote(&set, &fixture.to_a_branch()).expect("it is promoted");
    assert_eq!(tree_of(&fixture, &made), tree_of(&fixture, Fixture::BRANCH));
    assert_eq!(fixture.git(&["reflog", "-1", "--format=%gs", "made/here"]), "isobox export: Changed\n");
    let told = fixture.git(&["log", "-1", "--format=%an %ae %cn %at %ct %s", &made]);
    assert_eq!(told, "Ana ana@example.org Ana 1800000000 1800000000 Changed\n");
}

#[test]
fn its_patch_makes_the_same_tree_of_the_parent() {
    let (fixture, set) = everything();
    let aside = aside(&fixture, &set);
    let mut patch = Vec::new();
    aside.write_patch(&mut patch).expect("a patch");
    let file = fixture.root().join(".git/patch");
    fs::write(&file, patch).expect("it is written");
    let objects = fixture.git(&["count-objects"]);
    let made = make(&fixture, &set);
    assert_ne!(fixture.git(&["count-objects"]), objects, "it was in the repository before");
    fixture.git(&["apply", "--cached", "--binary", &file.to_string_lossy()]);
    assert_eq!(fixture.git(&["write-tree"]), tree_of(&fixture, &made.to_string()));
}

#[test]
fn a_patch_is_of_what_attributes_convert_to() {
    let fixture =
        Fixture::new(&[(b".gitattributes", Mode::File, b"*.txt text eol=crlf\n"), (b"a", Mode::File, b"a\n")]);
    let mut set = ChangeSet::default();
    set.add(b"b.txt", Mode::File, b"one\r\n");
    let mut patch = Vec::new();
    aside(&fixture, &set).write_patch(&mut patch).expect("a patch");
    assert!(String::from_utf8(patch).expect("text").ends_with("+one\n"));
}

#[test]
fn git_fetches_it_from_a_bundle_wherever_the_parent_is() {
    for hash in ["sha1", "sha256"] {
        let fixture = Fixture::new(&[(b"kept/a", Mode::File, b"a\n"), (b"kept/b/c", Mode::File, b"c\n")]);
        if hash == "sha256" {
            fs::remove_dir_all(fixture.root().join(".git")).expect("no repository");
            fixture.git(&["init", "-q", "-b", "main", "--object-format=sha256"]);
            fixture.git(&["config", "user.name", "Ana"]);
            fixture.git(&["config", "user.email", "ana@example.org"]);
            fixture.git(&["add", "-A"]);
            fixture.git(&["commit", "-q", "-m", "first"]);
        }
        let mut set = ChangeSet::default();
        set.add(b"kept/b/new", Mode::Executable, b"\0binary").add(b"other/deep/c", Mode::File, b"c\n");
        // What is in the repository already, and not in the parent, has to be in the bundle.
        let made = make(&fixture, &set).to_string();
        let elsewhere = fixture.copy();
        elsewhere.git(&["prune", "--expire=now"]);
        let mut bundle = Vec::new();
        aside(&fixture, &set).write_bundle("refs/heads/result", &mut bundle).expect("a bundle");
        fs::write(elsewhere.root().join(".git/bundle"), bundle).expect("it is written");
        elsewhere.git(&["bundle", "verify", "-q", ".git/bundle"]);
        elsewhere.git(&["fetch", "-q", ".git/bundle", "refs/heads/result:refs/heads/fetched"]);
        elsewhere.git(&["fetch", "-q", ".git/bundle"]);
        assert_eq!(elsewhere.git(&["rev-parse", "fetched", "FETCH_HEAD"]), format!("{made}\n{made}\n"));
        elsewhere.git(&["fsck", "--strict"]);
    }
}

#[test]
fn a_repository_without_a_working_tree_and_one_of_several_take_it() {
    let (fixture, set) = everything();
    let made = make(&fixture, &set);
    let bare = fixture.copy();
    bare.git(&["clone", "-q", "--bare", ".", "bare.git"]);
    bare.git(&["-C", "bare.git", "config", "user.name", "Ana"]);
    bare.git(&["-C", "bare.git", "config", "user.email", "ana@example.org"]);
    bare.git(&["worktree", "add", "-q", "--detach", "second"]);
    for directory in ["bare.git", "second"] {
        let commits = GixResultCommits::around(&bare.root().join(directory)).expect("it is found");
        assert_eq!(commits.make(&head(&fixture), set.lines(), &set, &text()).expect("a commit"), made);
    }
    let linked = GixResultCommits::in_git_dir(&bare.root().join(".git/worktrees/second")).expect("it is found");
    assert_eq!(linked.common_dir(), bare.root().join(".git").canonicalize().expect("a path"));
}

#[test]
fn a_content_that_is_damaged_or_lost_makes_no_commit() {
    let (fixture, mut set) = everything();
    set.damage(b"two\r\n", b"one\r\n!");
    let refused = commits(&fixture).make(&head(&fixture), set.lines(), &set, &text());
    assert!(refused.is_err(), "{refused:?}");
    set.lose(b"two\r\n");
    let refused = commits(&fixture).make(&head(&fixture), set.lines(), &set, &text());
    assert!(refused.is_err(), "{refused:?}");
    fixture.promote(&everything().1, &Route::Files).expect("nothing is in its way");
}
