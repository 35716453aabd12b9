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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn export(path: &Path, replacing: Replacing, bytes: &[u8]) -> Result<(), ExportError> {
        let mut file = FsExportFile::new(path).begin(replacing)?;
        file.write_all(bytes).expect("write");
        file.finish()
    }

    fn names(directory: &Path) -> Vec<String> {
        let names = fs::read_dir(directory).expect("list").map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<_> = names.map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_there_whole_and_private_or_not_at_all() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("out");
        let mut begun = FsExportFile::new(&path).begin(Replacing::Nothing).expect("begin");
        begun.write_all(b"half").expect("write");
        assert!(!path.exists());
        drop(begun);
        assert_eq!(names(directory.path()), [] as [&str; 0]);
        export(&path, Replacing::Nothing, b"whole").expect("export");
        assert_eq!(fs::read(&path).expect("read"), b"whole");
        assert_eq!(fs::metadata(&path).expect("look").permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn what_is_there_stays_unless_it_is_to_be_replaced() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        fs::write(path("file"), "mine").expect("write");
        symlink("file", path("link")).expect("link");
        fs::create_dir(path("directory")).expect("make");
        for name in ["file", "link", "directory"] {
            let refused = export(&path(name), Replacing::Nothing, b"x");
            assert!(matches!(refused, Err(ExportError::Exists { .. })), "{name}");
        }
        assert!(export(&path("directory"), Replacing::File, b"x").is_err());
        export(&path("link"), Replacing::File, b"new").expect("export");
        assert_eq!(fs::read(path("file")).expect("read"), b"mine", "the link made way, not what it leads to");
        export(&path("file"), Replacing::File, b"newer").expect("export");
        assert_eq!(fs::read(path("file")).expect("read"), b"newer");
        assert_eq!(names(directory.path()), ["directory", "file", "link"]);
    }

    #[test]
    fn what_came_meanwhile_stays() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("out");
        let begun = FsExportFile::new(&path).begin(Replacing::Nothing).expect("begin");
        fs::write(&path, "mine").expect("write");
        assert!(matches!(begun.finish(), Err(ExportError::Exists { .. })));
        assert_eq!(fs::read(&path).expect("read"), b"mine");
    }
}
