//! What every implementation of [`Promotion`](crate::Promotion) keeps.

use crate::{
    Applied, ApplyError, ChangeLines, Content, IndexMode, ObjectStore, RepositoryError, StoreError, TrustedRepository,
};
use isobox_domain::change::{After, Before, Change, ChangeLine, ChangeSetRef, Mode};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::git_oid::GitOid;
use isobox_domain::repo_path::RepoPath;
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

/// What a working tree holds: files and links by path.
pub type Files = BTreeMap<RepoPath, (Mode, Vec<u8>)>;

/// A clean repository with [`FILES`], for one case.
pub trait PromotionFixture {
    /// The implementation under test.
    fn repository(&self) -> &dyn TrustedRepository;

    /// Everything in the working tree.
    fn files(&self) -> Files;

    /// Puts a file or link into the working tree.
    fn put(&self, path: &RepoPath, mode: Mode, content: &[u8]);
}

type Case = fn(&dyn PromotionFixture) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("writes_every_change_byte_for_byte", writes_every_change),
    ("rehearsing_changes_nothing", rehearsing_changes_nothing),
    ("a_path_that_is_not_as_before_says_is_a_conflict_and_nothing_is_changed", other_content_is_a_conflict),
    ("a_path_that_is_occupied_is_a_conflict", occupied_is_a_conflict),
    ("a_path_below_a_symbolic_link_is_a_conflict", below_a_link_is_a_conflict),
    ("a_path_in_a_submodule_is_a_conflict", submodule_is_a_conflict),
    ("conflicts_are_listed_ten_at_most_with_a_count", conflicts_are_counted),
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
    CASES.iter().map(trial).collect()
}

/// A Change Set and the store that holds its contents.
#[derive(Default)]
struct Changes {
    changes: BTreeMap<Vec<u8>, Change>,
    contents: BTreeMap<ContentId, Vec<u8>>,
}

impl Changes {
    fn with(mut self, path: &[u8], before: Option<(Mode, &[u8])>, after: Option<(Mode, &[u8])>) -> Self {
        // Git's own name of the content before is looked at only where the bytes differ; no blob has this one.
        let oid = GitOid::Sha1([0; 20]);
        let before = before.map(|(mode, content)| Before { mode, oid, content: Some(self.stage(content)) });
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
    let expected: Files = changes
        .changes
        .values()
        .filter_map(|change| {
            let after = change.after.as_ref()?;
            Some((change.path.clone(), (after.mode, changes.contents[&after.content.id].clone())))
        })
        .collect();
    let mut promotion = fixture.repository().begin_promotion()?;
    let applied = promotion.apply(changes.lines(), &changes, IndexMode::Leave, b"receipt")?;
    promotion.finish()?;
    assert_eq!(applied, Applied { paths: 9 });
    assert_eq!(fixture.files(), expected);
    Ok(())
}

fn rehearsing_changes_nothing(fixture: &dyn PromotionFixture) -> Result<(), Failed> {
    let before = fixture.files();
    let rehearsed = fixture.repository().begin_promotion()?.rehearse(every_kind().lines())?;
    assert_eq!(rehearsed, Applied { paths: 9 });
    assert_eq!(fixture.files(), before);
    Ok(())
}

/// That `changes` have this many conflicts and change nothing, and how many of them are listed.
fn conflicts(fixture: &dyn PromotionFixture, changes: &Changes, expected: u64) -> Result<usize, Failed> {
    let before = fixture.files();
    let mut promotion = fixture.repository().begin_promotion()?;
    let rehearsed = promotion.rehearse(changes.lines()).err();
    let applied = promotion.apply(changes.lines(), changes, IndexMode::Leave, b"receipt").err();
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
    assert!(promotion.apply(changes.lines(), &changes, IndexMode::Leave, b"receipt").is_err());
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
    promotion.apply(changes.lines(), &changes, IndexMode::Leave, b"receipt")?;
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
