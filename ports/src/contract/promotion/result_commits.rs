//! What every implementation of [`ResultCommits`] keeps.

use super::{Changes, Files, PromotionFixture, TRY, changed, converted, every_kind, text};
use crate::{ApplyError, CommitAside, ResultCommits};
use isobox_domain::change::Mode;
use isobox_domain::git_oid::GitOid;
use isobox_domain::source::{Cleanliness, WorkspaceSource};
use libtest_mimic::{Failed, Trial};

/// A clean repository with the files of a Promotion's, for one case.
pub trait ResultCommitsFixture: PromotionFixture {
    /// The implementation under test.
    fn commits(&self) -> &dyn ResultCommits;

    /// The files of a commit, if the repository has it.
    fn files_of(&self, commit: &GitOid) -> Option<Files>;
}

type Case = fn(&dyn ResultCommitsFixture) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("a_commit_holds_every_change_and_nothing_names_it", makes),
    ("the_same_changes_are_the_same_commit", makes_the_same),
    ("a_commit_beside_the_repository_is_the_same_and_is_not_in_it", makes_aside),
    ("its_patch_is_the_same_each_time", patches_alike),
    ("a_commit_on_what_is_not_there_is_refused", refuses_a_parent),
    ("a_path_that_is_not_as_before_says_is_refused", refuses_other_content),
    ("a_branch_names_a_commit_and_one_that_is_there_stays", makes_a_branch),
];

/// The suite, as tests of `name`. `fixture` is called once a case.
pub fn cases<F: ResultCommitsFixture + 'static>(name: &str, fixture: fn() -> F) -> Vec<Trial> {
    let trial = |(case, run): &(&str, Case)| {
        let run = *run;
        Trial::test(format!("{name}::{case}"), move || run(&fixture()))
    };
    CASES.iter().map(trial).collect()
}

fn head(fixture: &dyn ResultCommitsFixture) -> Result<GitOid, Failed> {
    Ok(fixture.repository().source()?.commit)
}

fn make(fixture: &dyn ResultCommitsFixture) -> Result<GitOid, Failed> {
    let changes = every_kind();
    Ok(fixture.commits().make(&head(fixture)?, changes.lines(), &changes, &text())?)
}

fn aside(fixture: &dyn ResultCommitsFixture) -> Result<Box<dyn CommitAside>, Failed> {
    let changes = every_kind();
    Ok(fixture.commits().make_aside(&head(fixture)?, changes.lines(), &changes, &text())?)
}

/// That neither files nor HEAD nor index are other than `before`.
fn untouched(fixture: &dyn ResultCommitsFixture, before: (Files, WorkspaceSource)) -> Result<(), Failed> {
    assert_eq!((fixture.files(), fixture.repository().source()?), before);
    assert_eq!(fixture.repository().cleanliness()?, Cleanliness::Clean);
    assert_eq!(fixture.branch(TRY), None);
    Ok(())
}

fn makes(fixture: &dyn ResultCommitsFixture) -> Result<(), Failed> {
    let before = (fixture.files(), fixture.repository().source()?);
    let made = make(fixture)?;
    assert_eq!(fixture.files_of(&made).map(converted), Some(converted(changed(&every_kind()))));
    untouched(fixture, before)
}

fn makes_the_same(fixture: &dyn ResultCommitsFixture) -> Result<(), Failed> {
    assert_eq!(make(fixture)?, make(fixture)?);
    Ok(())
}

fn makes_aside(fixture: &dyn ResultCommitsFixture) -> Result<(), Failed> {
    let before = (fixture.files(), fixture.repository().source()?);
    let aside = aside(fixture)?;
    assert_eq!(fixture.files_of(&aside.id()), None);
    untouched(fixture, before)?;
    assert_eq!(make(fixture)?, aside.id());
    Ok(())
}

fn patches_alike(fixture: &dyn ResultCommitsFixture) -> Result<(), Failed> {
    let (aside, mut first, mut second) = (aside(fixture)?, Vec::new(), Vec::new());
    aside.write_patch(&mut first)?;
    aside.write_patch(&mut second)?;
    assert!(!first.is_empty());
    assert_eq!(first, second);
    Ok(())
}

fn refuses_a_parent(fixture: &dyn ResultCommitsFixture) -> Result<(), Failed> {
    let changes = every_kind();
    let refused = fixture.commits().make(&GitOid::Sha1([9; 20]), changes.lines(), &changes, &text());
    assert!(matches!(refused, Err(ApplyError::Refused { .. })), "{refused:?}");
    Ok(())
}

fn refuses_other_content(fixture: &dyn ResultCommitsFixture) -> Result<(), Failed> {
    let changes = Changes::default().with(b"modified", Some((Mode::File, b"other\n")), None);
    let refused = fixture.commits().make(&head(fixture)?, changes.lines(), &changes, &text());
    assert!(matches!(refused, Err(ApplyError::Conflicts { count: 1, .. })), "{refused:?}");
    Ok(())
}

fn makes_a_branch(fixture: &dyn ResultCommitsFixture) -> Result<(), Failed> {
    let made = make(fixture)?;
    fixture.commits().make_branch(TRY, &made)?;
    assert_eq!(fixture.branch(TRY), fixture.files_of(&made));
    let refused = fixture.commits().make_branch(TRY, &head(fixture)?);
    assert!(matches!(refused, Err(ApplyError::Refused { .. })), "{refused:?}");
    assert_eq!(fixture.branch(TRY), fixture.files_of(&made));
    Ok(())
}
