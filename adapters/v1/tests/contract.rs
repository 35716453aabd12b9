//! The adapters of this crate keep what every adapter of their ports keeps.

use isobox_ports::contract::export_files::{self, ExportFilesFixture, Found};
use isobox_ports::contract::exports::{self, ExportsFixture};
use isobox_ports::contract::v1_directories::{self, NAME, V1Place};
use isobox_ports::contract::v1_format;
use isobox_ports::{ExportFiles, Exports, V1Directories, V1Error};
use isobox_v1::{FsExportFile, FsExports, FsV1Directories, V1Json};
use libtest_mimic::Arguments;
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use nix::unistd::mkfifo;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tempfile::TempDir;

/// Exports go below a directory that is not there yet.
struct Destination {
    directory: TempDir,
    exports: FsExports,
}

impl Destination {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let exports = FsExports::new(directory.path().join("deep/er"));
        Self { directory, exports }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join("deep/er").join(name)
    }
}

impl ExportsFixture for Destination {
    fn exports(&self) -> &dyn Exports {
        &self.exports
    }

    fn put_directory(&self, name: &str) {
        fs::create_dir_all(self.path(name)).expect("a directory");
    }

    fn put_link(&self, name: &str) {
        fs::create_dir_all(self.path("")).expect("a directory");
        symlink("nowhere", self.path(name)).expect("a link");
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("")).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().into_string().expect("a name of this test")).collect()
    }

    fn exported(&self, name: &str) -> BTreeMap<String, (u32, Option<Vec<u8>>)> {
        let mut found = BTreeMap::new();
        collect(&self.path(name), "", &mut found);
        found
    }
}

fn collect(host_path: &Path, shown: &str, found: &mut BTreeMap<String, (u32, Option<Vec<u8>>)>) {
    let metadata = fs::symlink_metadata(host_path).expect("metadata");
    let content = metadata.is_file().then(|| fs::read(host_path).expect("read"));
    found.insert(shown.to_owned(), (metadata.permissions().mode() & 0o777, content));
    if metadata.is_dir() {
        for entry in fs::read_dir(host_path).expect("list").flatten() {
            let name = entry.file_name().into_string().expect("a name of this test");
            let below = if shown.is_empty() { name } else { format!("{shown}/{name}") };
            collect(&entry.path(), &below, found);
        }
    }
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().expect("a temporary directory"));
        fs::create_dir_all(folder.path(NAME).join("artifacts")).expect("a record directory");
        folder
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }
}

impl V1Place for Folder {
    fn open(&self, path: &str) -> Result<Box<dyn V1Directories>, V1Error> {
        Ok(Box::new(FsV1Directories::open(&self.path(path))?))
    }

    fn file(&self, path: &str, content: &[u8]) {
        fs::create_dir_all(self.path(path).parent().expect("a parent")).expect("directories");
        fs::write(self.path(path), content).expect("write");
    }

    fn truncate(&self, path: &str, length: u64) {
        File::options().write(true).open(self.path(path)).and_then(|file| file.set_len(length)).expect("a length");
    }

    fn directory(&self, path: &str) {
        fs::create_dir(self.path(path)).expect("a directory");
    }

    fn link(&self, path: &str, target: &str) {
        symlink(target, self.path(path)).expect("a link");
    }

    fn pipe(&self, path: &str) {
        mkfifo(&self.path(path), Mode::S_IRWXU).expect("a pipe");
    }

    fn device(&self, path: &str) -> bool {
        mknod(&self.path(path), SFlag::S_IFCHR, Mode::S_IRWXU, makedev(1, 5)).is_ok()
    }
}

/// A place for one file.
struct Place {
    directory: TempDir,
    file: FsExportFile,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = FsExportFile::new(directory.path().join("out"));
        Self { directory, file }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("out")
    }
}

impl ExportFilesFixture for Place {
    fn place(&self) -> &dyn ExportFiles {
        &self.file
    }

    fn put(&self, what: &Found) {
        match what {
            Found::Nothing => {}
            Found::Directory => fs::create_dir(self.path()).expect("make a directory"),
            Found::File(content, mode) => {
                fs::write(self.path(), content).expect("write a file");
                fs::set_permissions(self.path(), fs::Permissions::from_mode(*mode)).expect("chmod");
            }
            Found::Link(content) => {
                fs::write(self.directory.path().join("linked"), content).expect("write a file");
                symlink("linked", self.path()).expect("make a link");
            }
        }
    }

    fn found(&self) -> Found {
        let Ok(found) = self.path().symlink_metadata() else { return Found::Nothing };
        let content = || fs::read(self.path()).expect("read a file");
        match (found.is_dir(), found.is_symlink()) {
            (true, _) => Found::Directory,
            (_, true) => Found::Link(content()),
            _ => Found::File(content(), found.permissions().mode() & 0o777),
        }
    }

    fn names(&self) -> usize {
        fs::read_dir(self.directory.path()).expect("list").count()
    }
}

fn main() -> ExitCode {
    let mut trials = exports::cases("FsExports", Destination::new);
    trials.extend(export_files::cases("FsExportFile", Place::new));
    trials.extend(v1_directories::cases("FsV1Directories", Folder::new));
    trials.extend(v1_format::cases("V1Json", || V1Json));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
