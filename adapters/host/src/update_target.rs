//! The first `isobox` on PATH, looked at for an update without changing or starting anything.

use crate::installation::{InstallationProbe, escaped, refusal};
use isobox_domain::update_target::{Access, Package, UpdateTarget};
use isobox_ports::{FileError, UpdateError, UpdateTargets};
use nix::unistd::geteuid;
use std::fs::{self, File, Metadata};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Longest list of a package manager that is looked through, in bytes.
const MAX_LIST_BYTES: u64 = 64 << 20;

/// Finds the Update Target on PATH, and what the package managers of the machine say of it.
#[derive(Clone, Debug)]
pub struct PathUpdateTargets {
    probe: InstallationProbe,
    /// Where the lists of package managers are: `/`, but for tests.
    root: PathBuf,
}

impl PathUpdateTargets {
    /// For what `probe` sees, and the package managers below the host path `root`.
    pub fn new(probe: InstallationProbe, root: &Path) -> Self {
        Self { probe, root: root.to_owned() }
    }
}

impl UpdateTargets for PathUpdateTargets {
    fn find(&self) -> Result<Option<UpdateTarget>, UpdateError> {
        let found = self.probe.all("isobox");
        let Some(((on_path, metadata), others)) = found.split_first() else { return Ok(None) };
        let failed = |source: io::Error| FileError {
            operation: "resolve",
            host_path: escaped(on_path),
            source: Box::new(source),
        };
        let file = on_path.canonicalize().map_err(failed)?;
        Ok(Some(UpdateTarget {
            package: package(&self.root, &file),
            is_build_output: is_build_output(&file),
            access: access(&file, metadata),
            names: metadata.nlink(),
            running: self.probe.running(metadata),
            others: others
                .iter()
                .map(|(path, other)| InstallationProbe::duplicate((on_path, metadata), (path, other)))
                .collect(),
            on_path: on_path.as_os_str().as_bytes().to_vec(),
            file: file.into_os_string().into_encoded_bytes(),
        }))
    }
}

fn access(file: &Path, metadata: &Metadata) -> Access {
    let user = geteuid();
    match file.parent().and_then(refusal) {
        _ if !user.is_root() && metadata.uid() != user.as_raw() => Access::BelongsTo(metadata.uid()),
        Some(why) => Access::Denied(why),
        None => Access::Allowed,
    }
}

/// Whether Cargo made the file: it locks the directory that it builds into, and marks the one above as a cache.
fn is_build_output(file: &Path) -> bool {
    let profile = file.parent();
    let is_marked = |directory: &Path| directory.join("CACHEDIR.TAG").exists();
    profile.is_some_and(|profile| profile.join(".cargo-lock").exists() && profile.ancestors().take(3).any(is_marked))
}

/// The package that a list below `root` counts `file` to. Those of rpm are no text: what it installs is known by place.
fn package(root: &Path, file: &Path) -> Option<Package> {
    let name = |list: PathBuf, manager| {
        let name = list.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Package { manager, name }
    };
    // Where /bin is a link to /usr/bin, lists may still say /bin.
    let written = [Some(file), file.strip_prefix("/usr").ok()].map(|path| path.map(|path| path.as_os_str().as_bytes()));
    let names = |line: &[u8]| {
        let bare = |path: &[u8]| path.strip_prefix(b"/").map_or(path.to_vec(), <[u8]>::to_vec);
        !line.is_empty() && written.iter().flatten().any(|path| bare(path) == bare(line))
    };
    let dpkg = files(&root.join("var/lib/dpkg/info")).filter(|list| list.extension().is_some_and(|end| end == "list"));
    let mut dpkg = dpkg.filter(|list| has_line(list, names));
    if let Some(list) = dpkg.next() {
        return Some(name(list.with_extension(""), "dpkg"));
    }
    let mut pacman = files(&root.join("var/lib/pacman/local")).filter(|folder| has_line(&folder.join("files"), names));
    if let Some(folder) = pacman.next() {
        return Some(name(folder, "pacman"));
    }
    apk(&root.join("lib/apk/db/installed"), names)
}

/// The package of apk whose files `names` knows. Its list has a line a fact, begun by a letter: package, folder, file.
fn apk(list: &Path, names: impl Fn(&[u8]) -> bool) -> Option<Package> {
    let (mut package, mut folder) = (Vec::new(), Vec::new());
    let found = lines(list)?.find(|line| {
        match (line.get(..2), line.get(2..)) {
            (Some(b"P:"), Some(name)) => package = name.to_vec(),
            (Some(b"F:"), Some(name)) => folder = name.to_vec(),
            (Some(b"R:"), Some(name)) => return names(&[&folder, &b"/"[..], name].concat()),
            _ => {}
        }
        false
    });
    found.map(|_| Package { manager: "apk", name: String::from_utf8_lossy(&package).into_owned() })
}

fn files(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn has_line(list: &Path, is_meant: impl Fn(&[u8]) -> bool) -> bool {
    lines(list).is_some_and(|mut lines| lines.any(|line| is_meant(&line)))
}

/// The lines of a list; `None` where this user can read none.
fn lines(list: &Path) -> Option<impl Iterator<Item = Vec<u8>>> {
    let file = File::open(list).ok().filter(|file| file.metadata().is_ok_and(|metadata| metadata.is_file()))?;
    Some(BufReader::new(file.take(MAX_LIST_BYTES)).split(b'\n').map_while(Result::ok))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Directories;
    use isobox_domain::fact::{Relation, Running};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use tempfile::TempDir;

    struct Machine(TempDir);

    impl Machine {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn path(&self, path: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(path)
        }

        fn write(&self, path: &str, text: &str) {
            fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
            fs::write(self.path(path), text).unwrap();
        }

        fn program(&self, path: &str) {
            self.write(path, "");
            fs::set_permissions(self.path(path), fs::Permissions::from_mode(0o755)).unwrap();
        }

        fn find(&self, folders: &[&str]) -> Option<UpdateTarget> {
            let path = std::env::join_paths(folders.iter().map(|folder| self.path(folder))).unwrap();
            let directories = Directories::from_variables(|_| None);
            let probe = InstallationProbe::new("1", path, Some(self.path("a/isobox")), directories);
            PathUpdateTargets::new(probe, &self.path("")).find().unwrap()
        }
    }

    #[test]
    fn the_first_on_path_is_found_with_its_links_resolved() {
        let machine = Machine::new();
        machine.program("opt/isobox");
        machine.program("a/isobox");
        fs::create_dir_all(machine.path("b")).unwrap();
        fs::create_dir_all(machine.path("c")).unwrap();
        symlink("../opt/isobox", machine.path("b/isobox")).unwrap();
        fs::hard_link(machine.path("opt/isobox"), machine.path("c/isobox")).unwrap();
        let found = machine.find(&["empty", "b", "a", "c"]).unwrap();
        assert_eq!(found.on_path, machine.path("b/isobox").into_os_string().into_encoded_bytes());
        assert_eq!(found.file, machine.path("opt/isobox").into_os_string().into_encoded_bytes());
        assert_eq!((found.names, found.running, found.access), (2, Running::Other, Access::Allowed));
        let relations: Vec<_> = found.others.iter().map(|other| other.relation).collect();
        assert_eq!(relations, [Relation::OtherFile, Relation::HardLink]);
        assert_eq!(machine.find(&["a"]).unwrap().running, Running::First);
        assert_eq!(machine.find(&["empty"]), None);
    }

    #[test]
    fn lists_of_package_managers_tell_whose_a_file_is() {
        let machine = Machine::new();
        machine.program("a/isobox");
        let file = machine.path("a/isobox").to_string_lossy().into_owned();
        let owner = || machine.find(&["a"]).unwrap().package.map(|package| (package.manager, package.name));
        machine.write("var/lib/dpkg/info/other.list", &format!("/.\n{file}.d\n{file}/x\n"));
        machine.write("var/lib/dpkg/info/isobox.md5sums", &file);
        assert_eq!(owner(), None);
        let (folder, bare) = (file.trim_start_matches('/').trim_end_matches("/isobox"), file.trim_start_matches('/'));
        machine.write("lib/apk/db/installed", &format!("P:box\nF:{folder}\nR:isobox\n"));
        assert_eq!(owner(), Some(("apk", "box".to_owned())));
        machine.write("var/lib/pacman/local/isobox-1-1/files", &format!("%FILES%\n{bare}\n"));
        assert_eq!(owner(), Some(("pacman", "isobox-1-1".to_owned())));
        machine.write("var/lib/dpkg/info/isobox:amd64.list", &format!("/.\n{file}\n"));
        assert_eq!(owner(), Some(("dpkg", "isobox:amd64".to_owned())));
    }

    #[test]
    fn what_cargo_builds_is_known() {
        let machine = Machine::new();
        machine.program("a/isobox");
        machine.write("CACHEDIR.TAG", "");
        assert!(!machine.find(&["a"]).unwrap().is_build_output);
        machine.write("a/.cargo-lock", "");
        assert!(machine.find(&["a"]).unwrap().is_build_output);
    }
}
