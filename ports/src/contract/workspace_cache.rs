//! What every implementation of [`WorkspaceCache`] keeps.

use crate::{CachedCopy, Eviction, WorkspaceCache};
use isobox_domain::git_oid::GitOid;
use libtest_mimic::{Failed, Trial};

/// An empty cache, for one case.
pub trait WorkspaceCacheFixture {
    /// The implementation under test.
    fn cache(&self) -> &dyn WorkspaceCache;

    /// Has a copy made of a further commit of one source, on the copy of the commit before it if that is there.
    fn make(&self) -> GitOid;

    /// Uses the copy of a commit from now on.
    fn hold(&self, commit: &GitOid);

    /// Uses no copy any more.
    fn let_go(&self);

    /// Damages the copy of a commit.
    fn damage(&self, commit: &GitOid);

    /// Names of all files and directories of the cache that are of a copy, whole or not.
    fn remains(&self) -> usize;
}

type Case = fn(&dyn WorkspaceCacheFixture) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("a_cache_that_was_never_used_is_empty", empty_is_empty),
    ("every_copy_is_listed_with_what_it_lies_on", every_copy_is_listed),
    ("a_damaged_copy_is_listed_as_one", damaged_is_listed),
    ("listing_changes_nothing", listing_changes_nothing),
    ("an_evicted_copy_is_gone_with_everything_in_it", evicted_is_gone),
    ("a_copy_in_use_is_not_evicted", used_stays),
    ("a_copy_that_another_lies_on_is_not_evicted", lain_on_stays),
    ("evicting_what_is_gone_is_fine", evicting_twice_is_fine),
];

/// The suite, as tests of `name`. `fixture` is called once a case.
pub fn cases<F: WorkspaceCacheFixture + 'static>(name: &str, fixture: fn() -> F) -> Vec<Trial> {
    let trial = |&(case, check): &(&str, Case)| {
        Trial::test(format!("{name}::workspace_cache::{case}"), move || check(&fixture()))
    };
    CASES.iter().map(trial).collect()
}

fn find(fixture: &dyn WorkspaceCacheFixture, commit: &GitOid) -> Result<CachedCopy, Failed> {
    let is_wanted = |copy: &CachedCopy| copy.seal.as_ref().is_some_and(|seal| seal.commit == *commit);
    fixture.cache().list()?.into_iter().find(is_wanted).ok_or_else(|| "the copy is listed".into())
}

fn empty_is_empty(fixture: &dyn WorkspaceCacheFixture) -> Result<(), Failed> {
    assert_eq!(fixture.cache().list()?, []);
    Ok(())
}

fn every_copy_is_listed(fixture: &dyn WorkspaceCacheFixture) -> Result<(), Failed> {
    let [first, second] = [fixture.make(), fixture.make()].map(|commit| find(fixture, &commit));
    let (first, second) = (first?, second?);
    let below = |copy: &CachedCopy| copy.seal.as_ref().map(|seal| seal.below.clone());
    assert_eq!(below(&first), Some(vec![]));
    assert_eq!(below(&second), Some(vec![first.name.clone()]));
    assert!(first.seal.is_some_and(|seal| seal.bytes > 0 && seal.paths > 0));
    let listed = fixture.cache().list()?;
    assert!(listed.is_sorted_by(|a, b| a.name < b.name));
    assert_eq!(listed.len(), 2);
    Ok(())
}

fn damaged_is_listed(fixture: &dyn WorkspaceCacheFixture) -> Result<(), Failed> {
    let commit = fixture.make();
    let name = find(fixture, &commit)?.name;
    fixture.damage(&commit);
    let listed = fixture.cache().list()?;
    assert_eq!(listed.iter().map(|copy| (&copy.name, &copy.seal)).collect::<Vec<_>>(), [(&name, &None)]);
    assert_eq!(fixture.cache().evict(&name)?, Eviction::Removed);
    assert_eq!(fixture.remains(), 0);
    Ok(())
}

fn listing_changes_nothing(fixture: &dyn WorkspaceCacheFixture) -> Result<(), Failed> {
    fixture.make();
    let listed = fixture.cache().list()?;
    assert_eq!(fixture.cache().list()?, listed);
    Ok(())
}

fn evicted_is_gone(fixture: &dyn WorkspaceCacheFixture) -> Result<(), Failed> {
    let commit = fixture.make();
    let name = find(fixture, &commit)?.name;
    assert_eq!(fixture.cache().evict(&name)?, Eviction::Removed);
    assert_eq!((fixture.cache().list()?, fixture.remains()), (vec![], 0));
    Ok(())
}

fn used_stays(fixture: &dyn WorkspaceCacheFixture) -> Result<(), Failed> {
    let commit = fixture.make();
    fixture.hold(&commit);
    let copy = find(fixture, &commit)?;
    assert!(copy.is_in_use);
    assert_eq!(fixture.cache().evict(&copy.name)?, Eviction::InUse);
    fixture.let_go();
    assert!(!find(fixture, &commit)?.is_in_use);
    assert_eq!(fixture.cache().evict(&copy.name)?, Eviction::Removed);
    Ok(())
}

fn lain_on_stays(fixture: &dyn WorkspaceCacheFixture) -> Result<(), Failed> {
    let lower = find(fixture, &fixture.make())?.name;
    let upper = find(fixture, &fixture.make())?.name;
    assert_eq!(fixture.cache().evict(&lower)?, Eviction::LainOn);
    assert_eq!(fixture.cache().evict(&upper)?, Eviction::Removed);
    assert_eq!(fixture.cache().evict(&lower)?, Eviction::Removed);
    assert_eq!(fixture.remains(), 0);
    Ok(())
}

fn evicting_twice_is_fine(fixture: &dyn WorkspaceCacheFixture) -> Result<(), Failed> {
    let name = find(fixture, &fixture.make())?.name;
    assert_eq!(fixture.cache().evict(&name)?, Eviction::Removed);
    assert_eq!(fixture.cache().evict(&name)?, Eviction::Removed);
    Ok(())
}
