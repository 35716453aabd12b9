//! What tests of Workspaces share: repositories made by `git`, a Workspace, and a sink that keeps everything.
#![allow(dead_code, unreachable_pub, reason = "each test target uses a part of it")]

pub mod edits;
pub mod overlay;

use isobox_domain::change::{Change, ChangeLine, NotCaptured, NotCapturedReason};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::source::WorkspaceSource;
use isobox_git::{GixRepository, GixWorkspaces};
use isobox_ports::fake::RecordingSink;
use isobox_ports::{
    CaptureSink, CapturedRefs, Cause, StoreError, TrustedRepository, Workspace, WorkspaceError, WorkspaceForm,
    WorkspaceMount, WorkspaceRequest, Workspaces,
};
use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Runs `git` in `directory` without any configuration of this machine.
pub fn git(directory: &Path, arguments: &[&str]) -> Output {
    git_with_input(directory, arguments, b"")
}

/// The same, with standard input.
pub fn git_with_input(directory: &Path, arguments: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new("git");
    command.current_dir(directory);
    let mut child = with_git_arguments(&mut command, arguments).spawn().expect("git starts");
    child.stdin.take().expect("a pipe").write_all(input).expect("git reads its input");
    child.wait_with_output().expect("git ends")
}

/// Lets `command`, which starts `git`, do that without any configuration of this machine.
fn with_git_arguments<'a>(command: &'a mut Command, arguments: &[&str]) -> &'a mut Command {
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_bytes().starts_with(b"GIT_")) {
        command.env_remove(name);
    }
    command
        .args(["-c", "core.excludesFile=/dev/null", "-c", "core.attributesFile=/dev/null", "-c", "core.autocrlf=false"])
        .args(["-c", "user.name=Ana", "-c", "user.email=ana@example.org", "-c", "core.hooksPath=/dev/null"])
        .args(["-c", "protocol.file.allow=always"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("GIT_AUTHOR_DATE", "2024-01-01T00:00:00Z")
        .env("GIT_COMMITTER_DATE", "2024-01-01T00:00:00Z")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
}

/// Runs `git`, which succeeds, and gives the first line of its output.
pub fn git_line(directory: &Path, arguments: &[&str]) -> String {
    let output = git(directory, arguments);
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned()
}

/// Path `below` a directory, of any bytes.
pub fn at(directory: &Path, below: &[u8]) -> PathBuf {
    directory.join(OsStr::from_bytes(below))
}

/// Writes a file and the directories that it lies in.
pub fn write(directory: &Path, path: &[u8], content: impl AsRef<[u8]>) {
    let path = at(directory, path);
    fs::create_dir_all(path.parent().expect("it lies in a directory")).expect("the directories are made");
    fs::write(path, content).expect("the file is written");
}

/// Makes a file executable, or sets any other mode.
pub fn chmod(directory: &Path, path: &[u8], mode: u32) {
    fs::set_permissions(at(directory, path), fs::Permissions::from_mode(mode)).expect("the mode is set");
}

/// Makes a link.
pub fn link(directory: &Path, path: &[u8], target: &[u8]) {
    symlink(OsStr::from_bytes(target), at(directory, path)).expect("the link is made");
}

/// A trusted repository, a Workspace made from it, and everything around them.
pub struct Scene {
    /// Everything lies in it.
    pub directory: tempfile::TempDir,
    workspaces: GixWorkspaces,
    source: WorkspaceSource,
    workspace: Workspace,
}

impl Scene {
    /// A repository with what `fill` writes in one commit, and a Workspace of it.
    pub fn new(fill: impl FnOnce(&Path)) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let repository = directory.path().join("repository");
        fs::create_dir(&repository).expect("the repository's directory is made");
        git_line(&repository, &["init", "-q", "-b", "main"]);
        fill(&repository);
        git_line(&repository, &["add", "-A", "-f"]);
        git_line(&repository, &["commit", "-q", "--allow-empty", "-m", "first"]);
        Self::of(directory)
    }

    /// A Workspace of the repository in `directory/repository`.
    pub fn of(directory: tempfile::TempDir) -> Self {
        let repository = GixRepository::discover(&directory.path().join("repository")).expect("it is a repository");
        let source = repository.source().expect("it has a commit");
        let workspaces = GixWorkspaces::new(repository, directory.path().join("workspaces"));
        let workspace = create(&workspaces, &source);
        Self { directory, workspaces, source, workspace }
    }

    /// The Workspace.
    pub fn first(&self) -> &Workspace {
        &self.workspace
    }

    /// Another Workspace of the same commit.
    pub fn another(&self) -> Workspace {
        create(&self.workspaces, &self.source)
    }

    /// Removes another Workspace.
    pub fn dispose(&self, workspace: &Workspace) {
        self.workspaces.dispose(&workspace.state).expect("the workspace is removed");
    }

    /// The trusted repository.
    pub fn repository(&self) -> PathBuf {
        self.directory.path().join("repository")
    }

    /// The root of the Workspace.
    pub fn root(&self) -> &Path {
        self.workspace.mount.host_path()
    }

    /// A fresh clone of the trusted repository.
    pub fn clone(&self, name: &str) -> PathBuf {
        let clone = self.directory.path().join(name);
        git_line(self.directory.path(), &["clone", "-q", "repository", name]);
        clone
    }

    /// Captures the Workspace.
    pub fn capture(&self) -> Kept {
        self.capture_into(Kept::default())
    }

    /// Captures the Workspace, and hashes content instead of keeping it.
    pub fn capture_without_content(&self) -> Kept {
        self.capture_into(Kept { drops_content: true, ..Kept::default() })
    }

    fn capture_into(&self, mut kept: Kept) -> Kept {
        self.capture_with(&mut kept);
        kept
    }

    /// Captures the Workspace into any sink.
    pub fn capture_with(&self, sink: &mut dyn CaptureSink) {
        self.capture_mount(&self.workspace, &self.workspace.mount, sink).expect("the workspace is captured");
    }

    /// Captures `workspace`, mounted as `mount`, into any sink.
    pub fn capture_mount(
        &self,
        workspace: &Workspace,
        mount: &WorkspaceMount,
        sink: &mut dyn CaptureSink,
    ) -> Result<(), WorkspaceError> {
        self.workspaces.capture(&workspace.state, mount, sink)
    }
}

fn create(workspaces: &GixWorkspaces, source: &WorkspaceSource) -> Workspace {
    let request = WorkspaceRequest { source, form: WorkspaceForm::Copy };
    let reserved = workspaces.reserve(&request).expect("a place is chosen");
    workspaces.create(&reserved, &request).expect("the workspace is made")
}

/// Everything that a capture found, checked for order as it comes.
#[derive(Default)]
pub struct Kept {
    /// What came.
    pub recorded: RecordingSink,
    drops_content: bool,
}

impl Deref for Kept {
    type Target = RecordingSink;

    fn deref(&self) -> &RecordingSink {
        &self.recorded
    }
}

impl CaptureSink for Kept {
    fn content(&mut self, content: &mut dyn Read) -> Result<ContentRef, Cause> {
        if !self.drops_content {
            return self.recorded.content(content);
        }
        let mut hasher = blake3::Hasher::new();
        let length = std::io::copy(content, &mut hasher)?;
        let id = ContentId::new(*hasher.finalize().as_bytes());
        self.recorded.contents.insert(id, vec![]);
        Ok(ContentRef { id, length })
    }

    fn line(&mut self, line: ChangeLine) -> Result<(), Cause> {
        let last = self.lines.last().map(path_of);
        assert!(last <= Some(path_of(&line)), "{line:?} comes after {:?}", self.lines.last());
        if let ChangeLine::Change(Change { after: Some(after), .. }) = &line {
            assert!(self.contents.contains_key(&after.content.id), "{line:?} has content that was not staged");
        }
        self.recorded.line(line)
    }

    fn patch(&mut self) -> &mut dyn Write {
        self.recorded.patch()
    }

    fn workspace_git(&mut self) -> &mut dyn Write {
        self.recorded.workspace_git()
    }

    fn finish(self: Box<Self>) -> Result<CapturedRefs, StoreError> {
        Box::new(self.recorded).finish()
    }
}

fn path_of(line: &ChangeLine) -> &[u8] {
    match line {
        ChangeLine::Change(change) => change.path.as_bytes(),
        ChangeLine::NotCaptured(left) => &left.workspace_path,
    }
}

impl Kept {
    /// The change of `path`.
    pub fn change(&self, path: &[u8]) -> Option<&Change> {
        self.changes().find(|change| change.path.as_bytes() == path)
    }

    /// What was left out, each with why.
    pub fn left(&self) -> Vec<(&[u8], &NotCapturedReason)> {
        let left = |line| match line {
            &ChangeLine::NotCaptured(NotCaptured { ref workspace_path, ref reason }) => {
                Some((workspace_path.as_slice(), reason))
            }
            ChangeLine::Change(_) => None,
        };
        self.lines.iter().filter_map(left).collect()
    }

    /// The staged bytes of a path.
    pub fn bytes(&self, path: &[u8]) -> Option<&[u8]> {
        let after = self.change(path)?.after.as_ref()?;
        self.contents.get(&after.content.id).map(Vec::as_slice)
    }
}
