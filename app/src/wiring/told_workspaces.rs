//! Workspaces whose long operations somebody is told of.

use crate::output::console::Console;
use crate::output::working::Working;
use isobox_ports::{
    CaptureSink, ChangeLines, Headway, LaidOut, ObjectStore, Workspace, WorkspaceError, WorkspaceMount,
    WorkspaceRequest, Workspaces,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Workspaces whose long operations are told of while they go on.
pub(crate) struct ToldWorkspaces<'a> {
    /// What does the work.
    pub(crate) inner: &'a dyn Workspaces,
    /// Who is told.
    pub(crate) console: Console,
    /// How far it has come.
    pub(crate) headway: Arc<Headway>,
}

impl Workspaces for ToldWorkspaces<'_> {
    fn directory(&self) -> &Path {
        self.inner.directory()
    }

    fn reserve(&self, request: &WorkspaceRequest<'_>) -> Result<Vec<u8>, WorkspaceError> {
        self.inner.reserve(request)
    }

    fn is_prepared(&self, reserved: &[u8]) -> bool {
        self.inner.is_prepared(reserved)
    }

    fn lay_out(&self, reserved: &[u8], request: &WorkspaceRequest<'_>) -> Result<LaidOut, WorkspaceError> {
        let _working = Working::start_counted(self.console, "preparing this commit", &self.headway);
        self.inner.lay_out(reserved, request)
    }

    fn create(&self, reserved: &[u8], request: &WorkspaceRequest<'_>) -> Result<Workspace, WorkspaceError> {
        let _working = Working::start_counted(self.console, "making the workspace", &self.headway);
        self.inner.create(reserved, request)
    }

    fn add_snapshot(&self, state: &[u8], request: &WorkspaceRequest<'_>) -> Result<(), WorkspaceError> {
        let _working = Working::start(self.console, "taking along what is not committed");
        self.inner.add_snapshot(state, request)
    }

    fn put_snapshot(
        &self,
        state: &[u8],
        lines: ChangeLines<'_>,
        objects: &dyn ObjectStore,
    ) -> Result<(), WorkspaceError> {
        let _working = Working::start(self.console, "putting the changes into the workspace");
        self.inner.put_snapshot(state, lines, objects)
    }

    fn snapshot(&self, state: &[u8], sink: &mut dyn CaptureSink) -> Result<(), WorkspaceError> {
        let _working = Working::start(self.console, "storing what is not committed");
        self.inner.snapshot(state, sink)
    }

    fn capture(
        &self,
        state: &[u8],
        mounted: &WorkspaceMount,
        sink: &mut dyn CaptureSink,
    ) -> Result<(), WorkspaceError> {
        let _working = Working::start(self.console, "capturing what changed");
        self.inner.capture(state, mounted, sink)
    }

    fn dispose(&self, state: &[u8]) -> Result<(), WorkspaceError> {
        let _working = Working::start(self.console, "removing the workspace");
        self.inner.dispose(state)
    }

    fn retain(&self, state: &[u8]) -> Result<PathBuf, WorkspaceError> {
        self.inner.retain(state)
    }
}
