//! What package managers of this user downloaded, lent under layers that lie in isobox's cache directory:
//!
//! ```text
//! dependencies/<16 hex digits>/    a project, by the path of its common Git directory
//!     <n>/                         a layer, locked by the attempt that has it
//!         used                     that path; written when an attempt takes the layer
//!         boot                     the start of the machine since which all of it was written
//!         <kind>/<part>-<16 hex digits>/
//!                              a part of a cache, by what is hidden in it
//!             layer/           a place of an overlay, with `upper` and `work`
//!             below/           the uppermost of its lower directories: whiteouts over what is not lent
//! ```

mod layers;
mod noted_urls;
mod seed;
mod size;
mod whiteouts;

pub use layers::FsCacheLayers;

use crate::directories::Directories;
use crate::read_paths::ReadPaths;
use isobox_domain::escape::Escaped;
use isobox_domain::policy::{DependencyCache, Glob};
use isobox_ports::{
    Access, CacheError, CacheForm, Cause, DependencyCaches, HiddenInCaches, Layered, Lent, Overlay, OverlayKind, Place,
    Shown,
};
use layers::Layer;
use seed::Seed;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Where layers lie in the user's cache directory.
const FOLDER: &str = "dependencies";

/// What to do about a cache that is to be lent and hidden.
const LENT_OR_HIDDEN: &str =
    "leave the cache out of `caches` and `--cache`, or the rule out of `filesystem.hide` and `--hide`";

/// The caches of the user whose variables are given, for one project.
pub struct FsDependencyCaches<'a> {
    root: Option<PathBuf>,
    project: PathBuf,
    home: Option<PathBuf>,
    paths: ReadPaths,
    variable: &'a dyn Fn(&str) -> Option<OsString>,
}

impl<'a> FsDependencyCaches<'a> {
    /// Layers lie below `cache`, isobox's cache directory if there is one, for the project with the common Git directory `project`. Of the
    /// host's caches, none is lent that `paths` guard.
    pub fn new(
        cache: Option<&Path>,
        project: &Path,
        home: Option<&Path>,
        paths: ReadPaths,
        variable: &'a dyn Fn(&str) -> Option<OsString>,
    ) -> Self {
        let (home, project) = (home.map(Path::to_owned), project.to_owned());
        Self { root: cache.map(|cache| cache.join(FOLDER)), project, home, paths, variable }
    }

    fn seeds(&self, caches: &[DependencyCache]) -> Result<Vec<Seed>, CacheError> {
        let mut seeds = Vec::new();
        for cache in caches {
            for part in cache.parts() {
                let seed = Seed::find(*cache, part, self.home.as_deref(), self.variable, &self.paths);
                seeds.push(seed.map_err(|error| failed(&lending(*cache), error))?);
            }
        }
        Ok(seeds)
    }

    fn layered(&self, seeds: &[(Seed, Vec<Glob>)], form: CacheForm) -> Result<(Vec<Layered>, Layer), CacheError> {
        let Some(root) = &self.root else {
            return Err(failed("make a layer for the project", std::io::Error::other("isobox has no cache directory")));
        };
        let in_words = || format!("make a layer for the project in {}", Escaped::path(root));
        Directories::create(root).map_err(|error| failed(&in_words(), error))?;
        let layer = Layer::take(root, &self.project).map_err(|error| failed(&in_words(), error))?;
        layers::begin_upkeep(root);
        let layered = seeds.iter().map(|(seed, hidden)| layer_of(seed, hidden, &layer, form));
        let layered = layered.collect::<Result<_, _>>().map_err(|error| failed(&in_words(), error))?;
        Ok((layered, layer))
    }
}

impl DependencyCaches for FsDependencyCaches<'_> {
    fn directory(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    fn lend(
        &self,
        caches: &[DependencyCache],
        form: CacheForm,
        hidden: &HiddenInCaches<'_>,
    ) -> Result<Lent, CacheError> {
        let with_hidden = |seed: Seed| {
            let hidden = seed.hidden(hidden, self.home.as_deref());
            refuse_hidden(&seed, &hidden)?;
            Ok((seed, hidden))
        };
        let seeds = self.seeds(caches)?.into_iter().map(with_hidden).collect::<Result<Vec<_>, CacheError>>()?;
        Ok(match form {
            CacheForm::ReadOnly => {
                let shown = seeds.iter().filter_map(|(seed, _)| shown(seed)).collect();
                let hidden = seeds.into_iter().flat_map(|(_, hidden)| hidden).collect();
                Lent { layers: Vec::new(), shown, hidden, held: Box::new(()) }
            }
            CacheForm::Kept(_) | CacheForm::InMemory(..) => {
                let (layers, held) = self.layered(&seeds, form)?;
                Lent { layers, shown: Vec::new(), hidden: Vec::new(), held: Box::new(held) }
            }
        })
    }
}

/// Refuses to lend what is to be hidden as a whole.
fn refuse_hidden(seed: &Seed, hidden: &[Glob]) -> Result<(), CacheError> {
    match &seed.host_path {
        Some(path) if whiteouts::are_of_all(hidden, path) => {
            let why = format!("{} is to be hidden, with everything in it", Escaped::path(path));
            let failed = failed(&lending(seed.cache), std::io::Error::other(why));
            Err(CacheError { hint: Some(LENT_OR_HIDDEN), ..failed })
        }
        _ => Ok(()),
    }
}

fn lending(cache: DependencyCache) -> String {
    format!("lend the {} cache", cache.name())
}

fn shown(seed: &Seed) -> Option<Shown> {
    let source = seed.host_path.clone()?;
    Some(Shown { source, places: vec![Place::BelowHome(seed.below_home.clone())], access: Access::ReadOnly })
}

/// What is hidden is so by whiteouts below the layer. A mount over it would be looked up through the layer, in which a workload may
/// have put a link.
fn layer_of(seed: &Seed, hidden: &[Glob], layer: &Layer, form: CacheForm) -> std::io::Result<Layered> {
    let (kind, memory) = match form {
        CacheForm::InMemory(kind, size) => (kind, Some(size)),
        CacheForm::Kept(kind) => (kind, None),
        CacheForm::ReadOnly => return Err(std::io::Error::other("what is read alone has no layer")),
    };
    // The marks of one kind mean nothing to the other.
    let folder = match kind {
        OverlayKind::Privileged => "privileged",
        OverlayKind::Unprivileged => "unprivileged",
    };
    let own = layer.directory().join(folder).join(seed.place(hidden));
    let below = own.join("below");
    whiteouts::make(&below, seed.host_path.as_deref(), hidden)?;
    let lowers = std::iter::once(below).chain(seed.host_path.clone()).collect();
    let overlay = Overlay { lowers, place: own.join("layer"), kind, memory };
    [overlay.upper(), overlay.work()].iter().try_for_each(fs::create_dir_all)?;
    Ok(Layered { overlay, below_home: seed.below_home.clone() })
}

fn failed(operation: &str, source: impl Into<Cause>) -> CacheError {
    CacheError { operation: operation.to_owned(), source: source.into(), hint: None }
}

#[cfg(test)]
mod tests;
