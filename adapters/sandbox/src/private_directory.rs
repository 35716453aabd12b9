//! A directory of the host in which a workload may make what it wants.

use std::io;
use std::path::{Path, PathBuf};

/// A private directory of the host that goes with this value.
#[derive(Debug)]
pub(crate) struct PrivateDirectory(PathBuf);

impl PrivateDirectory {
    /// Makes one, for this user alone.
    pub(crate) fn make() -> io::Result<Self> {
        Ok(Self(tempfile::Builder::new().prefix("isobox-").tempdir()?.keep()))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        // The Stage removes it, too. Nobody is left to be told.
        drop(isobox_removal::remove(&self.0));
    }
}
