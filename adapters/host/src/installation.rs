//! The user's installation: programs on PATH, and isobox's own directories, looked at without changing them.

use crate::Directories;
use crate::DirectoriesError;
use isobox_domain::escape::Escaped;
use isobox_domain::fact::{Duplicate, Fact, Relation, Running, Trial};
use isobox_ports::HostProbe;
use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::{AccessFlags, faccessat, geteuid};
use std::ffi::OsString;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Looks at PATH and at the directories of the user.
#[derive(Clone, Debug)]
pub struct InstallationProbe {
    version: &'static str,
    path: OsString,
    running: Option<PathBuf>,
    directories: Directories,
}

impl InstallationProbe {
    /// For this process, whose version is `version`.
    pub fn of_this_process(version: &'static str) -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Self::new(version, path, std::env::current_exe().ok(), Directories::from_environment())
    }

    /// For a value of PATH, and a program `running` that is called isobox on it.
    pub fn new(version: &'static str, path: OsString, running: Option<PathBuf>, directories: Directories) -> Self {
        Self { version, path, running, directories }
    }

    /// The programs called `name` in the order of PATH. Directories that depend on the current one are passed over.
    pub(crate) fn all(&self, name: &str) -> Vec<(PathBuf, Metadata)> {
        let directories = std::env::split_paths(&self.path).filter(|directory| directory.is_absolute());
        let candidates = directories.filter_map(|directory| {
            let path = directory.join(name);
            let metadata = path.metadata().ok()?;
            (metadata.is_file() && metadata.mode() & 0o111 != 0).then_some((path, metadata))
        });
        let mut found: Vec<(PathBuf, Metadata)> = Vec::new();
        for candidate in candidates {
            // A directory that is on PATH twice has the same programs.
            if !found.iter().any(|(path, _)| *path == candidate.0) {
                found.push(candidate);
            }
        }
        found
    }

    fn on_path(&self) -> Fact {
        let found = self.all("isobox");
        let Some(((first, metadata), others)) = found.split_first() else {
            return Fact::OnPath { first: None, running: Running::Other, duplicates: Vec::new() };
        };
        let duplicates = others.iter().map(|(path, other)| Self::duplicate((first, metadata), (path, other)));
        Fact::OnPath { first: Some(escaped(first)), running: self.running(metadata), duplicates: duplicates.collect() }
    }

    /// Whether the file of `metadata` is the program that runs.
    pub(crate) fn running(&self, metadata: &Metadata) -> Running {
        let own = self.running.as_deref().and_then(|running| running.metadata().ok());
        if own.is_some_and(|own| is_same(&own, metadata)) { Running::First } else { Running::Other }
    }

    /// What a program on PATH has to do with the `first` of its name.
    pub(crate) fn duplicate(first: (&Path, &Metadata), other: (&Path, &Metadata)) -> Duplicate {
        let relation = if is_same(first.1, other.1) { same_file(first.0, other.0) } else { Relation::OtherFile };
        Duplicate { host_path: escaped(other.0), relation }
    }

    fn own_directories(&self) -> [Fact; 3] {
        let directories = &self.directories;
        [("state", directories.state()), ("config", directories.config()), ("cache", directories.cache())]
            .map(|(role, directory)| Fact::OwnDirectory(role, usable(directory)))
    }
}

pub(crate) fn escaped(host_path: &Path) -> String {
    Escaped::path(host_path).to_string()
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// In what way `other` is another name of the file at `first`.
fn same_file(first: &Path, other: &Path) -> Relation {
    let is_link = other.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    match (is_link, first.canonicalize().ok() == other.canonicalize().ok()) {
        (true, _) => Relation::SymbolicLink,
        (false, true) => Relation::SamePath,
        (false, false) => Relation::HardLink,
    }
}

/// Whether a directory could be used, or made: nothing is made to find out.
fn usable(directory: Result<PathBuf, DirectoriesError>) -> Trial {
    let directory = match directory {
        Ok(directory) => directory,
        Err(error) => return Trial::Fails(error.to_string()),
    };
    let shown = escaped(&directory);
    match directory.metadata() {
        Ok(metadata) if !metadata.is_dir() => Trial::Fails(format!("{shown} is no directory")),
        Ok(metadata) => match unfit(&metadata).or_else(|| refusal(&directory)) {
            Some(reason) => Trial::Fails(format!("{shown}: {reason}")),
            None => Trial::Works(shown),
        },
        Err(_) => {
            let above = directory.ancestors().skip(1).find(|above| above.symlink_metadata().is_ok());
            match above.map(|above| (above, refusal(above))) {
                Some((above, Some(reason))) => {
                    Trial::Fails(format!("{shown} cannot be made: {}: {reason}", escaped(above)))
                }
                _ => Trial::Works(format!("{shown} is not there yet, and can be made")),
            }
        }
    }
}

fn unfit(metadata: &Metadata) -> Option<String> {
    match () {
        () if metadata.uid() != geteuid().as_raw() => Some(format!("it belongs to user {}", metadata.uid())),
        () if metadata.mode() & 0o022 != 0 => {
            Some(format!("others can write to it (mode {:04o})", metadata.mode() & 0o7777))
        }
        () => None,
    }
}

/// Why this user may not make anything in `directory`.
pub(crate) fn refusal(directory: &Path) -> Option<String> {
    let needed = AccessFlags::W_OK | AccessFlags::X_OK;
    faccessat(AT_FDCWD, directory, needed, AtFlags::AT_EACCESS).err().map(|errno| errno.desc().to_owned())
}

impl HostProbe for InstallationProbe {
    fn facts(&self) -> Vec<Fact> {
        let git = self.all("git").into_iter().next().map(|(path, _)| escaped(&path));
        let mut facts = vec![Fact::Version(self.version.to_owned()), self.on_path(), Fact::Git(git)];
        facts.extend(self.own_directories());
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use tempfile::TempDir;

    /// Folders `a` to `d`, with a program `isobox` in `a`, and PATH naming all of them.
    fn machine() -> (TempDir, InstallationProbe) {
        let root = tempfile::tempdir().unwrap();
        let folders = ["a", "b", "c", "d"].map(|name| root.path().join(name));
        folders.iter().for_each(|folder| fs::create_dir(folder).unwrap());
        program(&folders[0]);
        let path = std::env::join_paths(&folders).unwrap();
        let directories =
            Directories::from_variables(|name| (name == "HOME").then(|| root.path().as_os_str().to_owned()));
        let probe = InstallationProbe::new("1", path, Some(folders[0].join("isobox")), directories);
        (root, probe)
    }

    fn program(folder: &Path) {
        fs::write(folder.join("isobox"), "").unwrap();
        fs::set_permissions(folder.join("isobox"), fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn links_and_copies_on_path_are_told_apart() {
        let (root, probe) = machine();
        let at = |name: &str| root.path().join(name).join("isobox");
        fs::hard_link(at("a"), at("b")).unwrap();
        symlink(at("a"), at("c")).unwrap();
        program(&root.path().join("d"));
        let Fact::OnPath { first, running, duplicates } = probe.on_path() else { panic!("no such fact") };
        assert_eq!((first, running), (Some(escaped(&at("a"))), Running::First));
        let relations: Vec<_> = duplicates.iter().map(|duplicate| duplicate.relation).collect();
        assert_eq!(relations, [Relation::HardLink, Relation::SymbolicLink, Relation::OtherFile]);
    }

    #[test]
    fn a_linked_directory_has_the_same_programs() {
        let (root, probe) = machine();
        fs::remove_dir(root.path().join("b")).unwrap();
        symlink("a", root.path().join("b")).unwrap();
        let Fact::OnPath { duplicates, .. } = probe.on_path() else { panic!("no such fact") };
        assert_eq!(duplicates.iter().map(|other| other.relation).collect::<Vec<_>>(), [Relation::SamePath]);
    }

    #[test]
    fn what_runs_may_be_another_than_the_first_on_path() {
        let (root, mut probe) = machine();
        program(&root.path().join("d"));
        probe.running = Some(root.path().join("d/isobox"));
        assert!(matches!(probe.on_path(), Fact::OnPath { running: Running::Other, .. }));
        probe.path = root.path().join("b").into();
        assert!(matches!(probe.on_path(), Fact::OnPath { first: None, .. }));
    }

    #[test]
    fn a_directory_that_is_not_there_is_usable_and_one_that_others_write_to_is_not() {
        let (root, probe) = machine();
        assert!(matches!(usable(probe.directories.state()), Trial::Works(found) if found.ends_with("can be made")));
        let state = root.path().join(".local/state/isobox");
        fs::create_dir_all(&state).unwrap();
        assert_eq!(usable(probe.directories.state()), Trial::Works(escaped(&state)));
        fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(usable(probe.directories.state()), Trial::Fails(why) if why.contains("mode 0777")));
        assert!(matches!(usable(Directories::default().state()), Trial::Fails(why) if why.contains("HOME")));
    }
}
