//! Making Workspaces from the trusted repository, and removing them.

pub(crate) mod base;
mod checkout;
mod creation;
mod disposal;
mod git_dir;
mod ident;
pub(crate) mod layout;
pub(crate) mod materialiser;
mod pack;
mod pinned;
mod retained;
mod submodules;
pub(crate) mod tree;
mod wide_encoding;

pub use retained::dispose_retained;

use crate::GixRepository;
use crate::capture::{self, MadeFrom};
use isobox_ports::{CaptureSink, Cause, Workspace, WorkspaceError, WorkspaceMount, WorkspaceRequest, Workspaces};
use layout::Layout;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

/// Workspaces as plain directories below one directory of isobox's own, made from a trusted repository by gix.
#[derive(Clone)]
pub struct GixWorkspaces {
    repository: GixRepository,
    workspaces_root: PathBuf,
}

impl GixWorkspaces {
    /// Workspaces of `repository` below the absolute directory `workspaces_root`, which is made on first use.
    pub fn new(repository: GixRepository, workspaces_root: PathBuf) -> Self {
        Self { repository, workspaces_root }
    }
}

impl Workspaces for GixWorkspaces {
    fn reserve(&self, _request: &WorkspaceRequest<'_>) -> Result<Vec<u8>, WorkspaceError> {
        Layout::reserve(&self.workspaces_root)
            .map(|layout| layout.encode())
            .map_err(|e| failure("choose a place for a workspace", e))
    }

    fn is_prepared(&self, _reserved: &[u8]) -> bool {
        true
    }

    fn lay_out(&self, reserved: &[u8], _request: &WorkspaceRequest<'_>) -> Result<WorkspaceMount, WorkspaceError> {
        let layout = layout(reserved)?;
        creation::make_directories(&layout).map_err(|e| failure("make the workspace's directory", e))?;
        Ok(WorkspaceMount::Directory { host_path: layout.root() })
    }

    fn create(&self, reserved: &[u8], request: &WorkspaceRequest<'_>) -> Result<Workspace, WorkspaceError> {
        creation::create(&self.repository, &layout(reserved)?, request.source)
    }

    fn add_snapshot(&self, state: &[u8], request: &WorkspaceRequest<'_>) -> Result<(), WorkspaceError> {
        capture::snapshot::take(&self.repository, &layout(state)?, &request.source.commit)
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
        let (base, stat_cache, snapshot) = (layout.base(), layout.stat_cache(), layout.snapshot());
        let made_from = MadeFrom { base: &base, stat_cache: &stat_cache, snapshot: &snapshot };
        capture::capture(&made_from, &self.repository, mounted, sink)
    }

    fn dispose(&self, state: &[u8]) -> Result<(), WorkspaceError> {
        let layout = layout(state)?;
        disposal::remove(layout.container())
            .map_err(|e| failure(&format!("remove the workspace {}", layout.shown()), e))
    }

    fn retain(&self, state: &[u8]) -> Result<PathBuf, WorkspaceError> {
        let layout = layout(state)?;
        let snapshot = layout.snapshot();
        if snapshot.is_dir() {
            let removed = disposal::remove(&snapshot);
            removed.map_err(|e| failure(&format!("remove the snapshot beside {}", layout.shown()), e))?;
        }
        for host_path in [layout.stat_cache(), layout.base()] {
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
