//! Workspaces that have files of their own: taken from a pristine copy where the file system lets files share blocks, or
//! else checked out.

use super::layout::Layout;
use super::reflink::{self, Uncopied};
use super::{GixWorkspaces, creation, disposal, failure, overlay};
use crate::pristine::Unprepared;
use isobox_domain::policy::WorkspaceKind;
use isobox_ports::{Workspace, WorkspaceError, WorkspaceMount, WorkspaceRequest};

impl GixWorkspaces {
    /// A copy at `layout`, and why it is no overlay, if it was to be one.
    pub(super) fn copy(&self, layout: &Layout, request: &WorkspaceRequest<'_>) -> Result<Workspace, WorkspaceError> {
        let why = self.copied().get(layout.container()).cloned();
        // Without a pristine copy there is nothing to share.
        if why.is_none()
            && let Some(workspace) = self.reflink(layout, request)?
        {
            return Ok(workspace);
        }
        let mut workspace = creation::create(&self.repository, layout, request.source, &self.headway)?;
        self.copied().remove(layout.container());
        if let Some(why) = why {
            workspace
                .notices
                .push(format!("the workspace is a copy of its own, for no pristine copy could be used: {why}"));
        }
        Ok(workspace)
    }

    /// A copy that shares blocks with a pristine one; `None` where that cannot be.
    fn reflink(&self, layout: &Layout, request: &WorkspaceRequest<'_>) -> Result<Option<Workspace>, WorkspaceError> {
        let (Some(cache), source) = (&self.cache, request.source) else { return Ok(None) };
        if !layout.root().is_dir() {
            creation::make_directories(layout).map_err(|e| failure("make the workspace's directory", e))?;
        }
        if !reflink::is_possible(cache.directory(), layout.container()) {
            return Ok(None);
        }
        let wanted = cache.wanted(&self.repository, &source.commit, source.branch.as_deref());
        let held = match cache.prepare(&wanted, &self.repository) {
            Ok(held) => held,
            Err(Unprepared::Refused(error)) => return Err(error),
            // A checkout needs none.
            Err(Unprepared::Unusable(_)) => return Ok(None),
        };
        if let Some(directory) = &source.working_directory
            && !overlay::has_directory(&held, directory).map_err(|e| failure("look at the pristine copy", e))?
        {
            return Err(WorkspaceError::not_committed(directory, &source.commit));
        }
        match reflink::copy(&held, &self.repository, &layout.copy(), &self.headway) {
            Ok(()) => {}
            Err(Uncopied::Changed) => {
                // Where it cannot be noted, as in a cache that is read-only, each copy finds it again.
                held.condemn().unwrap_or_default();
                // The root itself stays: a Sandbox may have it already.
                disposal::empty(&layout.root()).map_err(|e| failure("empty the workspace again", e))?;
                return Ok(None);
            }
            Err(Uncopied::Failed(error)) => {
                // Best effort, as after a checkout that failed.
                disposal::remove(layout.container()).unwrap_or_default();
                return Err(error);
            }
        }
        creation::remember_root(&self.repository, source);
        let notices = creation::notices(&self.repository.gix(), &held.seal.missing, &held.seal.filters);
        let mount = WorkspaceMount::Directory { host_path: layout.root() };
        Ok(Some(Workspace { mount, kind: WorkspaceKind::Reflink, state: layout.encode(), notices }))
    }
}
