//! What every implementation of [`Workspaces`] keeps.

use crate::fake::RecordingSink;
use crate::{
    ChangeLines, Content, ObjectStore, StoreError, Workspace, WorkspaceError, WorkspaceForm, WorkspaceRequest,
    Workspaces,
};
use isobox_domain::change::{Change, ChangeKind, ChangeLine, ChangeSetRef, Mode, NotCapturedReason};
use isobox_domain::content::ContentId;
use isobox_domain::repo_path::RepoPath;
use isobox_domain::source::WorkspaceSource;
use libtest_mimic::{Failed, Trial};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::Cursor;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// The files of the commit that a fixture's source is pinned at: path, kind, content.
pub const FILES: &[(&[u8], Mode, &[u8])] = &[
    (b"README.md", Mode::File, b"a line\n"),
    (b"bin/tool", Mode::Executable, b"#!/bin/sh\nexit 0\n"),
    (b"data/b\xffytes", Mode::File, b"\x00\x01\r\n\xff"),
    (b"data/empty", Mode::File, b""),
    (b"link", Mode::Symlink, b"/nowhere/at all"),
    (b"new\nline", Mode::File, b"x"),
];

/// Workspaces of one source with [`FILES`], for one case.
pub trait WorkspacesFixture {
    /// The implementation under test.
    fn workspaces(&self) -> &dyn Workspaces;

    /// Another instance of it, as a later process would have.
    fn later(&self) -> Box<dyn Workspaces>;

    /// The source, pinned.
    fn source(&self) -> WorkspaceSource;

    /// The directory below which Workspaces are made.
    fn workspaces_root(&self) -> PathBuf;

    /// The directory that holds everything of the source.
    fn source_root(&self) -> PathBuf;

    /// Puts a file into the working tree of the source, or takes one away.
    fn edit_source(&self, path: &[u8], content: Option<&[u8]>);
}

type Case = fn(&dyn WorkspacesFixture) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("has_exactly_the_files_of_the_commit_and_a_git_directory", has_exactly_the_files),
    ("a_working_directory_that_the_commit_does_not_have_is_refused", missing_directory_is_refused),
    ("shares_no_inode_with_the_source", shares_no_inode),
    ("untouched_gives_no_line", untouched_gives_no_line),
    ("with_a_snapshot_it_has_the_files_of_the_working_tree_and_is_captured_against_them", snapshot_is_the_base),
    ("a_later_process_is_told_the_same_snapshot_whatever_became_of_the_workspace", snapshot_outlives_changes),
    ("a_snapshot_can_be_made_of_given_lines_whatever_the_working_tree_holds", snapshot_is_given),
    ("a_clean_source_gives_no_snapshot", clean_gives_no_snapshot),
    ("what_changed_is_captured_byte_for_byte_in_path_order", changes_are_captured),
    ("what_is_not_captured_is_a_line_that_says_why", not_captured_says_why),
    ("capturing_changes_nothing", capturing_changes_nothing),
    ("is_captured_and_disposed_by_a_later_process", later_process_goes_on),
    ("disposing_removes_everything_whatever_the_modes_inside", disposing_removes_everything),
    ("disposing_follows_no_link", disposing_follows_no_link),
    ("disposing_twice_is_fine", disposing_twice_is_fine),
    ("a_creation_that_never_began_is_disposed_from_its_state", unborn_is_disposed),
    ("retaining_keeps_the_files_and_nothing_beside_them", retaining_keeps_the_files),
];

/// The suite, as tests of `name`. `fixture` is called once a case; what it returns lives as long as the case.
pub fn cases<F: WorkspacesFixture + 'static>(name: &str, fixture: fn() -> F) -> Vec<Trial> {
    let trial = |(case, run): &(&str, Case)| {
        let run = *run;
        Trial::test(format!("{name}::{case}"), move || run(&fixture()))
    };
    CASES.iter().map(trial).collect()
}

fn has_exactly_the_files(fixture: &dyn WorkspacesFixture) -> Result<(), Failed> {
    let workspace = create(fixture)?;
    let expected: BTreeMap<_, _> =
        FILES.iter().map(|(path, mode, content)| (path.to_vec(), (*mode, content.to_vec()))).collect();
    assert_eq!(files(&root(&workspace)), expected);
    assert!(root(&workspace).join(".git").is_dir());
    Ok(())
}

fn missing_directory_is_refused(fixture: &dyn WorkspacesFixture) -> Result<(), Failed> {
    let workspaces = fixture.workspaces();
    for (directory, is_there) in [("data", true), ("dat", false), ("README.md", false), ("build", false)] {
        let source = WorkspaceSource { working_directory: Some(RepoPath::parse(directory)?), ..fixture.source() };
        let request = WorkspaceRequest { source: &source, form: WorkspaceForm::Copy };
        let reserved = workspaces.reserve(&request)?;
        match workspaces.create(&reserved, &request) {
            Ok(_) => assert!(is_there, "{directory}"),
            Err(WorkspaceError::Refused { reason, .. }) => assert!(!is_there && reason.contains(directory), "{reason}"),
            Err(error) => return Err(error.into()),
        }
        workspaces.dispose(&reserved)?;
    }
    nothing_is_left(fixture)
}

fn shares_no_inode(fixture: &dyn WorkspacesFixture) -> Result<(), Failed> {
    let workspace = create(fixture)?;
    let ours = inodes(&root(&workspace));
    assert_eq!(ours.intersection(&inodes(&fixture.source_root())).count(), 0);
    Ok(())
}

fn untouched_gives_no_line(fixture: &dyn WorkspacesFixture) -> Result<(), Failed> {
    let workspace = create(fixture)?;
    assert_eq!(capture(fixture.workspaces(), &workspace)?.lines, []);
    Ok(())
}

/// A Workspace that began with a changed, an added and a deleted file.
fn create_with_snapshot(fixture: &dyn WorkspacesFixture) -> Result<Workspace, Failed> {
    fixture.edit_source(b"README.md", Some(b"not committed\r\n"));
    fixture.edit_source(b"a/new", Some(b"\x00new"));
    fixture.edit_source(b"data/empty", None);
    let workspace = create(fixture)?;
    let source = fixture.source();
    let request = WorkspaceRequest { source: &source, form: WorkspaceForm::Copy };
    fixture.workspaces().add_snapshot(&workspace.state, &request)?;
    Ok(workspace)
}

fn snapshot(workspaces: &dyn Workspaces, workspace: &Workspace) -> Result<RecordingSink, Failed> {
    let mut sink = RecordingSink::default();
    workspaces.snapshot(&workspace.state, &mut sink)?;
    Ok(sink)
}

fn assert_is_the_snapshot(sink: &RecordingSink) {
    assert_eq!(sink.paths(), [&b"README.md"[..], b"a/new", b"data/empty"]);
    assert_eq!(sink.after(b"README.md"), Some((Mode::File, b"not committed\r\n".to_vec())));
    assert_eq!(sink.after(b"a/new"), Some((Mode::File, b"\x00new".to_vec())));
    let kinds: Vec<_> = sink.changes().map(Change::kind).collect();
    assert_eq!(kinds, [ChangeKind::Modified, ChangeKind::Added, ChangeKind::Deleted]);
    let befores: Vec<_> =
        sink.changes().map(|change| change.before.clone().and_then(|before| before.content)).collect();
    let lengths: Vec<_> = befores.iter().map(|content| content.map(|content| content.length)).collect();
    assert_eq!(lengths, [Some(7), None, Some(0)]);
}

fn snapshot_is_the_base(fixture: &dyn WorkspacesFixture) -> Result<(), Failed> {
    let workspace = create_with_snapshot(fixture)?;
    let mut expected: BTreeMap<_, _> =
        FILES.iter().map(|(path, mode, content)| (path.to_vec(), (*mode, content.to_vec()))).collect();
    expected.insert(b"README.md".to_vec(), (Mode::File, b"not committed\r\n".to_vec()));
    expected.insert(b"a/new".to_vec(), (Mode::File, b"\x00new".to_vec()));
    expected.remove(&b"data/empty"[..]);
    assert_eq!(files(&root(&workspace)), expected);
    assert_is_the_snapshot(&snapshot(fixture.workspaces(), &workspace)?);
    assert_eq!(capture(fixture.workspaces(), &workspace)?.lines, []);
    fs::write(root(&workspace).join("README.md"), "a line\n")?;
    fs::remove_file(root(&workspace).join("a/new"))?;
    fs::write(root(&workspace).join("data/empty"), "")?;
    let captured = capture(fixture.workspaces(), &workspace)?;
    let kinds: Vec<_> = captured.changes().map(|change| (change.path.as_bytes(), change.kind())).collect();
    let expected: [(&[u8], _); 3] =
        [(b"README.md", ChangeKind::Modified), (b"a/new", ChangeKind::Deleted), (b"data/empty", ChangeKind::Added)];
    assert_eq!(kinds, expected, "as the commit is no longer as it began");
    let before = captured.changes().next().and_then(|change| change.before.clone()).and_then(|before| before.content);
    assert_eq!(before.map(|content| content.length), Some(15));
    Ok(())
}

fn snapshot_outlives_changes(fixture: &dyn WorkspacesFixture) -> Result<(), Failed> {
    let workspace = create_with_snapshot(fixture)?;
    fs::remove_file(root(&workspace).join("a/new"))?;
    fs::remove_file(root(&workspace).join("README.md"))?;
    fixture.edit_source(b"README.md", Some(b"later\n"));
    let later = fixture.later();
    assert_is_the_snapshot(&snapshot(&*later, &workspace)?);
    assert_eq!(capture(&*later, &workspace)?.paths(), [&b"README.md"[..], b"a/new"]);
    later.dispose(&workspace.state)?;
    nothing_is_left(fixture)
}

/// The contents that a capture staged.
struct Staged(BTreeMap<ContentId, Vec<u8>>);

impl ObjectStore for Staged {
    fn open(&self, id: &ContentId) -> Result<Option<Content>, StoreError> {
        Ok(self.0.get(id).map(|bytes| Box::new(Cursor::new(bytes.clone())) as Content))
    }

    fn changes(&self, _: &ChangeSetRef) -> Result<ChangeLines<'_>, StoreError> {
        Ok(Box::new(std::iter::empty()))
    }
}

fn snapshot_is_given(fixture: &dyn WorkspacesFixture) -> Result<(), Failed> {
    // The source says what the lines are, and is something else by then.
    let told = snapshot(fixture.workspaces(), &create_with_snapshot(fixture)?)?;
    fixture.edit_source(b"README.md", Some(b"later\n"));
    fixture.edit_source(b"a/new", None);
    let workspace = create(fixture)?;
    let lines = || Box::new(told.changes().cloned().map(|change| Ok(ChangeLine::Change(change)))) as ChangeLines<'_>;
    fixture.workspaces().put_snapshot(&workspace.state, lines(), &Staged(told.contents.clone()))?;
    let read = |path: &str| fs::read(root(&workspace).join(path));
    assert_eq!((read("README.md")?, read("a/new")?), (b"not committed\r\n".to_vec(), b"\x00new".to_vec()));
    assert!(!root(&workspace).join("data/empty").exists());
    assert_is_the_snapshot(&snapshot(fixture.workspaces(), &workspace)?);
    assert_eq!(capture(fixture.workspaces(), &workspace)?.lines, []);
    let other = create(fixture)?;
    let missing = fixture.workspaces().put_snapshot(&other.state, lines(), &Staged(BTreeMap::new()));
    assert!(missing.is_err(), "a content that is not there is no empty file");
    Ok(())
}

fn clean_gives_no_snapshot(fixture: &dyn WorkspacesFixture) -> Result<(), Failed> {
    let workspace = create(fixture)?;
    let source = fixture.source();
    let request = WorkspaceRequest { source: &source, form: WorkspaceForm::Copy };
    fixture.workspaces().add_snapshot(&workspace.state, &request)?;
    assert_eq!(snapshot(fixture.workspaces(), &workspace)?.lines, []);
    assert_eq!(capture(fixture.workspaces(), &workspace)?.lines, []);
    Ok(())
}

fn changes_are_captured(fixture: &dyn WorkspacesFixture) -> Result<(), Failed> {
    let workspace = create(fixture)?;
    let root = root(&workspace);
    fs::write(root.join("README.md"), "another line\r\n")?;
    fs::set_permissions(root.join("bin/tool"), fs::Permissions::from_mode(0o644))?;
    fs::remove_file(root.join("data/empty"))?;
    fs::remove_file(root.join("link"))?;
    symlink("../up", root.join("link"))?;
    fs::create_dir(root.join("a"))?;
    fs::write(root.join("a").join(OsStr::from_bytes(b"\xfe:!x")), b"\x00new")?;
    let sink = capture(fixture.workspaces(), &workspace)?;
    let after = |path: &[u8]| sink.after(path);
    assert_eq!(sink.paths(), [&b"README.md"[..], b"a/\xfe:!x", b"bin/tool", b"data/empty", b"link"]);
    assert_eq!(after(b"README.md"), Some((Mode::File, b"another line\r\n".to_vec())));
    assert_eq!(after(b"a/\xfe:!x"), Some((Mode::File, b"\x00new".to_vec())));
    assert_eq!(after(b"bin/tool"), Some((Mode::File, b"#!/bin/sh\nexit 0\n".to_vec())));
    assert_eq!(after(b"data/empty"), None);
    assert_eq!(after(b"link"), Some((Mode::Symlink, b"../up".to_vec())));
    Ok(())
}

fn not_captured_says_why(fixture: &dyn WorkspacesFixture) -> Result<(), Failed> {
    let workspace = create(fixture)?;
    // The name of a socket has at most 107 bytes, and the Workspace may lie deep: unix(7).
    let directory = fs::File::open(root(&workspace))?;
    let _listener = UnixListener::bind(format!("/proc/self/fd/{}/socket", directory.as_raw_fd()))?;
    let lines = capture(fixture.workspaces(), &workspace)?.lines;
    let [ChangeLine::NotCaptured(line)] = &lines[..] else {
        return Err(format!("expected one line about a socket, found {lines:?}").into());
    };
    assert_eq!((line.workspace_path.as_slice(), &line.reason), (&b"socket"[..], &NotCapturedReason::Socket));
    Ok(())
}

fn capturing_changes_nothing(fixture: &dyn WorkspacesFixture) -> Result<(), Failed> {
    let workspace = create(fixture)?;
    fs::write(root(&workspace).join("README.md"), "changed")?;
    let before = files(&root(&workspace));
    let first = capture(fixture.workspaces(), &workspace)?;
    assert_eq!(files(&root(&workspace)), before);
    assert_eq!(capture(fixture.workspaces(), &workspace)?.lines, first.lines);
    Ok(())
}

fn later_process_goes_on(fixture: &dyn WorkspacesFixture) -> Result<(), Failed> {
    let workspace = create(fixture)?;
    fs::write(root(&workspace).join("added"), "by a killed one")?;
    let later = fixture.later();
    assert_eq!(capture(later.as_ref(), &workspace)?.paths(), [b"added"]);
    later.dispose(&workspace.state)?;
    nothing_is_left(fixture)
}

fn disposing_removes_everything(fixture: &dyn WorkspacesFixture) -> Result<(), Failed> {
    let workspace = create(fixture)?;
    let root = root(&workspace);
    for (name, mode) in [("read-only", 0o555), ("no-access", 0o000), ("write-only", 0o200)] {
        fs::create_dir_all(root.join(name).join("deep/er"))?;
        fs::write(root.join(name).join("deep/er/file"), "x")?;
        fs::set_permissions(root.join(name).join("deep"), fs::Permissions::from_mode(mode))?;
        fs::set_permissions(root.join(name), fs::Permissions::from_mode(mode))?;
    }
    fixture.workspaces().dispose(&workspace.state)?;
    nothing_is_left(fixture)
}

fn disposing_follows_no_link(fixture: &dyn WorkspacesFixture) -> Result<(), Failed> {
    let workspace = create(fixture)?;
    let outside = fixture.workspaces_root().with_file_name("outside");
    fs::create_dir_all(&outside)?;
    fs::write(outside.join("precious"), "x")?;
    symlink(&outside, root(&workspace).join("to-outside"))?;
    fixture.workspaces().dispose(&workspace.state)?;
    assert_eq!(fs::read(outside.join("precious"))?, b"x");
    nothing_is_left(fixture)
}

fn disposing_twice_is_fine(fixture: &dyn WorkspacesFixture) -> Result<(), Failed> {
    let workspace = create(fixture)?;
    fixture.workspaces().dispose(&workspace.state)?;
    fixture.workspaces().dispose(&workspace.state)?;
    nothing_is_left(fixture)
}

fn unborn_is_disposed(fixture: &dyn WorkspacesFixture) -> Result<(), Failed> {
    let source = fixture.source();
    let state = fixture.workspaces().reserve(&WorkspaceRequest { source: &source, form: WorkspaceForm::Copy })?;
    fixture.later().dispose(&state)?;
    nothing_is_left(fixture)
}

fn retaining_keeps_the_files(fixture: &dyn WorkspacesFixture) -> Result<(), Failed> {
    let workspace = create(fixture)?;
    let root = root(&workspace);
    fs::write(root.join("added"), "mine")?;
    let before = files(&root);
    assert_eq!(fixture.workspaces().retain(&workspace.state)?, root);
    assert_eq!(files(&root), before);
    let around = root.parent().ok_or("a root has a parent")?;
    assert_eq!(fs::read_dir(around)?.count(), 1);
    Ok(())
}

fn create(fixture: &dyn WorkspacesFixture) -> Result<Workspace, Failed> {
    let source = fixture.source();
    let request = WorkspaceRequest { source: &source, form: WorkspaceForm::Copy };
    let state = fixture.workspaces().reserve(&request)?;
    Ok(fixture.workspaces().create(&state, &request)?)
}

fn capture(workspaces: &dyn Workspaces, workspace: &Workspace) -> Result<RecordingSink, Failed> {
    let mut sink = RecordingSink::default();
    workspaces.capture(&workspace.state, &workspace.mount, &mut sink)?;
    Ok(sink)
}

fn root(workspace: &Workspace) -> PathBuf {
    workspace.mount.host_path().to_owned()
}

fn nothing_is_left(fixture: &dyn WorkspacesFixture) -> Result<(), Failed> {
    let root = fixture.workspaces_root();
    let left = if root.exists() { fs::read_dir(root)?.count() } else { 0 };
    assert_eq!(left, 0);
    Ok(())
}

/// Every file and link below `root` but those of its `.git`.
fn files(root: &Path) -> BTreeMap<Vec<u8>, (Mode, Vec<u8>)> {
    let mut files = BTreeMap::new();
    for path in walk(root).into_iter().filter(|path| !path.starts_with(root.join(".git"))) {
        let name = path.strip_prefix(root).expect("it is below the root").as_os_str().as_bytes().to_vec();
        let metadata = path.symlink_metadata().expect("it is there");
        let found = if metadata.is_symlink() {
            (Mode::Symlink, fs::read_link(&path).expect("a link is read").into_os_string().into_encoded_bytes())
        } else {
            let mode = if metadata.mode() & 0o100 == 0 { Mode::File } else { Mode::Executable };
            (mode, fs::read(&path).expect("a file is read"))
        };
        files.insert(name, found);
    }
    files
}

fn inodes(root: &Path) -> BTreeSet<(u64, u64)> {
    let inode = |path: PathBuf| path.symlink_metadata().map(|metadata| (metadata.dev(), metadata.ino()));
    walk(root).into_iter().map(|path| inode(path).expect("it is there")).collect()
}

/// Everything below `root` but directories.
fn walk(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = if root.is_dir() { vec![root.to_owned()] } else { vec![] };
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).expect("a directory is read") {
            let entry = entry.expect("a name is read");
            let is_directory = entry.file_type().expect("its type is known").is_dir();
            if is_directory { &mut pending } else { &mut found }.push(entry.path());
        }
    }
    found
}
