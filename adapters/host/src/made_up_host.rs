//! A host for tests: directories below a place of its own, with links resolved.

use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

pub(crate) struct Host(TempDir);

impl Host {
    pub(crate) fn with(folders: &[&str]) -> Self {
        let host = Self(tempfile::tempdir().unwrap());
        for folder in folders {
            fs::create_dir_all(host.path(folder)).unwrap();
        }
        host
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        fs::canonicalize(self.0.path()).unwrap().join(below)
    }
}
