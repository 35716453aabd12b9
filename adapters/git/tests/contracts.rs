//! The adapters on gix keep the contracts of their ports.

mod fixture;

use fixture::disks::{Disk, SHARING};
use fixture::{Place, commit, git, write};
use isobox_domain::change::Mode;
use isobox_domain::git_oid::GitOid;
use isobox_domain::repo_path::RepoPath;
use isobox_domain::source::WorkspaceSource;
use isobox_git::{FsPrivateCopies, GixRepository, GixWorkspaces};
use isobox_ports::contract::{private_copies, repository, workspaces};
use isobox_ports::{PrivateCopies, TrustedRepository, Workspaces};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::ExitCode;

const BTRFS: Disk = SHARING[0];

struct Fixture {
    place: Place,
    root: PathBuf,
    repository: GixRepository,
    workspaces: GixWorkspaces,
    cache: Option<PathBuf>,
}

impl Fixture {
    fn new() -> Self {
        Self::within(Place::new(), None)
    }

    /// One whose Workspaces share blocks of the disk with pristine copies.
    fn sharing() -> Self {
        let place = Place::new();
        BTRFS.mount_over(place.path());
        let cache = place.join("cache");
        Self::within(place, Some(cache))
    }

    fn within(place: Place, cache: Option<PathBuf>) -> Self {
        let root = place.join("app");
        git(place.path(), ["init", "--quiet", "-b", "main", "app"]);
        for (path, mode, content) in workspaces::FILES {
            write(&root.join(OsStr::from_bytes(path)), *mode, content);
        }
        commit(&root);
        let repository = GixRepository::discover(&root).expect("the repository is found");
        let workspaces = GixWorkspaces::new(repository.clone(), place.workspaces_root(), cache.clone());
        Self { place, root, repository, workspaces, cache }
    }
}

impl workspaces::WorkspacesFixture for Fixture {
    fn workspaces(&self) -> &dyn Workspaces {
        &self.workspaces
    }

    fn later(&self) -> Box<dyn Workspaces> {
        // A later process may stand in another repository.
        let other = self.place.join("other");
        if !other.exists() {
            self.place.repository("other");
        }
        let other = GixRepository::discover(&other).expect("the other repository is found");
        Box::new(GixWorkspaces::new(other, self.place.workspaces_root(), self.cache.clone()))
    }

    fn source(&self) -> WorkspaceSource {
        self.repository.source().expect("the source is pinned")
    }

    fn workspaces_root(&self) -> PathBuf {
        self.place.workspaces_root()
    }

    fn source_root(&self) -> PathBuf {
        self.root.clone()
    }

    fn edit_source(&self, path: &[u8], content: Option<&[u8]>) {
        let host_path = self.root.join(OsStr::from_bytes(path));
        match content {
            Some(content) => write(&host_path, Mode::File, content),
            None => fs::remove_file(host_path).expect("a file is removed"),
        }
    }
}

impl repository::RepositoryFixture for Fixture {
    fn repository(&self) -> &dyn TrustedRepository {
        &self.repository
    }

    fn expected_source(&self) -> WorkspaceSource {
        let head = GitOid::from_hex(&git(&self.root, ["rev-parse", "HEAD"])).expect("git prints an oid");
        WorkspaceSource {
            host_path: self.root.as_os_str().as_bytes().to_vec(),
            root_commit: Some(head),
            commit: head,
            branch: Some(b"refs/heads/main".to_vec()),
            working_directory: None,
        }
    }

    fn add_untracked(&self, path: &RepoPath) {
        fs::write(self.root.join(OsStr::from_bytes(path.as_bytes())), "x").expect("a file is written");
    }

    fn fingerprint(&self) -> Vec<u8> {
        let mut pending = vec![self.root.clone()];
        let mut found = Vec::new();
        while let Some(path) = pending.pop() {
            let metadata = path.symlink_metadata().expect("it is there");
            let content = if metadata.is_file() { fs::read(&path).expect("it is read") } else { vec![] };
            found.push((path.clone(), metadata.mtime_nsec(), metadata.mtime(), metadata.ino(), content));
            if metadata.is_dir() {
                pending.extend(fs::read_dir(path).expect("it is read").map(|entry| entry.expect("a name").path()));
            }
        }
        found.sort();
        format!("{found:?}").into_bytes()
    }
}

/// A directory of the host that has everything that can be copied.
struct Host {
    place: Place,
    copies: FsPrivateCopies,
}

impl Host {
    fn new() -> Self {
        let place = Place::new();
        let shown = place.join("shown");
        write(&shown.join("directory/file"), Mode::File, b"one");
        write(&shown.join("directory/program"), Mode::Executable, b"two");
        write(&shown.join("link"), Mode::Symlink, b"directory/file");
        fs::create_dir(shown.join("empty")).expect("a directory");
        let copies = FsPrivateCopies::new(place.join("copies"));
        Self { place, copies }
    }
}

impl private_copies::PrivateCopiesFixture for Host {
    fn copies(&self) -> &dyn PrivateCopies {
        &self.copies
    }

    fn later(&self) -> Box<dyn PrivateCopies> {
        Box::new(FsPrivateCopies::new(self.place.join("copies")))
    }

    fn something(&self) -> PathBuf {
        self.place.join("shown")
    }

    fn state(&self) -> Vec<String> {
        let names = ["", "directory", "directory/file", "directory/program", "link", "empty"];
        let look = |name: &str| {
            let path = self.something().join(name);
            let found = path.symlink_metadata().expect("it is there");
            (path.clone(), found.mode(), found.ino(), found.mtime(), found.mtime_nsec(), fs::read(path).ok())
        };
        names.map(|name| format!("{:?}", look(name))).into()
    }

    fn remains(&self) -> usize {
        fs::read_dir(self.place.join("copies")).map_or(0, Iterator::count)
    }
}

fn main() -> ExitCode {
    fixture::run(|| {
        let lacking = BTRFS.lacking();
        let name =
            format!("gix_workspaces_that_share_blocks{}", lacking.map_or(String::new(), |why| format!(" ({why})")));
        let sharing = workspaces::cases(&name, Fixture::sharing);
        let sharing = sharing.into_iter().map(|trial| trial.with_ignored_flag(lacking.is_some()));
        let plain = workspaces::cases("gix_workspaces", Fixture::new);
        plain
            .into_iter()
            .chain(sharing)
            .chain(repository::cases("gix_repository", Fixture::new))
            .chain(private_copies::cases("directories", Host::new))
            .collect()
    })
}
