//! The fakes of the trusted repository and of Workspaces keep the contracts of their ports.

use isobox_domain::change::Mode;
use isobox_domain::git_oid::GitOid;
use isobox_domain::repo_path::RepoPath;
use isobox_domain::source::WorkspaceSource;
use isobox_ports::contract::{promotion, repository, workspaces};
use isobox_ports::fake::{DirectoryWorkspaces, Files, InMemoryRepository};
use isobox_ports::{ResultCommits, TrustedRepository, Workspaces};
use std::path::PathBuf;
use std::sync::Mutex;

fn source() -> WorkspaceSource {
    let commit = GitOid::Sha1([7; 20]);
    let branch = Some(b"refs/heads/main".to_vec());
    WorkspaceSource {
        host_path: b"/home/ana/app".to_vec(),
        root_commit: Some(commit),
        commit,
        branch,
        working_directory: None,
    }
}

fn files(files: &[(&[u8], Mode, &[u8])]) -> Files {
    let parse = |path: &[u8]| RepoPath::parse(path).expect("a valid path");
    files.iter().map(|(path, mode, content)| (parse(path), (*mode, content.to_vec()))).collect()
}

struct FakeWorkspaces {
    directory: tempfile::TempDir,
    workspaces: DirectoryWorkspaces,
    edited: Mutex<Files>,
}

impl FakeWorkspaces {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let workspaces = DirectoryWorkspaces::new(files(workspaces::FILES), directory.path().join("workspaces"));
        Self { directory, workspaces, edited: Mutex::new(files(workspaces::FILES)) }
    }
}

impl workspaces::WorkspacesFixture for FakeWorkspaces {
    fn workspaces(&self) -> &dyn Workspaces {
        &self.workspaces
    }

    fn later(&self) -> Box<dyn Workspaces> {
        Box::new(DirectoryWorkspaces::new(files(workspaces::FILES), self.workspaces_root()))
    }

    fn source(&self) -> WorkspaceSource {
        source()
    }

    fn workspaces_root(&self) -> PathBuf {
        self.directory.path().join("workspaces")
    }

    fn source_root(&self) -> PathBuf {
        self.directory.path().join("no-source-on-disk")
    }

    fn edit_source(&self, path: &[u8], content: Option<&[u8]>) {
        let path = RepoPath::parse(path).expect("a valid path");
        let mut source = self.edited.lock().expect("no panic");
        match content {
            Some(content) => drop(source.insert(path, (Mode::File, content.to_vec()))),
            None => drop(source.remove(&path)),
        }
        self.workspaces.edit_source(source.clone());
    }
}

struct FakeRepository(InMemoryRepository);

impl repository::RepositoryFixture for FakeRepository {
    fn repository(&self) -> &dyn TrustedRepository {
        &self.0
    }

    fn expected_source(&self) -> WorkspaceSource {
        source()
    }

    fn add_untracked(&self, path: &RepoPath) {
        self.0.edit(path, Some((Mode::File, b"x".to_vec())));
    }

    fn fingerprint(&self) -> Vec<u8> {
        format!("{:?}", self.0.files()).into_bytes()
    }
}

impl promotion::PromotionFixture for FakeRepository {
    fn branch(&self, name: &[u8]) -> Option<Files> {
        self.0.branch(name).map(|(_, files)| files)
    }

    fn repository(&self) -> &dyn TrustedRepository {
        &self.0
    }

    fn files(&self) -> promotion::Files {
        self.0.files()
    }

    fn put(&self, path: &RepoPath, mode: Mode, content: &[u8]) {
        self.0.edit(path, Some((mode, content.to_vec())));
    }
}

impl promotion::result_commits::ResultCommitsFixture for FakeRepository {
    fn commits(&self) -> &dyn ResultCommits {
        &self.0
    }

    fn files_of(&self, commit: &GitOid) -> Option<Files> {
        self.0.files_of(commit)
    }
}

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    let workspaces = workspaces::cases("directory_workspaces", FakeWorkspaces::new);
    let fake_repository = || FakeRepository(InMemoryRepository::new(source(), files(workspaces::FILES)));
    let repository = repository::cases("in_memory_repository", fake_repository);
    let fake_target = || FakeRepository(InMemoryRepository::new(source(), files(promotion::FILES)));
    let promotion = promotion::cases("in_memory_promotion", fake_target);
    let commits = promotion::result_commits::cases("in_memory_result_commits", fake_target);
    let cases = workspaces.into_iter().chain(repository).chain(promotion).chain(commits);
    libtest_mimic::run(&arguments, cases.collect()).exit();
}
