//! Making Workspaces from the trusted repository, and removing them.

pub(crate) mod base;
pub(crate) mod layout;
pub(crate) mod materialiser;

use crate::{GixRepository, capture};
use isobox_ports::{CaptureSink, Cause, Workspace, WorkspaceError, WorkspaceMount, WorkspaceRequest, Workspaces};
use layout::Layout;
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
    fn reserve(&self) -> Result<Vec<u8>, WorkspaceError> {
        Layout::reserve(&self.workspaces_root)
            .map(|layout| layout.encode())
            .map_err(|e| failure("choose a place for a workspace", e))
    }

    fn create(&self, reserved: &[u8], _request: &WorkspaceRequest<'_>) -> Result<Workspace, WorkspaceError> {
        layout(reserved)?;
        Err(WorkspaceError::Refused { reason: "workspaces are not available in this build".into(), hint: None })
    }

    fn capture(
        &self,
        state: &[u8],
        mounted: &WorkspaceMount,
        sink: &mut dyn CaptureSink,
    ) -> Result<(), WorkspaceError> {
        capture::capture(&layout(state)?, mounted, sink)
    }

    fn dispose(&self, state: &[u8]) -> Result<(), WorkspaceError> {
        layout(state)?;
        Err(WorkspaceError::Refused { reason: "workspaces are not available in this build".into(), hint: None })
    }

    fn retain(&self, state: &[u8]) -> Result<PathBuf, WorkspaceError> {
        layout(state)?;
        Err(WorkspaceError::Refused { reason: "workspaces are not available in this build".into(), hint: None })
    }
}

fn layout(state: &[u8]) -> Result<Layout, WorkspaceError> {
    Layout::decode(state)
        .ok_or_else(|| failure("read what names a workspace", std::io::Error::from(std::io::ErrorKind::InvalidData)))
}

/// A failure around a Workspace: no space left where the system says so at any depth of `source`.
pub(crate) fn failure(operation: &str, source: impl Into<Cause>) -> WorkspaceError {
    let source = source.into();
    let operation = operation.to_owned();
    if is_full(source.as_ref()) { WorkspaceError::Full { operation } } else { WorkspaceError::Io { operation, source } }
}

fn is_full(error: &(dyn std::error::Error + 'static)) -> bool {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let kinds = causes.filter_map(|cause| cause.downcast_ref::<std::io::Error>()).map(std::io::Error::kind);
    kinds.into_iter().any(|kind| matches!(kind, std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded))
}
