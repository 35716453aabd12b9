//! Making Workspaces from the trusted repository, and removing them.

pub(crate) mod base;
pub(crate) mod checkout;
mod copies;
pub(crate) mod creation;
pub(crate) mod disposal;
pub(crate) mod git_dir;
mod ident;
pub(crate) mod index;
pub(crate) mod layout;
pub(crate) mod materialiser;
mod merge;
mod overlay;
pub(crate) mod pack;
mod permitted;
pub(crate) mod pinned;
mod reflink;
mod retained;
mod shown;
mod spare;
pub(crate) mod submodules;
pub(crate) mod tree;
mod wide_encoding;

pub use retained::dispose_retained;

use crate::GixRepository;
use crate::capture::{self, MadeFrom};
use crate::pristine::{Held, PristineCache, Unprepared, Wanted};
use isobox_domain::policy::WorkspaceKind;
use isobox_ports::{
    CaptureSink, Cause, ChangeLines, Headway, LaidOut, MemorySize, NotNow, ObjectStore, Overlay, OverlayKind,
    Workspace, WorkspaceError, WorkspaceForm, WorkspaceMount, WorkspaceRequest, Workspaces,
};
use layout::{Layout, Over};
use permitted::Permitted;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Workspaces below one directory of isobox's own, made from a trusted repository by gix: plain directories, and
/// overlays on pristine copies.
#[derive(Clone)]
pub struct GixWorkspaces {
    repository: GixRepository,
    workspaces_root: PathBuf,
    cache: Option<PristineCache>,
    headway: Arc<Headway>,
    /// Why copies are made in place of overlays, by their containers.
    copied: Arc<Mutex<BTreeMap<PathBuf, String>>>,
}

impl GixWorkspaces {
    /// Workspaces of `repository` below the absolute directory `workspaces_root`, and pristine copies below `cache`;
    /// both are made on first use. Without a cache every Workspace is a plain directory.
    ///
    /// A pristine copy that was used stays in the cache as long as this value or a clone of it lives.
    pub fn new(repository: GixRepository, workspaces_root: PathBuf, cache: Option<PathBuf>) -> Self {
        let headway = Arc::default();
        let cache = cache.map(|directory| PristineCache::new(directory, Arc::clone(&headway)));
        Self { repository, workspaces_root, cache, headway, copied: Arc::default() }
    }

    /// How far what takes its time has come while a Workspace is laid out or created: in files of the commit.
    pub fn headway(&self) -> Arc<Headway> {
        Arc::clone(&self.headway)
    }

    /// The overlay at `layout`, laid out; `None` if it has to be a copy, which is said when that is made.
    fn overlay(
        &self,
        layout: &Layout,
        kind: OverlayKind,
        memory: Option<MemorySize>,
    ) -> Result<Option<(Arc<Held>, Overlay)>, WorkspaceError> {
        if self.copied().contains_key(layout.container()) {
            return Ok(None);
        }
        let (Some(over), Some(cache)) = (layout.over(), &self.cache) else {
            let why = "isobox has no cache directory here".to_owned();
            self.copied().insert(layout.container().to_owned(), why);
            return Ok(None);
        };
        match cache.prepare(&over.wanted, &self.repository) {
            Ok(held) => overlay::lay_out(layout, &held, kind, memory).map(|overlay| Some((held, overlay))),
            Err(Unprepared::Refused(error)) => Err(error),
            Err(Unprepared::Unusable(why)) => {
                self.copied().insert(layout.container().to_owned(), why);
                Ok(None)
            }
        }
    }

    /// The pristine copy that an overlay lies on, made anew if it was evicted.
    fn held(&self, wanted: &Wanted) -> Result<Arc<Held>, WorkspaceError> {
        let made_anew = |why: String| failure("find the pristine copy that the workspace lies on", NotNow(why));
        let Some(cache) = &self.cache else { return Err(made_anew("isobox has no cache directory here".into())) };
        if let Some(held) = cache.find_again(wanted) {
            return Ok(held);
        }
        let repository = self.source_of(wanted)?;
        // Its bytes may depend on other things by now.
        let wanted = cache.wanted(&repository, &wanted.commit, wanted.branch.as_deref());
        cache.prepare(&wanted, &repository).map_err(|unprepared| match unprepared {
            Unprepared::Refused(error) => error,
            Unprepared::Unusable(why) => made_anew(why),
        })
    }

    /// A later process may stand in another repository.
    fn source_of(&self, wanted: &Wanted) -> Result<GixRepository, WorkspaceError> {
        if wanted.source == self.repository.root() {
            return Ok(self.repository.clone());
        }
        GixRepository::discover(&wanted.source)
            .map_err(|e| failure("open the repository that the workspace was made from", e))
    }

    fn capture_from(
        &self,
        made_from: &MadeFrom<'_>,
        mounted: &WorkspaceMount,
        sink: &mut dyn CaptureSink,
    ) -> Result<(), WorkspaceError> {
        // Without it, what a workload took from itself would be taken from isobox, too. What cannot be opened is told.
        let _root = Permitted::root_of(mounted);
        capture::capture(made_from, &self.repository, mounted, sink)
    }

    fn copied(&self) -> MutexGuard<'_, BTreeMap<PathBuf, String>> {
        // A panic elsewhere leaves a whole map behind.
        self.copied.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Workspaces for GixWorkspaces {
    fn directory(&self) -> &Path {
        &self.workspaces_root
    }

    fn reserve(&self, request: &WorkspaceRequest<'_>) -> Result<Vec<u8>, WorkspaceError> {
        let WorkspaceRequest { source, form } = request;
        let over = match (form, &self.cache) {
            (WorkspaceForm::Overlay { kind, .. }, Some(cache)) => {
                let wanted = cache.wanted(&self.repository, &source.commit, source.branch.as_deref());
                Some(Over { kind: *kind, wanted })
            }
            _ => None,
        };
        Layout::reserve(&self.workspaces_root, over)
            .map(|layout| layout.encode())
            .map_err(|e| failure("choose a place for a workspace", e))
    }

    fn is_prepared(&self, reserved: &[u8]) -> bool {
        let layout = Layout::decode(reserved);
        layout.is_none_or(|layout| layout.over().is_none_or(|over| over.wanted.place.join("seal").exists()))
    }

    fn lay_out(&self, reserved: &[u8], request: &WorkspaceRequest<'_>) -> Result<LaidOut, WorkspaceError> {
        let layout = layout(reserved)?;
        if let WorkspaceForm::Overlay { kind, memory } = request.form
            && let Some((_, overlay)) = self.overlay(&layout, kind, memory)?
        {
            return Ok(LaidOut { mount: WorkspaceMount::Overlay(overlay), why_copy: None });
        }
        creation::make_directories(&layout).map_err(|e| failure("make the workspace's directory", e))?;
        let why_copy = self.copied().get(layout.container()).cloned();
        Ok(LaidOut { mount: WorkspaceMount::Directory { host_path: layout.root() }, why_copy })
    }

    fn create(&self, reserved: &[u8], request: &WorkspaceRequest<'_>) -> Result<Workspace, WorkspaceError> {
        let layout = layout(reserved)?;
        let WorkspaceForm::Overlay { kind, memory } = request.form else { return self.copy(&layout, request) };
        let Some((held, overlay)) = self.overlay(&layout, kind, memory)? else { return self.copy(&layout, request) };
        let source = request.source;
        if let Some(directory) = &source.working_directory
            && !overlay::has_directory(&held, directory).map_err(|e| failure("look at the pristine copy", e))?
        {
            return Err(WorkspaceError::not_committed(directory, &source.commit));
        }
        creation::remember_root(&self.repository, source);
        let notices = creation::notices(&self.repository.gix(), &held.seal.missing, &held.seal.filters);
        let kind = WorkspaceKind::Overlay;
        Ok(Workspace { mount: WorkspaceMount::Overlay(overlay), kind, state: layout.encode(), notices })
    }

    fn add_snapshot(&self, state: &[u8], request: &WorkspaceRequest<'_>) -> Result<(), WorkspaceError> {
        capture::snapshot::take(&self.repository, &layout(state)?, &request.source.commit)
    }

    fn put_snapshot(
        &self,
        state: &[u8],
        lines: ChangeLines<'_>,
        objects: &dyn ObjectStore,
    ) -> Result<(), WorkspaceError> {
        capture::snapshot::give(&self.repository, &layout(state)?, lines, objects)
    }

    fn snapshot(&self, state: &[u8], sink: &mut dyn CaptureSink) -> Result<(), WorkspaceError> {
        capture::snapshot::tell(&self.repository, &layout(state)?, sink)
    }

    fn capture(
        &self,
        state: &[u8],
        mounted: &WorkspaceMount,
        sink: &mut dyn CaptureSink,
    ) -> Result<(), WorkspaceError> {
        let layout = layout(state)?;
        match (mounted, layout.over()) {
            (WorkspaceMount::Overlay(overlay), Some(over)) => {
                let held = self.held(&over.wanted)?;
                let lowers = held.lowers();
                let mounted = if retained::is_begun(&layout) {
                    // Somebody was killed who retained it: only all of it together is what the workload left.
                    retained::merge(&layout, over.kind, || Ok(Arc::clone(&held)))?;
                    WorkspaceMount::Directory { host_path: layout.root() }
                } else {
                    WorkspaceMount::Overlay(Overlay { lowers: lowers.clone(), ..overlay.clone() })
                };
                let (base, stat_cache) = (held.base(), held.stat_cache());
                let made_from = MadeFrom { base: &base, stat_cache: &stat_cache, snapshot: None, lowers: &lowers };
                self.capture_from(&made_from, &mounted, sink)
            }
            _ => {
                let (copy, snapshot) = (layout.copy(), layout.snapshot());
                let (base, stat_cache) = (&copy.base, &copy.stat_cache);
                let made_from = MadeFrom { base, stat_cache, snapshot: Some(&snapshot), lowers: &[] };
                self.capture_from(&made_from, mounted, sink)
            }
        }
    }

    fn dispose(&self, state: &[u8]) -> Result<(), WorkspaceError> {
        let layout = layout(state)?;
        spare::keep_or_remove(layout.container())
            .map_err(|e| failure(&format!("remove the workspace {}", layout.shown()), e))
    }

    fn retain(&self, state: &[u8]) -> Result<PathBuf, WorkspaceError> {
        let layout = layout(state)?;
        if let Some(over) = layout.over()
            && layout.is_overlay()
        {
            retained::merge(&layout, over.kind, || self.held(&over.wanted))?;
        }
        let snapshot = layout.snapshot();
        if snapshot.is_dir() {
            let removed = disposal::remove(&snapshot);
            removed.map_err(|e| failure(&format!("remove the snapshot beside {}", layout.shown()), e))?;
        }
        let copy = layout.copy();
        for host_path in [copy.stat_cache, copy.base] {
            match std::fs::remove_file(&host_path) {
                Err(e) if e.kind() != ErrorKind::NotFound => {
                    return Err(failure(&format!("remove what isobox keeps beside {}", layout.shown()), e));
                }
                _ => {}
            }
        }
        Ok(layout.root())
    }
}

fn layout(state: &[u8]) -> Result<Layout, WorkspaceError> {
    Layout::decode(state).ok_or_else(|| failure("read what names a workspace", io::Error::from(ErrorKind::InvalidData)))
}

/// A commit that no Workspace can be made from.
fn refused(reason: String) -> WorkspaceError {
    WorkspaceError::Refused { reason, hint: None }
}

/// A failure around a Workspace: no space left where the system says so at any depth of `source`.
pub(crate) fn failure(operation: &str, source: impl Into<Cause>) -> WorkspaceError {
    let source = source.into();
    let operation = operation.to_owned();
    if is_full(source.as_ref()) { WorkspaceError::Full { operation } } else { WorkspaceError::Io { operation, source } }
}

fn is_full(error: &(dyn std::error::Error + 'static)) -> bool {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let kinds = causes.filter_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
    kinds.into_iter().any(|kind| matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded))
}
