//! A Promotion into a repository on gix keeps the contract of its port, whatever the user's configuration names.

mod fixture;

use fixture::{Place, commit, git, git_command, write};
use isobox_domain::change::Mode;
use isobox_domain::git_oid::GitOid;
use isobox_domain::repo_path::RepoPath;
use isobox_git::{GixRepository, GixResultCommits};
use isobox_ports::contract::promotion::result_commits::{self, ResultCommitsFixture};
use isobox_ports::contract::promotion::{FILES, Files, PromotionFixture, cases};
use isobox_ports::{ResultCommits, TrustedRepository};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::ExitCode;

struct Fixture {
    root: PathBuf,
    repository: GixRepository,
    commits: GixResultCommits,
    _place: Place,
}

impl Fixture {
    fn new() -> Self {
        let place = Place::new();
        git(place.path(), ["init", "--quiet", "-b", "main", "app"]);
        let root = place.join("app");
        git(&root, ["config", "user.name", "Bo"]);
        git(&root, ["config", "user.email", "bo@example.org"]);
        for (path, mode, content) in FILES {
            write(&root.join(OsStr::from_bytes(path)), *mode, content);
        }
        commit(&root);
        let repository = GixRepository::discover(&root).expect("the repository is found");
        let commits = GixResultCommits::around(&root).expect("the repository is found");
        Self { root, repository, commits, _place: place }
    }
}

impl PromotionFixture for Fixture {
    fn repository(&self) -> &dyn TrustedRepository {
        &self.repository
    }

    fn files(&self) -> Files {
        let mut files = Files::new();
        let mut pending = vec![self.root.clone()];
        while let Some(directory) = pending.pop() {
            for entry in fs::read_dir(directory).expect("it is read") {
                let path = entry.expect("an entry").path();
                let metadata = path.symlink_metadata().expect("it is there");
                let name = path.strip_prefix(&self.root).expect("it is below").as_os_str().as_bytes();
                if name == b".git" {
                    continue;
                } else if metadata.is_dir() {
                    pending.push(path);
                    continue;
                }
                let (mode, content) = if metadata.is_symlink() {
                    (Mode::Symlink, fs::read_link(&path).expect("a target").into_os_string().into_vec())
                } else {
                    let is_executable = metadata.permissions().mode() & 0o100 != 0;
                    (if is_executable { Mode::Executable } else { Mode::File }, fs::read(&path).expect("its content"))
                };
                files.insert(RepoPath::parse(name).expect("a path"), (mode, content));
            }
        }
        files
    }

    fn branch(&self, name: &[u8]) -> Option<Files> {
        self.listed(OsStr::from_bytes(name))
    }

    fn put(&self, path: &RepoPath, mode: Mode, content: &[u8]) {
        write(&self.root.join(OsStr::from_bytes(path.as_bytes())), mode, content);
    }
}

impl ResultCommitsFixture for Fixture {
    fn commits(&self) -> &dyn ResultCommits {
        &self.commits
    }

    fn files_of(&self, commit: &GitOid) -> Option<Files> {
        self.listed(OsStr::new(&commit.to_string()))
    }
}

impl Fixture {
    fn listed(&self, name: &OsStr) -> Option<Files> {
        let listed = git_command(&self.root).args(["ls-tree", "-r", "-z"]).arg(name).output().expect("git starts");
        let lines = listed.stdout.split(|byte| *byte == 0).filter(|line| !line.is_empty());
        let file = |line: &[u8]| {
            let tab = line.iter().position(|byte| *byte == b'\t').expect("a tab");
            let words = String::from_utf8(line[..tab].to_vec()).expect("text");
            let [mode, _, oid] = words.split(' ').collect::<Vec<_>>()[..] else { panic!("{words}") };
            let mode = match mode {
                "100644" => Mode::File,
                "100755" => Mode::Executable,
                _ => Mode::Symlink,
            };
            let content = git_command(&self.root).args(["cat-file", "blob", oid]).output().expect("git starts").stdout;
            (RepoPath::parse(&line[tab + 1..]).expect("a path"), (mode, content))
        };
        listed.status.success().then(|| lines.map(file).collect())
    }
}

fn main() -> ExitCode {
    fixture::run(|| {
        let commits = result_commits::cases("gix_result_commits", Fixture::new);
        cases("gix_promotion", Fixture::new).into_iter().chain(commits).collect()
    })
}
