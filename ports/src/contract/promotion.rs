//! What every implementation of [`Promotion`](crate::Promotion) keeps.

mod merging;
pub mod result_commits;

use crate::{
    Applied, ApplyError, ChangeLines, CommitText, Content, Landing, ObjectStore, RepositoryError, Route, StoreError,
    TrustedRepository,
};
use isobox_domain::change::{After, Before, Change, ChangeLine, ChangeSetRef, Mode};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::git_oid::GitOid;
use isobox_domain::repo_path::RepoPath;
use isobox_domain::source::{Cleanliness, WorkspaceSource};
use isobox_domain::timestamp::Timestamp;
use libtest_mimic::{Failed, Trial};
use std::collections::BTreeMap;
use std::io::Cursor;

/// The files of the repository that a fixture makes: path, kind, content.
pub const FILES: &[(&[u8], Mode, &[u8])] = &[
    (b"directory/x", Mode::File, b"x"),
    (b"file", Mode::File, b"becomes a directory"),
    (b"link", Mode::Symlink, b"directory"),
    (b"modified", Mode::File, b"one\n"),
    (b"tool", Mode::Executable, b"#!/bin/sh\n"),
];

/// Git's names of what [`FILES`] hold, in hexadecimal digits: nothing here computes SHA-1.
const BLOBS: &[(&[u8], [u8; 40])] = &[
    (b"x", *b"c1b0730e0133447badcfd47fd144e254807b06e1"),
    (b"becomes a directory", *b"7cd64c2813803d1f875e2a48db6167280d4a402e"),
    (b"directory", *b"6d0450cc24215ff8c7134cc12bf9d7e9f033001d"),
    (b"one\n", *b"5626abf0f72e58d7a153368ba57db4c673c0e171"),
    (b"#!/bin/sh\n", *b"1a2485251c33a70432394c93fb89330ef214bfc9"),
];

/// What a working tree holds: files and links by path.
pub type Files = BTreeMap<RepoPath, (Mode, Vec<u8>)>;

/// A clean repository with [`FILES`], for one case.
pub trait PromotionFixture {
    /// The implementation under test.
    fn repository(&self) -> &dyn TrustedRepository;

    /// Everything in the working tree.
    fn files(&self) -> Files;

    /// The files of the commit that a branch names.
    fn branch(&self, name: &[u8]) -> Option<Files>;

    /// Puts a file or link into the working tree.
    fn put(&self, path: &RepoPath, mode: Mode, content: &[u8]);
}

type Case = fn(&dyn PromotionFixture) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("writes_every_change_byte_for_byte", writes_every_change),
    ("rehearsing_changes_nothing", rehearsing_changes_nothing),
    ("a_commit_holds_every_change_and_head_is_there", commits),
    ("a_commit_that_nobody_names_is_seen_nowhere", commits_without_a_trace),
    ("a_branch_holds_every_change_and_nothing_else_is_touched", makes_a_branch),
    ("a_branch_is_made_whatever_the_working_tree_is_like", makes_a_branch_beside_edits),
    ("a_branch_that_is_there_or_cannot_be_is_left_alone", leaves_branches_alone),
    ("a_path_that_is_not_as_before_says_is_a_conflict_and_nothing_is_changed", other_content_is_a_conflict),
    ("a_path_that_is_occupied_is_a_conflict", occupied_is_a_conflict),
    ("a_path_below_a_symbolic_link_is_a_conflict", below_a_link_is_a_conflict),
    ("a_path_in_a_submodule_is_a_conflict", submodule_is_a_conflict),
    ("conflicts_are_listed_ten_at_most_with_a_count", conflicts_are_counted),
    ("what_was_promoted_last_is_taken_back", is_taken_back),
    ("a_commit_that_is_taken_back_leaves_head_where_it_was", commit_is_taken_back),
    ("a_branch_that_is_taken_back_is_gone_unless_it_was_moved", branch_is_taken_back),
    ("what_was_touched_since_is_not_taken_back", touched_is_not_taken_back),
    ("content_that_is_not_in_the_store_changes_nothing", lost_content_changes_nothing),
    ("one_at_a_time_holds_the_lock_until_it_is_dropped", one_holds_the_lock),
    ("what_was_applied_and_not_finished_is_handed_back_until_it_is", unfinished_is_handed_back),
];

/// The suite, as tests of `name`. `fixture` is called once a case.
pub fn cases<F: PromotionFixture + 'static>(name: &str, fixture: fn() -> F) -> Vec<Trial> {
    let trial = |(case, run): &(&str, Case)| {
        let run = *run;
        Trial::test(format!("{name}::{case}"), move || run(&fixture()))
    };
    CASES.iter().chain(merging::CASES).map(trial).collect()
}

/// A Change Set and the store that holds its contents.
#[derive(Default)]
struct Changes {
    changes: BTreeMap<Vec<u8>, Change>,
    contents: BTreeMap<ContentId, Vec<u8>>,
}

impl Changes {
    fn with(mut self, path: &[u8], before: Option<(Mode, &[u8])>, after: Option<(Mode, &[u8])>) -> Self {
        let before =
            before.map(|(mode, content)| Before { mode, oid: blob(content), content: Some(self.stage(content)) });
        let after = after.map(|(mode, content)| After { mode, content: self.stage(content), binary: false });
        let change = Change { path: parsed(path), before, after, renamed_from: None, submodule: None };
        self.changes.insert(path.to_vec(), change);
        self
    }

    fn stage(&mut self, content: &[u8]) -> ContentRef {
        let id = ContentId::new(*blake3::hash(content).as_bytes());
        self.contents.insert(id, content.to_vec());
        ContentRef { id, length: content.len() as u64 }
    }

    fn lines(&self) -> ChangeLines<'_> {
        Box::new(self.changes.values().cloned().map(|change| Ok(ChangeLine::Change(change))))
    }
}

impl ObjectStore for Changes {
    fn open(&self, id: &ContentId) -> Result<Option<Content>, StoreError> {
        Ok(self.contents.get(id).map(|bytes| Box::new(Cursor::new(bytes.clone())) as Content))
    }

    fn changes(&self, _: &ChangeSetRef) -> Result<ChangeLines<'_>, StoreError> {
        Ok(self.lines())
    }
}

/// Git's name of a content; one that no blob has where it is none of [`FILES`].
fn blob(content: &[u8]) -> GitOid {
    let digits = BLOBS.iter().find(|(known, _)| *known == content).map(|(_, digits)| digits);
    let byte = |pair: &[u8]| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let bytes = digits.map(|digits| std::array::from_fn(|at| byte(&digits[at * 2..at * 2 + 2]).unwrap_or_default()));
    GitOid::Sha1(bytes.unwrap_or([0; 20]))
}

fn parsed(path: &[u8]) -> RepoPath {
    RepoPath::parse(path).unwrap_or_else(|why| panic!("a path of the suite is none: {why}"))
}

/// One change of every kind.
fn every_kind() -> Changes {
    Changes::default()
        .with(b"added/b\xffytes\n", None, Some((Mode::File, b"\x00\r\n\xff")))
        .with(b"added/tool", None, Some((Mode::Executable, b"")))
        .with(b"directory", None, Some((Mode::File, b"was a directory")))
        .with(b"directory/x", Some((Mode::File, b"x")), None)
        .with(b"file", Some((Mode::File, b"becomes a directory")), None)
        .with(b"file/inner", None, Some((Mode::File, b"inner")))
        .with(b"link", Some((Mode::Symlink, b"directory")), Some((Mode::Symlink, b"/nowhere/at all")))
        .with(b"modified", Some((Mode::File, b"one\n")), Some((Mode::File, b"two\r\n")))
        .with(b"tool", Some((Mode::Executable, b"#!/bin/sh\n")), Some((Mode::File, b"#!/bin/sh\n")))
}

fn writes_every_change(fixture: &dyn PromotionFixture) -> Result<(), Failed> {
    let changes = every_kind();
    let expected = changed(&changes);
    let mut promotion = fixture.repository().begin_promotion()?;
    let applied = promotion.apply(changes.lines(), &changes, Landing::without_commit(&Route::Files), b"receipt")?;
    promotion.finish()?;
    assert_eq!(applied, Applied { paths: 9 });
    assert_eq!(fixture.files(), expected);
    Ok(())
}

const TRY: &[u8] = b"refs/heads/try/this";

fn text() -> CommitText {
    CommitText { message: b"Changed\n".to_vec(), at: Timestamp::nearest(1_800_000_000_000) }
}

/// What `changes` make of [`FILES`], all of which they change.
fn changed(changes: &Changes) -> Files {
    let after = |change: &Change| {
        let after = change.after.as_ref()?;
        Some((change.path.clone(), (after.mode, changes.contents[&after.content.id].clone())))
    };
    changes.changes.values().filter_map(after).collect()
}

/// Whatever the user's configuration makes of ends of lines in a commit.
fn converted(mut files: Files) -> Files {
    if let Some((_, content)) = files.get_mut(&parsed(b"modified")) {
        content.retain(|byte| *byte != b'\r');
    }
    files
}

/// Makes the commit of a route, and brings everything there.
fn land(fixture: &dyn PromotionFixture, route: &Route) -> Result<GitOid, Failed> {
    let changes = every_kind();
    let head = fixture.repository().source()?.commit;
    let mut promotion = fixture.repository().begin_promotion()?;
    promotion.rehearse(changes.lines(), route)?;
    let made = promotion.commit(changes.lines(), &changes, route, &text())?;
    let landing = Landing { route, made: Some(&made), head: Some(&head) };
    assert_eq!(promotion.apply(changes.lines(), &changes, landing, b"receipt")?, Applied { paths: 9 });
    promotion.finish()?;
    Ok(made)
}

fn commits(fixture: &dyn PromotionFixture) -> Result<(), Failed> {
    let before = fixture.repository().source()?;
    let made = land(fixture, &Route::Commit)?;
    assert_eq!(fixture.files(), changed(&every_kind()));
    assert_eq!(fixture.repository().source()?, WorkspaceSource { commit: made, ..before });
    assert_eq!(fixture.repository().cleanliness()?, Cleanliness::Clean);
    Ok(())
}

fn commits_without_a_trace(fixture: &dyn PromotionFixture) -> Result<(), Failed> {
    let (files, source) = (fixture.files(), fixture.repository().source()?);
    let changes = every_kind();
    fixture.repository().begin_promotion()?.commit(changes.lines(), &changes, &Route::Commit, &text())?;
    assert_eq!((fixture.files(), fixture.repository().source()?), (files, source));
    assert_eq!(fixture.repository().cleanliness()?, Cleanliness::Clean);
    Ok(())
}

fn branch(fixture: &dyn PromotionFixture, name: &[u8]) -> Result<Route, Failed> {
    Ok(Route::Branch { name: name.to_vec(), parent: fixture.repository().source()?.commit })
}

fn makes_a_branch(fixture: &dyn PromotionFixture) -> Result<(), Failed> {
    let (files, source) = (fixture.files(), fixture.repository().source()?);
    land(fixture, &branch(fixture, TRY)?)?;
    assert_eq!((fixture.files(), fixture.repository().source()?), (files, source));
    assert_eq!(fixture.repository().cleanliness()?, Cleanliness::Clean);
    assert_eq!(fixture.branch(TRY).map(converted), Some(converted(changed(&every_kind()))));
    Ok(())
}

fn makes_a_branch_beside_edits(fixture: &dyn PromotionFixture) -> Result<(), Failed> {
    fixture.put(&parsed(b"added/tool"), Mode::File, b"mine");
    land(fixture, &branch(fixture, TRY)?)?;
    assert_eq!(fixture.branch(TRY).map(converted), Some(converted(changed(&every_kind()))));
    assert_eq!(fixture.files().get(&parsed(b"added/tool")), Some(&(Mode::File, b"mine".to_vec())));
    Ok(())
}

fn leaves_branches_alone(fixture: &dyn PromotionFixture) -> Result<(), Failed> {
    land(fixture, &branch(fixture, TRY)?)?;
    for name in [TRY, b"refs/tags/x"] {
        let changes = every_kind();
        let mut promotion = fixture.repository().begin_promotion()?;
        let refused = promotion.rehearse(changes.lines(), &branch(fixture, name)?).err();
        assert!(matches!(refused, Some(ApplyError::Refused { .. })), "{refused:?}");
    }
    assert_eq!(fixture.branch(TRY).map(converted), Some(converted(changed(&every_kind()))));
    Ok(())
}

/// Promotes by a route; what is taken back lands on `made`.
fn back_and_forth(fixture: &dyn PromotionFixture, route: &Route) -> Result<(), Failed> {
    let (files, source) = (fixture.files(), fixture.repository().source()?);
    assert_eq!(fixture.repository().begin_promotion()?.last()?, None);
    match route {
        Route::Commit => drop(land(fixture, route)?),
        _ => {
            let changes = every_kind();
            let mut promotion = fixture.repository().begin_promotion()?;
            promotion.apply(changes.lines(), &changes, Landing::without_commit(route), b"receipt")?;
            promotion.finish()?;
        }
    }
    let mut promotion = fixture.repository().begin_promotion()?;
    assert_eq!(promotion.last()?, Some(b"receipt".to_vec()));
    let head = fixture.repository().source()?.commit;
    let made = (*route == Route::Commit).then_some(&source.commit);
    if made.is_some() {
        // As if somebody had committed on top of it.
        let elsewhere = Landing { route, made, head: made };
        assert!(matches!(promotion.take_back(elsewhere, b"undone"), Err(ApplyError::Refused { .. })));
    }
    assert_eq!(promotion.take_back(Landing { route, made, head: Some(&head) }, b"undone")?, Applied { paths: 9 });
    promotion.finish()?;
    assert_eq!(promotion.last()?, Some(b"undone".to_vec()));
    drop(promotion);
    assert_eq!((fixture.files(), fixture.repository().source()?), (files, source));
    assert_eq!(fixture.repository().cleanliness()?, Cleanliness::Clean);
    Ok(())
}

fn is_taken_back(fixture: &dyn PromotionFixture) -> Result<(), Failed> {
    back_and_forth(fixture, &Route::Files)
}

fn commit_is_taken_back(fixture: &dyn PromotionFixture) -> Result<(), Failed> {
    back_and_forth(fixture, &Route::Commit)
}

fn branch_is_taken_back(fixture: &dyn PromotionFixture) -> Result<(), Failed> {
    let (files, source) = (fixture.files(), fixture.repository().source()?);
    let route = &branch(fixture, TRY)?;
    let made = land(fixture, route)?;
    let mut promotion = fixture.repository().begin_promotion()?;
    let elsewhere = Landing { route, made: Some(&source.commit), head: None };
    assert!(matches!(promotion.take_back(elsewhere, b"undone"), Err(ApplyError::Refused { .. })));
    assert!(fixture.branch(TRY).is_some());
    for _ in 0..2 {
        promotion.take_back(Landing { route, made: Some(&made), head: None }, b"undone")?;
        promotion.finish()?;
        assert_eq!((fixture.branch(TRY), promotion.last()?), (None, Some(b"undone".to_vec())), "gone, or gone before");
    }
    drop(promotion);
    assert_eq!((fixture.files(), fixture.repository().source()?), (files, source));
    land(fixture, route)?;
    Ok(())
}

fn touched_is_not_taken_back(fixture: &dyn PromotionFixture) -> Result<(), Failed> {
    let changes = every_kind();
    let mut promotion = fixture.repository().begin_promotion()?;
    promotion.apply(changes.lines(), &changes, Landing::without_commit(&Route::Files), b"receipt")?;
    promotion.finish()?;
    fixture.put(&parsed(b"modified"), Mode::File, b"mine");
    let files = fixture.files();
    let refused = promotion.take_back(Landing::without_commit(&Route::Files), b"undone").err();
    assert!(matches!(refused, Some(ApplyError::Conflicts { count: 1, .. })), "{refused:?}");
    assert_eq!((fixture.files(), promotion.last()?), (files, Some(b"receipt".to_vec())));
    Ok(())
}

fn rehearsing_changes_nothing(fixture: &dyn PromotionFixture) -> Result<(), Failed> {
    let before = fixture.files();
    let rehearsed = fixture.repository().begin_promotion()?.rehearse(every_kind().lines(), &Route::Files)?;
    assert_eq!(rehearsed, Applied { paths: 9 });
    assert_eq!(fixture.files(), before);
    Ok(())
}

/// That `changes` have this many conflicts and change nothing, and how many of them are listed.
fn conflicts(fixture: &dyn PromotionFixture, changes: &Changes, expected: u64) -> Result<usize, Failed> {
    let before = fixture.files();
    let mut promotion = fixture.repository().begin_promotion()?;
    let rehearsed = promotion.rehearse(changes.lines(), &Route::Files).err();
    let applied = promotion.apply(changes.lines(), changes, Landing::without_commit(&Route::Files), b"receipt").err();
    assert_eq!(fixture.files(), before);
    match (rehearsed, applied) {
        (Some(ApplyError::Conflicts { first, count }), Some(ApplyError::Conflicts { first: again, count: later })) => {
            assert_eq!((&first, count), (&again, later));
            assert_eq!(count, expected, "{first:?}");
            Ok(first.len())
        }
        other => Err(format!("expected conflicts, found {other:?}").into()),
    }
}

fn other_content_is_a_conflict(fixture: &dyn PromotionFixture) -> Result<(), Failed> {
    let changes = every_kind().with(b"modified", Some((Mode::File, b"other\n")), None).with(
        b"tool",
        Some((Mode::File, b"#!/bin/sh\n")),
        None,
    );
    conflicts(fixture, &changes.with(b"zzz", Some((Mode::File, b"missing")), None), 3)?;
    Ok(())
}

fn occupied_is_a_conflict(fixture: &dyn PromotionFixture) -> Result<(), Failed> {
    fixture.put(&parsed(b"added/tool"), Mode::File, b"mine");
    conflicts(fixture, &every_kind(), 1)?;
    Ok(())
}

fn below_a_link_is_a_conflict(fixture: &dyn PromotionFixture) -> Result<(), Failed> {
    conflicts(fixture, &Changes::default().with(b"link/below", None, Some((Mode::File, b"1"))), 1)?;
    Ok(())
}

fn submodule_is_a_conflict(fixture: &dyn PromotionFixture) -> Result<(), Failed> {
    let mut changes = every_kind().with(b"sub/x", None, Some((Mode::File, b"1")));
    if let Some(change) = changes.changes.get_mut(b"sub/x".as_slice()) {
        change.submodule = Some(parsed(b"sub"));
    }
    conflicts(fixture, &changes, 1)?;
    Ok(())
}

fn conflicts_are_counted(fixture: &dyn PromotionFixture) -> Result<(), Failed> {
    let missing = (10..35).map(|n| format!("missing-{n}"));
    let before: Option<(Mode, &[u8])> = Some((Mode::File, b""));
    let changes = missing.fold(Changes::default(), |changes, path| changes.with(path.as_bytes(), before, None));
    assert_eq!(conflicts(fixture, &changes, 25)?, 10);
    Ok(())
}

fn lost_content_changes_nothing(fixture: &dyn PromotionFixture) -> Result<(), Failed> {
    let before = fixture.files();
    let mut changes = every_kind();
    changes.contents.retain(|_, content| content != b"two\r\n");
    let mut promotion = fixture.repository().begin_promotion()?;
    assert!(promotion.apply(changes.lines(), &changes, Landing::without_commit(&Route::Files), b"receipt").is_err());
    assert_eq!(fixture.files(), before);
    Ok(())
}

fn one_holds_the_lock(fixture: &dyn PromotionFixture) -> Result<(), Failed> {
    let held = fixture.repository().begin_promotion()?;
    assert!(matches!(fixture.repository().begin_promotion().err(), Some(RepositoryError::Locked { .. })));
    drop(held);
    fixture.repository().begin_promotion()?;
    Ok(())
}

fn unfinished_is_handed_back(fixture: &dyn PromotionFixture) -> Result<(), Failed> {
    let changes = every_kind();
    let mut promotion = fixture.repository().begin_promotion()?;
    assert_eq!(promotion.unfinished(), None);
    promotion.apply(changes.lines(), &changes, Landing::without_commit(&Route::Files), b"receipt")?;
    drop(promotion);
    let receipt =
        |promotion: &dyn crate::Promotion| promotion.unfinished().map(|unfinished| unfinished.receipt.clone());
    assert_eq!(receipt(&*fixture.repository().begin_promotion()?), Some(b"receipt".to_vec()));
    let mut later = fixture.repository().begin_promotion()?;
    assert_eq!(receipt(&*later), Some(b"receipt".to_vec()));
    later.finish()?;
    drop(later);
    assert_eq!(receipt(&*fixture.repository().begin_promotion()?), None);
    Ok(())
}
