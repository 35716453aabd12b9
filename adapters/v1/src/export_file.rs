//! One exported file: made beside its place, and moved there whole.

use crate::exports::{UNFINISHED, failure};
use crate::shown;
use isobox_ports::{ExportError, ExportFile, ExportFiles, Replacing};
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Exports into one file.
#[derive(Clone, Debug)]
pub struct FsExportFile {
    host_path: PathBuf,
}

impl FsExportFile {
    /// Exports into the file at `host_path`, whose directory is there.
    pub fn new(host_path: impl Into<PathBuf>) -> Self {
        Self { host_path: host_path.into() }
    }

    fn directory(&self) -> &Path {
        let parent = self.host_path.parent().filter(|parent| !parent.as_os_str().is_empty());
        parent.unwrap_or(Path::new("."))
    }
}

impl ExportFiles for FsExportFile {
    fn begin(&self, replacing: Replacing) -> Result<Box<dyn ExportFile>, ExportError> {
        let Self { host_path } = self;
        match (host_path.symlink_metadata(), replacing) {
            (Ok(_), Replacing::Nothing) => return Err(ExportError::Exists { host_path: shown(host_path) }),
            (Ok(found), Replacing::File) if found.is_dir() => {
                return Err(failure("replace", host_path, io::ErrorKind::IsADirectory.into()));
            }
            (Ok(_) | Err(_), _) => {}
        }
        let private = Permissions::from_mode(0o600);
        let unfinished = tempfile::Builder::new().prefix(UNFINISHED).permissions(private).tempfile_in(self.directory());
        let unfinished = unfinished.map_err(|error| failure("create", host_path, error))?;
        Ok(Box::new(FsExportedFile { unfinished, target: self.clone(), replacing }))
    }
}

struct FsExportedFile {
    unfinished: NamedTempFile,
    target: FsExportFile,
    replacing: Replacing,
}

impl Write for FsExportedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unfinished.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unfinished.flush()
    }
}

impl ExportFile for FsExportedFile {
    fn finish(self: Box<Self>) -> Result<(), ExportError> {
        let Self { unfinished, target, replacing } = *self;
        let host_path = &target.host_path;
        unfinished.as_file().sync_all().map_err(|error| failure("flush", host_path, error))?;
        let placed = match replacing {
            Replacing::Nothing => unfinished.persist_noclobber(host_path),
            Replacing::File => unfinished.persist(host_path),
        };
        placed.map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => ExportError::Exists { host_path: shown(host_path) },
            _ => failure("put in place", host_path, error.error),
        })?;
        let synced = File::open(target.directory()).and_then(|directory| directory.sync_all());
        synced.map_err(|error| failure("flush the directory of", host_path, error))
    }
}
