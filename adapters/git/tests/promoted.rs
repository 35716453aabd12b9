//! A Promotion of random messy edits, whole or in two parts, into files, a commit or a branch, is what the workload left, and
//! what is taken back is what was there. `ISOBOX_ORACLE_CASES` asks for more cases than the default.

mod support;

use isobox_domain::change::{Change, ChangeLine, ChangeSetRef};
use isobox_domain::content::ContentId;
use isobox_domain::timestamp::Timestamp;
use isobox_git::GixRepository;
use isobox_ports::{
    ChangeLines, CommitText, Content, Landing, ObjectStore, Promotion, Route, StoreError, TrustedRepository,
};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestCaseError};
use std::io::Cursor;
use std::path::Path;
use support::edits::{Edit, Site, edit, fill};
use support::{Kept, Scene, git, git_line};

const RECEIPT: &[u8] = b"receipt";

struct Result(Kept);

impl Result {
    /// The lines of the paths that `admits`.
    fn lines<'a>(&'a self, admits: &'a dyn Fn(&Change) -> bool) -> ChangeLines<'a> {
        Box::new(self.0.changes().filter(|change| admits(change)).cloned().map(|change| Ok(ChangeLine::Change(change))))
    }
}

impl ObjectStore for Result {
    fn open(&self, id: &ContentId) -> std::result::Result<Option<Content>, StoreError> {
        Ok(self.0.contents.get(id).map(|bytes| Box::new(Cursor::new(bytes.clone())) as Content))
    }

    fn changes(&self, _: &ChangeSetRef) -> std::result::Result<ChangeLines<'_>, StoreError> {
        Ok(self.lines(&|_| true))
    }
}

/// The tree of a directory's files, with everything forced in.
fn tree(directory: &Path) -> String {
    let index = directory.join(".git/index");
    let before = std::fs::read(&index).expect("an index");
    git_line(directory, &["add", "-A", "-f"]);
    let tree = git_line(directory, &["write-tree"]);
    std::fs::write(index, before).expect("the index is put back");
    tree
}

fn promote(root: &Path, result: &Result, route: &Route, admits: &dyn Fn(&Change) -> bool) {
    let repository = GixRepository::discover(root).expect("a repository");
    let mut promotion = repository.begin_promotion().expect("the lock");
    let text = CommitText { message: b"Promoted\n".to_vec(), at: Timestamp::nearest(1_800_000_000_000) };
    let made = match route {
        Route::Files | Route::Index => None,
        _ => Some(promotion.commit(result.lines(admits), result, route, &text).expect("a commit")),
    };
    let (head, _) = repository.head().expect("a commit");
    let landing = Landing { route, made: made.as_ref(), head: Some(&head) };
    promotion.apply(result.lines(admits), result, landing, RECEIPT).expect("it is promoted");
    promotion.finish().expect("it is forgotten");
}

fn take_back(root: &Path, route: &Route, start: &isobox_domain::git_oid::GitOid) {
    let repository = GixRepository::discover(root).expect("a repository");
    let mut promotion: Box<dyn Promotion> = repository.begin_promotion().expect("the lock");
    let made = (*route == Route::Commit).then_some(start);
    let (head, _) = repository.head().expect("a commit");
    promotion.take_back(Landing { route, made, head: Some(&head) }, b"undone").expect("it is taken back");
    promotion.finish().expect("it is forgotten");
}

/// Whether the first component of a path is one of the first part: what lies at and below a path stays together.
fn is_first(change: &Change) -> bool {
    change
        .path
        .components()
        .next()
        .is_some_and(|name| name.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)) % 2 == 0)
}

fn is_what_the_workload_left(edits: &[Edit]) -> std::result::Result<(), TestCaseError> {
    let scene = Scene::new(|root| fill(root, ""));
    let oracle = scene.clone("oracle");
    for root in [scene.root(), &oracle] {
        Site::of(root).perform_all(edits);
    }
    let result = Result(scene.capture());
    prop_assume!(result.0.changes().next().is_some());
    git_line(&oracle, &["add", "-A"]);
    let expected = git_line(&oracle, &["write-tree"]);
    let base = git_line(&oracle, &["rev-parse", "HEAD^{tree}"]);
    for (name, route) in [("files", Route::Files), ("index", Route::Index), ("commit", Route::Commit)] {
        let target = scene.clone(name);
        for (key, value) in [("user.name", "Ana"), ("user.email", "ana@example.org"), ("core.autocrlf", "false")] {
            git_line(&target, &["config", key, value]);
        }
        let (start, _) = GixRepository::discover(&target).expect("a repository").head().expect("a commit");
        promote(&target, &result, &route, &|_| true);
        prop_assert_eq!(tree(&target), expected.clone(), "{}: {:#?}", name, result.0.lines);
        if route == Route::Commit {
            prop_assert_eq!(git_line(&target, &["rev-parse", "HEAD^{tree}"]), expected.clone());
        }
        take_back(&target, &route, &start);
        prop_assert_eq!(tree(&target), base.clone(), "{}, taken back: {:#?}", name, result.0.lines);
        let status = git(&target, &["status", "--porcelain", "--ignored"]).stdout;
        prop_assert_eq!(String::from_utf8_lossy(&status), "", "{}, taken back", name);
        if route == Route::Files {
            promote(&target, &result, &route, &is_first);
            promote(&target, &result, &route, &|change| !is_first(change));
            prop_assert_eq!(tree(&target), expected.clone(), "in two parts: {:#?}", result.0.lines);
        }
        if route == Route::Index {
            let branch = Route::Branch { name: b"refs/heads/try".to_vec(), parent: start };
            promote(&target, &result, &branch, &|_| true);
            prop_assert_eq!(git_line(&target, &["rev-parse", "try^{tree}"]), expected.clone());
            prop_assert_eq!(tree(&target), base.clone());
        }
    }
    Ok(())
}

fn config() -> ProptestConfig {
    let cases = std::env::var("ISOBOX_ORACLE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(12);
    ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(0x0150_b0c6),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_promotion_is_what_the_workload_left_and_is_taken_back_to_what_was_there(
        edits in prop::collection::vec(edit(), 1..25),
    ) {
        is_what_the_workload_left(&edits)?;
    }
}
