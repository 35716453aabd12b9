//! What every implementation of [`DependencyCaches`] keeps.

use crate::{CacheForm, DependencyCaches, HiddenInCaches, Lent, MemorySize, OverlayKind};
use isobox_domain::policy::{DependencyCache, HideRule};
use libtest_mimic::{Failed, Trial};
use std::path::{Path, PathBuf};

/// A user who has something of each package manager but of pip, and settings and credentials beside it, for one case.
pub trait DependencyCachesFixture {
    /// The implementation under test, for a project.
    fn caches(&self, project: &Path) -> Box<dyn DependencyCaches + '_>;

    /// Where the host has what is below the home directory.
    fn on_host(&self, below_home: &str) -> PathBuf;
}

type Case = fn(&dyn DependencyCachesFixture) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("what_was_downloaded_lies_under_layers_where_it_is_looked_for", lent_under_layers),
    ("what_is_read_alone_has_no_layer_and_what_is_not_there_is_not_shown", read_alone),
    ("a_layer_in_memory_has_the_size_that_was_asked_for", in_memory),
    ("attempts_at_the_same_time_have_different_layers", at_the_same_time),
    ("a_later_attempt_of_the_project_finds_the_layer_and_no_other_project_does", found_again),
    ("a_layer_is_not_found_while_something_else_is_hidden", by_what_is_hidden),
    ("a_cache_that_is_hidden_as_a_whole_is_not_lent", hidden_as_a_whole),
];

const KEPT: CacheForm = CacheForm::Kept(OverlayKind::Unprivileged);
const PROJECT: &str = "/app/.git";

/// The suite, as tests of `name`. `fixture` is called once a case.
pub fn cases<F: DependencyCachesFixture + 'static>(name: &str, fixture: fn() -> F) -> Vec<Trial> {
    let trial = |&(case, check): &(&str, Case)| {
        Trial::test(format!("{name}::dependency_caches::{case}"), move || check(&fixture()))
    };
    CASES.iter().map(trial).collect()
}

fn lend(
    fixture: &dyn DependencyCachesFixture,
    project: &str,
    form: CacheForm,
    rules: &[HideRule],
) -> Result<Lent, Failed> {
    let hidden = HiddenInCaches { patterns: &[], rules };
    Ok(fixture.caches(Path::new(project)).lend(&DependencyCache::ALL, form, &hidden)?)
}

fn places(lent: &Lent) -> Vec<PathBuf> {
    lent.layers.iter().map(|layered| layered.overlay.place.clone()).collect()
}

/// Where parts of caches are below a home directory, and whether the host has them.
const PARTS: [(&str, bool); 5] = [
    (".cargo/registry", true),
    (".cargo/git", true),
    (".npm/_cacache", true),
    (".cache/pip", false),
    ("go/pkg/mod", true),
];

fn lent_under_layers(fixture: &dyn DependencyCachesFixture) -> Result<(), Failed> {
    let lent = lend(fixture, PROJECT, KEPT, &[])?;
    assert_eq!(lent.layers.len(), PARTS.len());
    let caches = fixture.caches(Path::new(PROJECT));
    let directory = caches.directory().ok_or("there is a place for layers")?;
    for (layered, (part, is_there)) in lent.layers.iter().zip(PARTS) {
        let (overlay, on_host) = (&layered.overlay, fixture.on_host(part));
        assert_eq!(layered.below_home, Path::new(part));
        assert_eq!((overlay.kind, overlay.memory), (OverlayKind::Unprivileged, None));
        assert_eq!(overlay.lowers.contains(&on_host), is_there, "{part}: {overlay:?}");
        // Of the host, nothing else is below, and all of isobox's own lies where layers do.
        let own = overlay.lowers.iter().filter(|lower| **lower != on_host).chain([&overlay.place]);
        assert!(own.into_iter().all(|path| path.starts_with(directory)), "{part}: {overlay:?}");
    }
    assert_eq!((lent.shown, lent.hidden), (vec![], vec![]));
    Ok(())
}

fn read_alone(fixture: &dyn DependencyCachesFixture) -> Result<(), Failed> {
    let lent = lend(fixture, PROJECT, CacheForm::ReadOnly, &[])?;
    let shown: Vec<_> = lent.shown.iter().map(|shown| (shown.source.clone(), shown.access)).collect();
    let there = PARTS.iter().filter(|(_, is_there)| *is_there);
    let expected: Vec<_> = there.map(|(part, _)| (fixture.on_host(part), crate::Access::ReadOnly)).collect();
    assert_eq!((shown, lent.layers), (expected, vec![]));
    Ok(())
}

fn in_memory(fixture: &dyn DependencyCachesFixture) -> Result<(), Failed> {
    let size = MemorySize { bytes: 1 << 20, inodes: 16 };
    let lent = lend(fixture, PROJECT, CacheForm::InMemory(OverlayKind::Privileged, size), &[])?;
    let forms: Vec<_> = lent.layers.iter().map(|layered| (layered.overlay.kind, layered.overlay.memory)).collect();
    assert_eq!(forms, [(OverlayKind::Privileged, Some(size)); PARTS.len()]);
    Ok(())
}

fn at_the_same_time(fixture: &dyn DependencyCachesFixture) -> Result<(), Failed> {
    let attempts = [lend(fixture, PROJECT, KEPT, &[])?, lend(fixture, PROJECT, KEPT, &[])?];
    let mut all: Vec<PathBuf> = attempts.iter().flat_map(places).collect();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 2 * PARTS.len());
    Ok(())
}

fn found_again(fixture: &dyn DependencyCachesFixture) -> Result<(), Failed> {
    let first = places(&lend(fixture, PROJECT, KEPT, &[])?);
    assert_eq!(places(&lend(fixture, PROJECT, KEPT, &[])?), first);
    let other = places(&lend(fixture, "/other/.git", KEPT, &[])?);
    assert!(first.iter().all(|place| !other.contains(place)));
    Ok(())
}

fn by_what_is_hidden(fixture: &dyn DependencyCachesFixture) -> Result<(), Failed> {
    let rule = HideRule::parse("**/key")?;
    let open = lend(fixture, PROJECT, KEPT, &[])?.layers;
    let hiding = lend(fixture, PROJECT, KEPT, std::slice::from_ref(&rule))?.layers;
    for (open, hiding) in open.iter().zip(&hiding) {
        // Of what is not there, nothing can be hidden.
        let is_there = open.below_home != Path::new(".cache/pip");
        assert_eq!(open.overlay.place != hiding.overlay.place, is_there, "{open:?} {hiding:?}");
    }
    assert_eq!(lend(fixture, PROJECT, KEPT, &[])?.layers, open);
    assert_eq!(lend(fixture, PROJECT, KEPT, &[rule])?.layers, hiding);
    Ok(())
}

fn hidden_as_a_whole(fixture: &dyn DependencyCachesFixture) -> Result<(), Failed> {
    let pattern = isobox_domain::policy::Glob::new(fixture.on_host(".npm/_cacache").as_os_str().as_encoded_bytes());
    let hidden = HiddenInCaches { patterns: &[pattern], rules: &[] };
    for form in [KEPT, CacheForm::ReadOnly] {
        let caches = fixture.caches(Path::new(PROJECT));
        let Err(refused) = caches.lend(&[DependencyCache::Npm], form, &hidden) else {
            return Err("it is refused".into());
        };
        assert!(refused.hint.is_some(), "{refused:?}");
        caches.lend(&[DependencyCache::Go], form, &hidden)?;
    }
    Ok(())
}
