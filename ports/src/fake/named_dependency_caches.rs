//! Caches and layers that are nothing but names.

use crate::{
    Access, CacheError, CacheForm, DependencyCaches, HiddenInCaches, Layered, Lent, Overlay, OverlayKind, Place, Shown,
};
use isobox_domain::policy::{DependencyCache, Glob, HideRule, Standing};
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Of one user, with a home directory of this name. Nothing is on disk.
#[derive(Clone, Debug)]
pub struct NamedDependencyCaches {
    home: PathBuf,
    layers: PathBuf,
    project: PathBuf,
    there: Vec<DependencyCache>,
    taken: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl NamedDependencyCaches {
    /// Of a user who has `there` below `home`, for no project.
    pub fn new(home: &Path, there: &[DependencyCache]) -> Self {
        let (layers, project) = (home.join(".cache/isobox/dependencies"), PathBuf::new());
        Self { home: home.to_owned(), layers, project, there: there.to_vec(), taken: Arc::default() }
    }

    /// The same caches, for a project.
    #[must_use]
    pub fn of(&self, project: &Path) -> Self {
        Self { project: project.to_owned(), ..self.clone() }
    }

    fn take(&self) -> Taken {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let of_project = self.layers.join(self.project.strip_prefix("/").unwrap_or(&self.project));
        let mut free = (0_u32..).map(|number| of_project.join(number.to_string()));
        let layer = free.find(|layer| !taken.contains(layer)).unwrap_or_default();
        taken.insert(layer.clone());
        Taken { layer, taken: Arc::clone(&self.taken) }
    }

    fn hidden_in(&self, host_path: &Path, hidden: &HiddenInCaches<'_>) -> Vec<Glob> {
        let within = hidden.rules.iter().filter_map(HideRule::within);
        let within = within.map(|glob| glob.below(host_path.as_os_str().as_bytes()));
        within.chain(hidden.patterns.iter().filter(|glob| fit(glob, host_path) != (false, false)).cloned()).collect()
    }
}

/// Whether a pattern names a path or something that it lies in, and whether it may name something in it.
fn fit(glob: &Glob, path: &Path) -> (bool, bool) {
    let path = path.as_os_str().as_bytes();
    (glob.covers(path), Standing::of(std::slice::from_ref(glob), path).fit().leads_on)
}

/// A layer that is one attempt's as long as this is there.
struct Taken {
    layer: PathBuf,
    taken: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.layer);
    }
}

impl DependencyCaches for NamedDependencyCaches {
    fn directory(&self) -> Option<&Path> {
        Some(&self.layers)
    }

    fn lend(
        &self,
        caches: &[DependencyCache],
        form: CacheForm,
        hidden: &HiddenInCaches<'_>,
    ) -> Result<Lent, CacheError> {
        let held = self.take();
        let mut lent = Lent { layers: vec![], shown: vec![], hidden: vec![], held: Box::new(()) };
        for (cache, part) in caches.iter().flat_map(|cache| cache.parts().iter().map(move |part| (*cache, *part))) {
            let below_home: PathBuf = Path::new(cache.directory()).join(part).components().collect();
            let host_path = self.there.contains(&cache).then(|| self.home.join(&below_home));
            let hidden = host_path.as_deref().map(|path| self.hidden_in(path, hidden)).unwrap_or_default();
            if host_path.as_deref().is_some_and(|path| hidden.iter().any(|glob| fit(glob, path).0)) {
                let operation = format!("lend the {} cache", cache.name());
                return Err(CacheError { operation, source: "it is hidden".into(), hint: Some("lend or hide it") });
            }
            let (kind, memory) = match form {
                CacheForm::ReadOnly => {
                    let places = vec![Place::BelowHome(below_home)];
                    lent.shown.extend(host_path.map(|source| Shown { source, places, access: Access::ReadOnly }));
                    lent.hidden.extend(hidden);
                    continue;
                }
                CacheForm::Kept(kind) => (kind, None),
                CacheForm::InMemory(kind, size) => (kind, Some(size)),
            };
            let place = held.layer.join(folder(kind)).join(&below_home).join(format!("{hidden:?}"));
            let overlay = Overlay { lowers: host_path.into_iter().collect(), place, kind, memory };
            lent.layers.push(Layered { overlay, below_home });
        }
        Ok(Lent { held: Box::new(held), ..lent })
    }
}

const fn folder(kind: OverlayKind) -> &'static str {
    match kind {
        OverlayKind::Privileged => "privileged",
        OverlayKind::Unprivileged => "unprivileged",
    }
}
