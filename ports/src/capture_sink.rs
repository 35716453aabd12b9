//! Where a capture puts what it finds.

use crate::{Cause, StoreError};
use isobox_domain::change::{ChangeLine, ChangeSetRef};
use isobox_domain::content::ContentRef;
use std::io::{Read, Write};

/// Receives a Change Set as it is found. Lines arrive in ascending order of their path bytes.
pub trait CaptureSink {
    /// Stages the whole of `content` and says what it is.
    fn content(&mut self, content: &mut dyn Read) -> Result<ContentRef, Cause>;

    /// Adds one line. What it refers to was staged before.
    fn line(&mut self, line: ChangeLine) -> Result<(), Cause>;

    /// The patch that is being rendered beside the lines.
    fn patch(&mut self) -> &mut dyn Write;

    /// The archive of the Workspace's own new Git objects and refs.
    fn workspace_git(&mut self) -> &mut dyn Write;

    /// Ends the Change Set. `None` in place of what stayed empty.
    fn finish(self: Box<Self>) -> Result<CapturedRefs, StoreError>;
}

/// What a finished capture staged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CapturedRefs {
    /// The Change Set.
    pub change_set: Option<ChangeSetRef>,
    /// The patch.
    pub patch: Option<ContentRef>,
    /// The archive of the Workspace's own Git objects.
    pub workspace_git: Option<ContentRef>,
}
