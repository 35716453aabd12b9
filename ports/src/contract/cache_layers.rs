//! What every implementation of [`CacheLayers`] keeps.

use crate::{CacheLayer, CacheLayers, Eviction};
use libtest_mimic::{Failed, Trial};
use std::path::Path;

/// A user without any layer, for one case.
pub trait CacheLayersFixture {
    /// The implementation under test.
    fn layers(&self) -> &dyn CacheLayers;

    /// Has an attempt of a project write something that takes bytes, while it has a layer of its own; none other has it afterwards.
    fn write(&self, project: &Path);

    /// Has an attempt of a project take a layer, until it is let go.
    fn hold(&self, project: &Path);

    /// Ends the attempts that hold layers.
    fn let_go(&self);

    /// Names of all that is there of layers.
    fn remains(&self) -> usize;
}

type Case = fn(&dyn CacheLayersFixture) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("a_user_who_lent_nothing_has_no_layer", empty_is_empty),
    ("every_layer_is_listed_with_its_project_and_what_it_takes", every_layer_is_listed),
    ("listing_changes_nothing", listing_changes_nothing),
    ("an_evicted_layer_is_gone_with_everything_in_it_and_no_other_is", evicted_is_gone),
    ("a_layer_in_use_is_not_evicted", used_stays),
    ("evicting_what_is_gone_is_fine", evicting_twice_is_fine),
];

const PROJECTS: [&str; 2] = ["/app/.git", "/other/.git"];

/// The suite, as tests of `name`. `fixture` is called once a case.
pub fn cases<F: CacheLayersFixture + 'static>(name: &str, fixture: fn() -> F) -> Vec<Trial> {
    let trial =
        |&(case, check): &(&str, Case)| Trial::test(format!("{name}::cache_layers::{case}"), move || check(&fixture()));
    CASES.iter().map(trial).collect()
}

fn find(fixture: &dyn CacheLayersFixture, project: &str) -> Result<CacheLayer, Failed> {
    let is_wanted = |layer: &CacheLayer| layer.project.as_deref() == Some(Path::new(project));
    fixture.layers().list()?.into_iter().find(is_wanted).ok_or_else(|| "the layer is listed".into())
}

fn empty_is_empty(fixture: &dyn CacheLayersFixture) -> Result<(), Failed> {
    assert_eq!(fixture.layers().list()?, []);
    Ok(())
}

fn every_layer_is_listed(fixture: &dyn CacheLayersFixture) -> Result<(), Failed> {
    PROJECTS.iter().for_each(|project| fixture.write(Path::new(project)));
    let listed = fixture.layers().list()?;
    assert_eq!(listed.len(), 2);
    assert!(listed.is_sorted_by(|a, b| a.name < b.name));
    for project in PROJECTS {
        let layer = find(fixture, project)?;
        assert!(layer.bytes > 0 && layer.used_at.unix_ms() > 0 && !layer.is_in_use, "{layer:?}");
    }
    Ok(())
}

fn listing_changes_nothing(fixture: &dyn CacheLayersFixture) -> Result<(), Failed> {
    fixture.write(Path::new(PROJECTS[0]));
    fixture.hold(Path::new(PROJECTS[1]));
    let listed = fixture.layers().list()?;
    assert_eq!(fixture.layers().list()?, listed);
    Ok(())
}

fn evicted_is_gone(fixture: &dyn CacheLayersFixture) -> Result<(), Failed> {
    PROJECTS.iter().for_each(|project| fixture.write(Path::new(project)));
    let (evicted, kept) = (find(fixture, PROJECTS[0])?, find(fixture, PROJECTS[1])?);
    assert_eq!(fixture.layers().evict(&evicted.name)?, Eviction::Removed);
    assert_eq!(fixture.layers().list()?, std::slice::from_ref(&kept));
    assert_eq!(fixture.layers().evict(&kept.name)?, Eviction::Removed);
    assert_eq!((fixture.layers().list()?, fixture.remains()), (vec![], 0));
    Ok(())
}

fn used_stays(fixture: &dyn CacheLayersFixture) -> Result<(), Failed> {
    fixture.hold(Path::new(PROJECTS[0]));
    let layer = find(fixture, PROJECTS[0])?;
    assert!(layer.is_in_use);
    assert_eq!(fixture.layers().evict(&layer.name)?, Eviction::InUse);
    fixture.let_go();
    assert!(!find(fixture, PROJECTS[0])?.is_in_use);
    assert_eq!(fixture.layers().evict(&layer.name)?, Eviction::Removed);
    assert_eq!(fixture.remains(), 0);
    Ok(())
}

fn evicting_twice_is_fine(fixture: &dyn CacheLayersFixture) -> Result<(), Failed> {
    fixture.write(Path::new(PROJECTS[0]));
    let name = find(fixture, PROJECTS[0])?.name;
    assert_eq!(fixture.layers().evict(&name)?, Eviction::Removed);
    assert_eq!(fixture.layers().evict(&name)?, Eviction::Removed);
    Ok(())
}
