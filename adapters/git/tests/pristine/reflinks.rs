//! Workspaces that share blocks of the disk with a pristine copy, on file systems that can do that.

use crate::fixture::disks::{Disk, SHARING};
use crate::fixture::{Place, commit, git, trial};
use crate::scene::{Scene, inode, listing};
use isobox_domain::policy::WorkspaceKind;
use isobox_domain::repo_path::RepoPath;
use isobox_domain::source::WorkspaceSource;
use isobox_git::GixWorkspaces;
use isobox_ports::fake::RecordingSink;
use isobox_ports::{Workspace, WorkspaceError, WorkspaceForm, WorkspaceRequest, Workspaces};
use libtest_mimic::Trial;
use nix::sys::statvfs::statvfs;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

type Case = (&'static str, fn(&Scene));

const CASES: [Case; 6] = [
    ("a_copy_takes_no_room_and_has_inodes_of_its_own", takes_no_room),
    ("a_copy_is_what_a_checkout_is", as_a_checkout),
    ("a_copy_of_layers_is_what_they_show", of_layers),
    ("what_changes_in_a_copy_is_captured_and_the_pristine_one_stays", captured),
    ("what_somebody_wrote_to_in_the_cache_is_in_no_workspace", damaged),
    ("a_directory_that_is_not_committed_is_refused", not_committed),
];

pub(crate) fn trials() -> Vec<Trial> {
    let on_each = SHARING.iter().flat_map(|kind| CASES.iter().map(move |case| on(*kind, *case)));
    on_each.chain([trial("where_blocks_cannot_be_shared_a_copy_is_checked_out", elsewhere)]).collect()
}

/// A trial on a file system of its own, where that can be made and mounted.
fn on(kind: Disk, (name, test): Case) -> Trial {
    let why = kind.lacking();
    let shown = why.map_or_else(String::new, |why| format!(": {why}"));
    let trial = Trial::test(format!("{name} ({}{shown})", kind.maker), move || {
        let place = Place::new();
        kind.mount_over(place.path());
        test(&Scene::within(place));
        Ok(())
    });
    trial.with_ignored_flag(why.is_some())
}

fn create(scene: &Scene, workspaces: &GixWorkspaces) -> Workspace {
    try_create(workspaces, &scene.source()).unwrap_or_else(|error| panic!("{}", crate::fixture::chain(&error)))
}

fn try_create(workspaces: &GixWorkspaces, source: &WorkspaceSource) -> Result<Workspace, WorkspaceError> {
    let request = WorkspaceRequest { source, form: WorkspaceForm::Copy };
    let reserved = workspaces.reserve(&request)?;
    workspaces.lay_out(&reserved, &request)?;
    workspaces.create(&reserved, &request)
}

/// One that is checked out.
fn checked_out(scene: &Scene) -> PathBuf {
    let workspaces = GixWorkspaces::new(scene.repository(), scene.place.workspaces_root(), None);
    let workspace = create(scene, &workspaces);
    assert_eq!(workspace.kind, WorkspaceKind::Copy);
    workspace.mount.host_path().to_owned()
}

fn reflink(scene: &Scene, workspaces: &GixWorkspaces) -> (Workspace, PathBuf) {
    let workspace = create(scene, workspaces);
    assert_eq!((workspace.kind, &workspace.notices), (WorkspaceKind::Reflink, &vec![]));
    let root = workspace.mount.host_path().to_owned();
    (workspace, root)
}

/// The only pristine copy.
fn pristine(scene: &Scene) -> PathBuf {
    let [copy] = &scene.cached()[..] else { panic!("{:?}", scene.cached()) };
    copy.join("tree")
}

fn takes_no_room(scene: &Scene) {
    const LARGE: usize = 32 << 20;
    let noise = (0..LARGE as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect::<Vec<_>>();
    fs::write(scene.app.join("large"), &noise).expect("a file is written");
    commit(&scene.app);
    let workspaces = scene.workspaces();
    reflink(scene, &workspaces);
    let free = || {
        nix::unistd::sync();
        let found = statvfs(&scene.place.join("")).expect("it is told");
        found.blocks_free() * found.fragment_size()
    };
    let before = free();
    let (_, root) = reflink(scene, &workspaces);
    let taken = before.saturating_sub(free());
    assert!(taken < LARGE as u64 / 8, "{taken} bytes were taken");
    let made = root.join("large");
    assert_eq!(fs::read(&made).expect("it is read"), noise);
    assert_ne!(inode(&made), inode(&pristine(scene).join("large")));
    assert_eq!(made.metadata().expect("it is there").nlink(), 1);
}

fn with_all_kinds(scene: &Scene) {
    fs::write(scene.app.join("run"), "#!/bin/sh\n").expect("a file is written");
    fs::set_permissions(scene.app.join("run"), fs::Permissions::from_mode(0o755)).expect("its mode is set");
    fs::write(scene.app.join("empty"), "").expect("a file is written");
    fs::write(scene.app.join(".gitattributes"), "*.crlf eol=crlf\n").expect("a file is written");
    fs::write(scene.app.join("src/lines.crlf"), "a\r\nb\r\n").expect("a file is written");
    symlink("src/two", scene.app.join("link")).expect("a link is made");
    symlink("/nowhere/at/all", scene.app.join("src/dangling")).expect("a link is made");
    for number in 0..300 {
        fs::write(scene.app.join(format!("src/f{number}")), format!("{number}\n")).expect("a file is written");
    }
    commit(&scene.app);
}

fn as_a_checkout(scene: &Scene) {
    with_all_kinds(scene);
    let (workspace, root) = reflink(scene, &scene.workspaces());
    let expected = checked_out(scene);
    assert_eq!(listing(&root), listing(&expected));
    for path in ["run", "link", "src/f7"] {
        let mtime = |root: &Path| root.join(path).symlink_metadata().expect("it is there").mtime();
        assert_eq!(mtime(&root), mtime(&expected), "{path}");
    }
    assert_eq!(git(&root, ["status", "--porcelain"]), "");
    git(&root, ["fsck", "--strict"]);
    scene.workspaces().dispose(&workspace.state).expect("it is removed");
    assert!(!root.exists());
}

fn of_layers(scene: &Scene) {
    with_all_kinds(scene);
    fs::create_dir(scene.app.join("gone")).expect("a directory is made");
    fs::write(scene.app.join("gone/a"), "a\n").expect("a file is written");
    commit(&scene.app);
    reflink(scene, &scene.workspaces());
    fs::remove_dir_all(scene.app.join("gone")).expect("it is removed");
    fs::remove_file(scene.app.join("src/two")).expect("it is removed");
    fs::create_dir(scene.app.join("src/two")).expect("a directory is made");
    fs::write(scene.app.join("src/two/is"), "a directory\n").expect("a file is written");
    fs::write(scene.app.join("src/f7"), "other\n").expect("a file is written");
    commit(&scene.app);
    let (_, root) = reflink(scene, &scene.workspaces());
    assert_eq!(scene.cached().len(), 2);
    // With the objects of its own commit alone.
    assert_eq!(listing(&root), listing(&checked_out(scene)));
    assert_eq!(git(&root, ["status", "--porcelain"]), "");
    git(&root, ["fsck", "--strict"]);
}

fn captured(scene: &Scene) {
    with_all_kinds(scene);
    let workspaces = scene.workspaces();
    let (workspace, root) = reflink(scene, &workspaces);
    let before = listing(&pristine(scene));
    let capture = || {
        let mut sink = RecordingSink::default();
        scene.workspaces().capture(&workspace.state, &workspace.mount, &mut sink).expect("it is captured");
        (sink.lines.len(), sink.workspace_git.len())
    };
    assert_eq!(capture(), (0, 0));
    fs::write(root.join("README.md"), "another line\n").expect("a file is written");
    fs::remove_file(root.join("src/two")).expect("a file is removed");
    fs::rename(root.join("src/deep"), root.join("src/renamed")).expect("a directory is renamed");
    git(&root, ["add", "-A"]);
    git(&root, ["commit", "--quiet", "-m", "inside"]);
    let (lines, archive) = capture();
    assert_eq!((lines, archive > 0), (4, true));
    assert_eq!(listing(&pristine(scene)), before);
    let kept = scene.workspaces().retain(&workspace.state).expect("it is retained");
    assert_eq!(fs::read(kept.join("README.md")).expect("it is read"), b"another line\n");
}

/// Of what is not looked at in each use.
fn damaged(scene: &Scene) {
    with_all_kinds(scene);
    reflink(scene, &scene.workspaces());
    let tree = pristine(scene);
    let seal = || fs::read(tree.with_file_name("seal")).expect("it is read");
    let before = seal();
    let other = git(&tree, ["ls-files"]).lines().nth(1).expect("a path").to_owned();
    fs::write(tree.join(&other), "spoilt\n").expect("it is written");
    let workspace = create(scene, &scene.workspaces());
    let root = workspace.mount.host_path();
    assert_eq!((workspace.kind, seal() == before), (WorkspaceKind::Copy, true), "it is checked out");
    assert_eq!(listing(root), listing(&checked_out(scene)));
    let (_, root) = reflink(scene, &scene.workspaces());
    assert_ne!(seal(), before, "it was made anew");
    assert_eq!(listing(&root), listing(&checked_out(scene)));
}

fn not_committed(scene: &Scene) {
    for (directory, is_there) in [("src/deep", true), ("src/none", false), ("README.md", false)] {
        let directory = RepoPath::parse(directory).expect("a path");
        let source = WorkspaceSource { working_directory: Some(directory.clone()), ..scene.source() };
        match try_create(&scene.workspaces(), &source) {
            Ok(workspace) => assert!(is_there && workspace.kind == WorkspaceKind::Reflink, "{directory}"),
            Err(WorkspaceError::Refused { .. }) => assert!(!is_there, "{directory}"),
            Err(error) => panic!("{}", crate::fixture::chain(&error)),
        }
    }
}

fn elsewhere() {
    let scene = Scene::new();
    let file = scene.app.join("README.md");
    let mut cloning = Command::new("cp");
    cloning.arg("--reflink=always").arg(&file).arg(scene.place.join("cloned")).stderr(Stdio::null());
    let shares = cloning.status().expect("cp starts").success();
    let workspace = create(&scene, &scene.workspaces());
    let expected = if shares { WorkspaceKind::Reflink } else { WorkspaceKind::Copy };
    assert_eq!((workspace.kind, &workspace.notices, scene.cached().len()), (expected, &vec![], usize::from(shares)));
}
