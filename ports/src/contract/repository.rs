//! What every implementation of [`TrustedRepository`] keeps when it is looked at.

use crate::TrustedRepository;
use isobox_domain::change::{After, Change, ChangeLine, Mode};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::repo_path::RepoPath;
use isobox_domain::source::{Cleanliness, DirtyEntry, DirtyState, SnapshotDifference, WorkspaceSource};
use libtest_mimic::{Failed, Trial};

/// A clean repository with at least one commit, for one case.
pub trait RepositoryFixture {
    /// The implementation under test.
    fn repository(&self) -> &dyn TrustedRepository;

    /// What it must say of its source.
    fn expected_source(&self) -> WorkspaceSource;

    /// Puts a file that the commit does not have into the working tree.
    fn add_untracked(&self, path: &RepoPath);

    /// Something that differs whenever a byte of the repository, its index included, or a time of modification does.
    fn fingerprint(&self) -> Vec<u8>;
}

type Case = fn(&dyn RepositoryFixture) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("the_source_is_pinned_at_head", source_is_pinned),
    ("a_repository_as_its_head_says_is_clean", untouched_is_clean),
    ("what_makes_it_dirty_is_listed_in_path_order_ten_at_most_with_a_count", dirt_is_listed),
    ("a_working_tree_in_the_state_of_a_snapshot_differs_nowhere_and_any_other_does", snapshots_are_compared),
    ("content_has_one_name_and_other_content_another", content_is_named),
    ("looking_writes_nothing", looking_writes_nothing),
];

/// The suite, as tests of `name`. `fixture` is called once a case.
pub fn cases<F: RepositoryFixture + 'static>(name: &str, fixture: fn() -> F) -> Vec<Trial> {
    let trial = |(case, run): &(&str, Case)| {
        let run = *run;
        Trial::test(format!("{name}::{case}"), move || run(&fixture()))
    };
    CASES.iter().map(trial).collect()
}

fn source_is_pinned(fixture: &dyn RepositoryFixture) -> Result<(), Failed> {
    assert_eq!(fixture.repository().source()?, fixture.expected_source());
    Ok(())
}

fn untouched_is_clean(fixture: &dyn RepositoryFixture) -> Result<(), Failed> {
    assert_eq!(fixture.repository().cleanliness()?, Cleanliness::Clean);
    Ok(())
}

fn dirt_is_listed(fixture: &dyn RepositoryFixture) -> Result<(), Failed> {
    // Invalid UTF-8 sorts after every letter, a newline before.
    let names = [b"z\n".as_slice(), b"\xff", b"a", b"b", b"c", b"d", b"e", b"f", b"g", b"h", b"i", b"j"];
    for name in names {
        fixture.add_untracked(&RepoPath::parse(name)?);
    }
    let listed = [b"a".as_slice(), b"b", b"c", b"d", b"e", b"f", b"g", b"h", b"i", b"j"];
    let entry = |path: &[u8]| DirtyEntry { path: path.to_vec(), state: DirtyState::Untracked };
    let first = listed.into_iter().map(entry).collect();
    assert_eq!(fixture.repository().cleanliness()?, Cleanliness::Dirty { first, count: 12 });
    Ok(())
}

/// The line of a file that `add_untracked` adds, with that content.
fn added(path: &RepoPath, content: &[u8]) -> ChangeLine {
    let content = ContentRef { id: ContentId::new(*blake3::hash(content).as_bytes()), length: content.len() as u64 };
    let after = Some(After { mode: Mode::File, content, binary: false });
    ChangeLine::Change(Change { path: path.clone(), before: None, after, renamed_from: None, submodule: None })
}

fn snapshots_are_compared(fixture: &dyn RepositoryFixture) -> Result<(), Failed> {
    let commit = fixture.expected_source().commit;
    let compare =
        |lines: Vec<ChangeLine>| fixture.repository().compare_snapshot(&commit, Box::new(lines.into_iter().map(Ok)));
    let (one, other) = (RepoPath::parse(b"one\xff")?, RepoPath::parse("other")?);
    assert_eq!(compare(vec![])?, SnapshotDifference::default());
    let at_one = SnapshotDifference { first: vec![one.as_bytes().to_vec()], count: 1 };
    assert_eq!(compare(vec![added(&one, b"x")])?, at_one, "what is not there");
    fixture.add_untracked(&one);
    assert_eq!(compare(vec![added(&one, b"x")])?, SnapshotDifference::default());
    assert_eq!(compare(vec![added(&one, b"y")])?, at_one, "other content");
    assert_eq!(compare(vec![])?, at_one, "what is new");
    fixture.add_untracked(&other);
    let at_other = SnapshotDifference { first: vec![other.as_bytes().to_vec()], count: 1 };
    assert_eq!(compare(vec![added(&one, b"x")])?, at_other);
    Ok(())
}

fn content_is_named(fixture: &dyn RepositoryFixture) -> Result<(), Failed> {
    let name = |content: &[u8]| fixture.repository().blob_name(&RepoPath::parse("a")?, content).map_err(Failed::from);
    assert_eq!(name(b"one\n")?, name(b"one\n")?);
    assert_ne!(name(b"one\n")?, name(b"two\n")?);
    Ok(())
}

fn looking_writes_nothing(fixture: &dyn RepositoryFixture) -> Result<(), Failed> {
    let before = fixture.fingerprint();
    fixture.repository().source()?;
    fixture.repository().cleanliness()?;
    assert!(fixture.fingerprint() == before, "something was written");
    Ok(())
}
