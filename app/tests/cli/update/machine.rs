//! A made-up machine: directories of programs, of which some are on PATH.

use super::site::{Site, program_text};
use isobox_tests::{Outcome, isobox_program, outcome};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A machine in a directory.
pub(crate) struct Machine {
    directory: TempDir,
    /// Directories of PATH, before those of the system.
    pub(crate) path: Vec<PathBuf>,
}

impl Machine {
    /// One with an empty directory `bin` on PATH.
    pub(crate) fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("isobox-machine-").tempdir().expect("a directory");
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("chmod");
        let mut machine = Self { directory, path: Vec::new() };
        machine.path = vec![machine.folder("bin")];
        machine.folder("home");
        machine
    }

    /// One with the release `version` as `bin/isobox`.
    pub(crate) fn with_release(version: &str) -> Self {
        let machine = Self::new();
        machine.program("bin/isobox", version);
        machine
    }

    /// Where something of the machine lies.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.directory.path().canonicalize().expect("a directory").join(path)
    }

    /// A directory, made if it is not there.
    pub(crate) fn folder(&self, path: &str) -> PathBuf {
        fs::create_dir_all(self.at(path)).expect("a folder");
        self.at(path)
    }

    /// Puts a program that says that it is the release `version` somewhere.
    pub(crate) fn program(&self, path: &str, version: &str) {
        fs::write(self.at(path), program_text(version)).expect("a program");
        fs::set_permissions(self.at(path), fs::Permissions::from_mode(0o755)).expect("chmod");
    }

    /// `program`, in the environment of the machine.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        let own = self.path.iter().map(|folder| folder.clone().into_os_string());
        let system = ["/usr/local/bin", "/usr/bin", "/bin"].map(OsString::from);
        let path = std::env::join_paths(own.chain(system)).expect("a path");
        command.env_clear().env("PATH", path).env("HOME", self.at("home")).current_dir(self.at("home"));
        command.stdin(Stdio::null());
        command
    }

    /// Runs `isobox update` with `arguments` against the releases at `url` that `site` signed.
    pub(crate) fn update(&self, site: &Site, url: &str, arguments: &[&str]) -> Outcome {
        let mut command = self.command(isobox_program());
        command.args(["update", "--url", url, "--key", &site.key()]).args(arguments);
        outcome(command.output().expect("run isobox"))
    }

    /// The version of the program at `path`.
    pub(crate) fn version(&self, path: &str) -> String {
        let ran = outcome(self.command(self.at(path)).arg("version").output().expect("run a program"));
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.stdout.trim().trim_start_matches("isobox ").to_owned()
    }

    /// The names in a directory, with what each file holds.
    pub(crate) fn listing(&self, path: &str) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(self.at(path)).expect("list").map(|entry| entry.expect("an entry"));
        entries
            .map(|entry| {
                let content = fs::read(entry.path()).unwrap_or_default();
                (entry.file_name().to_string_lossy().into_owned(), content)
            })
            .collect()
    }
}

/// Asserts that nothing was replaced, and that each of `words` says why.
pub(crate) fn assert_refused(ran: &Outcome, words: &[&str]) {
    crate::support::assert_told(ran, 1, words);
}
