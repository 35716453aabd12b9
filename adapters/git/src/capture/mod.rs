//! Reading what changed in a Workspace.

use crate::workspace::layout::Layout;
use isobox_ports::{CaptureSink, WorkspaceError, WorkspaceMount};

/// Reads what changed in the Workspace at `layout`, mounted as `mounted`, into `sink`.
pub(crate) fn capture(
    _layout: &Layout,
    _mounted: &WorkspaceMount,
    _sink: &mut dyn CaptureSink,
) -> Result<(), WorkspaceError> {
    Err(WorkspaceError::Refused { reason: "capture is not available in this build".into(), hint: None })
}
