//! Exported directories: made beside their place, and moved there whole.

use crate::shown;
use isobox_domain::repo_path::RepoPath;
use isobox_ports::{Export, ExportError, Exports, FileError};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Beginning of the names of directories and files that are not finished.
pub(crate) const UNFINISHED: &str = ".isobox-export-";

/// Exports into one directory, which is made when the first comes.
#[derive(Clone, Debug)]
pub struct FsExports {
    directory: PathBuf,
}

impl FsExports {
    /// Exports into `directory`.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }
}

impl Exports for FsExports {
    fn begin(&self, name: &str) -> Result<Box<dyn Export>, ExportError> {
        let target = self.directory.join(name);
        if target.symlink_metadata().is_ok() {
            return Err(ExportError::Exists { host_path: shown(&target) });
        }
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.directory);
        made.map_err(|error| failure("create", &self.directory, error))?;
        // Private: nobody else puts a link into it while it is filled.
        let private = Permissions::from_mode(0o700);
        let unfinished = tempfile::Builder::new().prefix(UNFINISHED).permissions(private).tempdir_in(&self.directory);
        let unfinished = unfinished.map_err(|error| failure("create a directory in", &self.directory, error))?;
        Ok(Box::new(FsExport { unfinished, target }))
    }
}

struct FsExport {
    unfinished: TempDir,
    target: PathBuf,
}

impl Export for FsExport {
    fn write(&mut self, path: &RepoPath, content: &mut dyn Read) -> Result<(), ExportError> {
        let host_path = self.unfinished.path().join(OsStr::from_bytes(path.as_bytes()));
        write(&host_path, content)
            .map_err(|error| failure("write", &self.target.join(OsStr::from_bytes(path.as_bytes())), error))
    }

    fn finish(self: Box<Self>) -> Result<(), ExportError> {
        let Self { unfinished, target } = *self;
        match renameat_with(CWD, unfinished.path(), CWD, &target, RenameFlags::NOREPLACE) {
            Ok(()) => {
                // It has another name now.
                let _moved: PathBuf = unfinished.keep();
                Ok(())
            }
            Err(Errno::EXIST) => Err(ExportError::Exists { host_path: shown(&target) }),
            Err(errno) => Err(failure("put in place", &target, errno.into())),
        }
    }
}

fn write(host_path: &Path, content: &mut dyn Read) -> io::Result<()> {
    if let Some(parent) = host_path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(host_path)?;
    io::copy(content, &mut file).map(drop)
}

pub(crate) fn failure(operation: &'static str, host_path: &Path, source: io::Error) -> ExportError {
    ExportError::Io(FileError { operation, host_path: shown(host_path), source: source.into() })
}
