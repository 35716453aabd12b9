//! A sink that keeps what a capture found.

use crate::{CaptureSink, CapturedRefs, Cause, StoreError};
use isobox_domain::change::{Change, ChangeLine, Mode};
use isobox_domain::content::{ContentId, ContentRef};
use std::collections::BTreeMap;
use std::io::{Read, Write};

/// Keeps lines, contents and renderings in memory, for a test to look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordingSink {
    /// The lines, as they came.
    pub lines: Vec<ChangeLine>,
    /// The contents.
    pub contents: BTreeMap<ContentId, Vec<u8>>,
    /// The patch.
    pub patch: Vec<u8>,
    /// The archive of the Workspace's own Git objects.
    pub workspace_git: Vec<u8>,
}

impl RecordingSink {
    /// The changes among the lines.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        self.lines.iter().filter_map(|line| match line {
            ChangeLine::Change(change) => Some(change),
            ChangeLine::NotCaptured(_) => None,
        })
    }

    /// The paths that changed, as they came.
    pub fn paths(&self) -> Vec<&[u8]> {
        self.changes().map(|change| change.path.as_bytes()).collect()
    }

    /// Kind and content of a changed path after the change; `None` if it was deleted or did not change.
    pub fn after(&self, path: &[u8]) -> Option<(Mode, Vec<u8>)> {
        let after = self.changes().find(|change| change.path.as_bytes() == path)?.after.as_ref()?;
        Some((after.mode, self.contents.get(&after.content.id)?.clone()))
    }
}

impl CaptureSink for RecordingSink {
    fn content(&mut self, content: &mut dyn Read) -> Result<ContentRef, Cause> {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes)?;
        let id = ContentId::new(*blake3::hash(&bytes).as_bytes());
        let length = bytes.len() as u64;
        self.contents.insert(id, bytes);
        Ok(ContentRef { id, length })
    }

    fn line(&mut self, line: ChangeLine) -> Result<(), Cause> {
        self.lines.push(line);
        Ok(())
    }

    fn patch(&mut self) -> &mut dyn Write {
        &mut self.patch
    }

    fn workspace_git(&mut self) -> &mut dyn Write {
        &mut self.workspace_git
    }

    fn finish(self: Box<Self>) -> Result<CapturedRefs, StoreError> {
        Ok(CapturedRefs::default())
    }
}
