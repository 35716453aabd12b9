//! A small repository with every kind of path, a Change Set over it, and what must come of it.

use crate::GixRepository;
use isobox_domain::change::{After, Before, Change, ChangeLine, ChangeSetRef, Mode};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::git_oid::GitOid;
use isobox_domain::repo_path::RepoPath;
use isobox_domain::timestamp::Timestamp;
use isobox_ports::{
    Applied, ApplyError, ChangeLines, CommitText, Content, Landing, ObjectStore, Promotion, Route, StoreError,
    TrustedRepository, Unfinished,
};
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

pub(super) const RECEIPT: &[u8] = b"receipt";

/// A path as a test sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    File(u32, Vec<u8>),
    Link(Vec<u8>),
    Directory,
}

pub(super) type Tree = BTreeMap<Vec<u8>, Node>;

pub(super) struct Fixture {
    directory: TempDir,
}

/// In memory where that is possible: the loops make hundreds of repositories, and flush each.
fn temporary_directory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary directory")
}

impl Fixture {
    /// A repository with these files, committed; executable where the mode says so.
    pub(super) fn new(files: &[(&[u8], Mode, &[u8])]) -> Self {
        let fixture = Self { directory: temporary_directory() };
        fixture.git(&["init", "-q", "-b", "main"]);
        fixture.git(&["config", "user.name", "Ana"]);
        fixture.git(&["config", "user.email", "ana@example.org"]);
        for (path, mode, content) in files {
            write(&fixture.root().join(OsStr::from_bytes(path)), *mode, content);
        }
        fixture.git(&["add", "-A"]);
        fixture.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
        fixture
    }

    /// A copy of the whole repository elsewhere, with stat information of its own.
    pub(super) fn copy(&self) -> Self {
        let copy = Self { directory: temporary_directory() };
        let status = Command::new("cp").arg("-a").arg(self.root()).arg(copy.directory.path()).status();
        assert!(status.expect("cp is there").success());
        copy
    }

    pub(super) fn root(&self) -> PathBuf {
        self.directory.path().join("repository")
    }

    /// Runs git with none of the user's configuration.
    pub(super) fn git(&self, arguments: &[&str]) -> String {
        fs::create_dir_all(self.root()).expect("the root is made");
        let output = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "core.autocrlf=false"])
            .args(arguments)
            .current_dir(self.root())
            .env("HOME", self.directory.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .expect("git is there");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("git prints UTF-8 here")
    }

    pub(super) fn repository(&self) -> GixRepository {
        GixRepository::discover(&self.root()).expect("a repository")
    }

    /// Everything in the working tree.
    pub(super) fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        collect(&self.root(), &self.root(), &mut tree);
        tree
    }

    pub(super) fn index(&self) -> Vec<u8> {
        fs::read(self.root().join(".git/index")).expect("an index")
    }

    /// HEAD and every reference.
    pub(super) fn references(&self) -> String {
        self.git(&["symbolic-ref", "HEAD"]) + &self.git(&["for-each-ref", "--format=%(refname) %(objectname)"])
    }

    /// The branch of [`Fixture::to_a_branch`].
    pub(super) const BRANCH: &'static str = "refs/heads/try/this";

    /// A route to a branch of its own.
    pub(super) fn to_a_branch(&self) -> Route {
        let (parent, _) = self.repository().head().expect("a commit");
        Route::Branch { name: Self::BRANCH.into(), parent }
    }

    /// Applies and finishes, as the use case does.
    pub(super) fn promote(&self, set: &ChangeSet, route: &Route) -> Result<Applied, ApplyError> {
        let repository = self.repository();
        let mut promotion = repository.begin_promotion().expect("the lock");
        let (head, _) = repository.head().expect("a commit");
        let applied = apply(&mut *promotion, &head, set, route)?;
        promotion.finish()?;
        Ok(applied)
    }

    /// What the next start finds, and forgets.
    pub(super) fn settle(&self) -> Option<Unfinished> {
        let repository = self.repository();
        let mut promotion = repository.begin_promotion().expect("it is settled");
        let unfinished = promotion.unfinished().cloned();
        promotion.finish().expect("it is forgotten");
        unfinished
    }

    /// That nothing of isobox's is left but the lock.
    pub(super) fn assert_nothing_is_left(&self) {
        assert!(!self.repository().has_unfinished_promotion());
        let home = fs::read_dir(self.root().join(".git/isobox")).expect("isobox's directory");
        let mut names: Vec<_> = home.map(|entry| entry.expect("an entry").file_name()).collect();
        names.retain(|name| name != "undo");
        assert_eq!(names, ["promotion.lock"]);
        assert!(!self.root().join(".git/index.lock").exists(), "a lock of the index was left");
    }
}

/// Makes the commit of a route that has one, and applies, with HEAD at `head`.
pub(super) fn apply(
    promotion: &mut dyn Promotion,
    head: &GitOid,
    set: &ChangeSet,
    route: &Route,
) -> Result<Applied, ApplyError> {
    let text = CommitText { message: b"Changed\n".to_vec(), at: Timestamp::nearest(1_800_000_000_000) };
    let made = match route {
        Route::Files | Route::Index => None,
        Route::Commit | Route::Branch { .. } => Some(promotion.commit(set.lines(), set, route, &text)?),
    };
    promotion.apply(set.lines(), set, Landing { route, made: made.as_ref(), head: Some(head) }, RECEIPT)
}

pub(super) fn write(path: &Path, mode: Mode, content: &[u8]) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("the parent is made");
    if mode == Mode::Symlink {
        return symlink(OsStr::from_bytes(content), path).expect("a link");
    }
    fs::write(path, content).expect("the file is written");
    if mode == Mode::Executable {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("the mode is set");
    }
}

fn collect(root: &Path, directory: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path.strip_prefix(root).expect("below the root").as_os_str().as_bytes().to_vec();
        let metadata = path.symlink_metadata().expect("metadata");
        if name == b".git" {
        } else if metadata.is_symlink() {
            let target = fs::read_link(&path).expect("a target").into_os_string().into_vec();
            tree.insert(name, Node::Link(target));
        } else if metadata.is_dir() {
            tree.insert(name, Node::Directory);
            collect(root, &path, tree);
        } else {
            tree.insert(name, Node::File(metadata.mode() & 0o7777, fs::read(&path).expect("its content")));
        }
    }
}

/// A Change Set with its contents.
#[derive(Clone, Default)]
pub(super) struct ChangeSet {
    changes: BTreeMap<Vec<u8>, Change>,
    contents: HashMap<ContentId, Vec<u8>>,
}

impl ChangeSet {
    pub(super) fn add(&mut self, path: &[u8], mode: Mode, content: &[u8]) -> &mut Self {
        let content = self.stage(content);
        self.change(path).after = Some(After { mode, content, binary: false });
        self
    }

    pub(super) fn delete(&mut self, path: &[u8], mode: Mode, content: &[u8]) -> &mut Self {
        let id = gix::objs::compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Blob, content).expect("a hash");
        let content = Some(self.stage(content));
        let oid = GitOid::from_bytes(id.as_bytes()).expect("an oid");
        self.change(path).before = Some(Before { mode, oid, content });
        self
    }

    pub(super) fn change(&mut self, path: &[u8]) -> &mut Change {
        let parsed = RepoPath::parse(path).expect("a path");
        let fresh = Change { path: parsed, before: None, after: None, renamed_from: None, submodule: None };
        self.changes.entry(path.to_vec()).or_insert(fresh)
    }

    /// Forgets a content, as a damaged store would.
    pub(super) fn lose(&mut self, content: &[u8]) {
        self.contents.remove(&identity(content).id);
    }

    /// Hands out other bytes for a content.
    pub(super) fn damage(&mut self, content: &[u8], found: &[u8]) {
        self.contents.insert(identity(content).id, found.to_vec());
    }

    fn stage(&mut self, content: &[u8]) -> ContentRef {
        let identity = identity(content);
        self.contents.insert(identity.id, content.to_vec());
        identity
    }

    pub(super) fn lines(&self) -> ChangeLines<'_> {
        Box::new(self.changes.values().cloned().map(|change| Ok(ChangeLine::Change(change))))
    }

    pub(super) fn paths(&self) -> u64 {
        self.changes.len() as u64
    }

    /// What `before` becomes: the files as the lines say, and just the directories that hold them.
    pub(super) fn applied_to(&self, before: &Tree) -> Tree {
        let mut files: Tree = before.clone().into_iter().filter(|(_, node)| *node != Node::Directory).collect();
        for (path, change) in &self.changes {
            match &change.after {
                None => drop(files.remove(path)),
                Some(After { mode: Mode::Symlink, content, .. }) => {
                    files.insert(path.clone(), Node::Link(self.contents[&content.id].clone()));
                }
                Some(After { mode, content, .. }) => {
                    let bits = if *mode == Mode::Executable { 0o755 } else { 0o644 };
                    files.insert(path.clone(), Node::File(bits, self.contents[&content.id].clone()));
                }
            }
        }
        let parents: Vec<_> = files
            .keys()
            .flat_map(|path| {
                super::super::paths::component_ends(super::super::paths::parent_of(path))
                    .map(|end| path[..end].to_vec())
                    .collect::<Vec<_>>()
            })
            .collect();
        files.extend(parents.into_iter().map(|parent| (parent, Node::Directory)));
        files
    }
}

fn identity(content: &[u8]) -> ContentRef {
    ContentRef { id: ContentId::new(*blake3::hash(content).as_bytes()), length: content.len() as u64 }
}

impl ObjectStore for ChangeSet {
    fn open(&self, id: &ContentId) -> Result<Option<Content>, StoreError> {
        Ok(self.contents.get(id).map(|bytes| Box::new(std::io::Cursor::new(bytes.clone())) as Content))
    }

    fn changes(&self, _: &ChangeSetRef) -> Result<ChangeLines<'_>, StoreError> {
        Ok(self.lines())
    }
}

const FILES: &[(&[u8], Mode, &[u8])] = &[
    (b"directory/sub/y", Mode::File, b"y"),
    (b"directory/x", Mode::File, b"x"),
    (b"directory-", Mode::File, b"between"),
    (b"file", Mode::File, b"becomes a directory"),
    (b"gone/deep/file", Mode::File, b"gone"),
    (b"keep/a", Mode::File, b"kept"),
    (b"link", Mode::Symlink, b"keep/a"),
    (b"link-directory", Mode::Symlink, b"keep"),
    (b"modified", Mode::File, b"one\n"),
    (b"script", Mode::Executable, b"#!/bin/sh\n"),
    (b"typed", Mode::File, b"becomes a link"),
];

/// A repository, and a Change Set that changes it in every way there is.
pub(super) fn everything() -> (Fixture, ChangeSet) {
    (Fixture::new(FILES), every_change())
}

/// That Change Set.
pub(super) fn every_change() -> ChangeSet {
    let mut set = ChangeSet::default();
    set.add(b"added/deep/b\xff\n", Mode::Executable, b"#!/bin/sh\n\0binary")
        .add(b"added/deep/c", Mode::File, b"")
        .add(b"directory", Mode::File, b"was a directory")
        .delete(b"directory/sub/y", Mode::File, b"y")
        .delete(b"directory/x", Mode::File, b"x")
        .delete(b"directory-", Mode::File, b"between")
        .add(b"directory-", Mode::File, b"between, changed")
        .delete(b"file", Mode::File, b"becomes a directory")
        .add(b"file/inner/z", Mode::File, b"z")
        .delete(b"gone/deep/file", Mode::File, b"gone")
        .delete(b"link", Mode::Symlink, b"keep/a")
        .add(b"link", Mode::Symlink, b"../outside")
        .delete(b"link-directory", Mode::Symlink, b"keep")
        .add(b"link-directory/w", Mode::File, b"w")
        .delete(b"modified", Mode::File, b"one\n")
        .add(b"modified", Mode::File, b"two\r\n")
        .delete(b"script", Mode::Executable, b"#!/bin/sh\n")
        .add(b"script", Mode::File, b"#!/bin/sh\n")
        .delete(b"typed", Mode::File, b"becomes a link")
        .add(b"typed", Mode::Symlink, b"/etc/passwd");
    set
}
