//! What an Export tells.

use crate::output::record_json::bytes;
use isobox_domain::git_oid::GitOid;
use serde_json::{Value, json};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What came of the attempts that were to be exported.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    /// Directories that were made.
    pub(crate) exported: u64,
    /// Attempts whose task has a directory already.
    pub(crate) there: u64,
    /// Attempts that could not be exported; each was a warning.
    pub(crate) failed: u64,
    /// The commit that was exported, if it was one.
    pub(crate) commit: Option<GitOid>,
}

impl Totals {
    /// A document of schema `isobox.export/v1`.
    pub(crate) fn document(&self, destination: &Path) -> Value {
        let mut document = json!({
            "schema": "isobox.export/v1",
            "destination": bytes(destination.as_os_str().as_bytes()),
            "exported": self.exported,
            "there": self.there,
            "failed": self.failed,
        });
        if let Some(commit) = self.commit {
            document["commit"] = commit.to_string().into();
        }
        document
    }
}
