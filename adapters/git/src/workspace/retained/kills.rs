//! The process is killed before the n-th change that retaining makes, for each n, and again while a later start captures.

use crate::fault::testing::{Child, asked, forget};
use crate::{GixRepository, GixWorkspaces};
use isobox_domain::change::ChangeLine;
use isobox_domain::source::WorkspaceSource;
use isobox_ports::fake::RecordingSink;
use isobox_ports::{
    Overlay, OverlayKind, TrustedRepository, Workspace, WorkspaceForm, WorkspaceMount, WorkspaceRequest, Workspaces,
};
use nix::sys::stat::{Mode, SFlag, mknod};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A repository, a cache, and Workspaces that are overlays.
struct Scene {
    directory: PathBuf,
    workspaces: GixWorkspaces,
    source: WorkspaceSource,
}

impl Scene {
    /// The one in a directory that has the repository already.
    fn of(directory: &Path) -> Self {
        let repository = GixRepository::discover(&directory.join("app")).expect("it is a repository");
        let source = repository.source().expect("it has a commit");
        let cache = Some(directory.join("cache"));
        let workspaces = GixWorkspaces::new(repository, directory.join("workspaces"), cache);
        Self { directory: directory.to_owned(), workspaces, source }
    }

    fn create(&self) -> Workspace {
        let form = WorkspaceForm::Overlay { kind: OverlayKind::Unprivileged, memory: None };
        let request = WorkspaceRequest { source: &self.source, form };
        let reserved = self.workspaces.reserve(&request).expect("a place is reserved");
        self.workspaces.create(&reserved, &request).expect("it is made")
    }

    fn capture(&self, workspace: &Workspace) -> Captured {
        let mut sink = RecordingSink::default();
        self.workspaces.capture(&workspace.state, &workspace.mount, &mut sink).expect("it is captured");
        Captured { patch: String::from_utf8_lossy(&sink.patch).into_owned(), lines: sink.lines }
    }

    /// Whether a process of its own that does `action` with the Workspace was killed at `step`.
    fn is_killed(&self, workspace: &Workspace, action: &str, step: u64) -> bool {
        fs::write(self.directory.join("state"), &workspace.state).expect("the state is written");
        Child { test: "workspace::retained::kills::child", root: &self.directory, action }.is_killed(step)
    }
}

#[derive(Debug, PartialEq)]
struct Captured {
    lines: Vec<ChangeLine>,
    patch: String,
}

/// Not a test: what a child of the test below does before it is killed.
#[test]
#[ignore = "is run by another test, in a process of its own"]
fn child() {
    let Some((directory, action)) = asked() else { return };
    let scene = Scene::of(&directory);
    let state = fs::read(scene.directory.join("state")).expect("the state is read");
    let place = fs::read_dir(scene.directory.join("workspaces")).expect("it is read").next().expect("a workspace");
    let place = place.expect("a name").path();
    match action.as_str() {
        "retain" => drop(scene.workspaces.retain(&state).expect("it is retained")),
        _ => {
            let overlay = Overlay { lowers: vec![], place, kind: OverlayKind::Unprivileged, memory: None };
            let mount = WorkspaceMount::Overlay(overlay);
            scene.workspaces.capture(&state, &mount, &mut RecordingSink::default()).expect("it is captured");
        }
    }
    forget();
}

fn git(directory: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(directory).env_clear().envs(std::env::vars_os().filter(|(name, _)| name == "PATH"));
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", "/nowhere");
    command.args(["-c", "user.name=Bo", "-c", "user.email=bo@example.org"]).args(arguments);
    assert!(command.status().expect("git starts").success(), "{arguments:?}");
}

fn write(root: &Path, path: &str, content: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("it has a parent")).expect("directories are made");
    fs::write(path, content).expect("a file is written");
}

fn chmod(root: &Path, path: &str, mode: u32) {
    fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).expect("its mode is set");
}

fn scene(directory: &Path) -> Scene {
    let app = directory.join("app");
    fs::create_dir(&app).expect("a directory is made");
    git(&app, &["init", "-q", "-b", "main"]);
    for path in ["a", "b", "file", "gone/a", "gone/b/c", "opaque/a", "shared/deep/a", "shared/deep/b", "shared/c"] {
        write(&app, path, "one\n");
    }
    git(&app, &["add", "-A"]);
    git(&app, &["commit", "-q", "-m", "first"]);
    Scene::of(directory)
}

/// What a workload and the kernel could have left.
fn fill(upper: &Path) {
    let whiteout = |path: &str| {
        fs::create_dir_all(upper.join(path).parent().expect("it has a parent")).expect("directories are made");
        mknod(&upper.join(path), SFlag::S_IFCHR, Mode::empty(), 0).expect("a whiteout is made");
    };
    write(upper, "a", "two\n");
    whiteout("b");
    whiteout("gone");
    write(upper, "file/is/a/directory", "new\n");
    write(upper, "opaque/only", "new\n");
    let opaque = upper.join("opaque");
    rustix::fs::setxattr(&opaque, "user.overlay.opaque", b"y", rustix::fs::XattrFlags::empty()).expect("it is marked");
    write(upper, "shared/deep/a", "two\n");
    write(upper, "shared/deep/new/er", "new\n");
    whiteout("shared/c");
    symlink("a", upper.join("link")).expect("a link is made");
    write(upper, "new/deep/down", "new\n");
    chmod(upper, "shared/deep", 0o500);
    chmod(upper, "new/deep", 0o000);
    chmod(upper, "", 0o750);
}

/// Everything below `root` and itself: mode, and content or target.
fn listing(root: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut listing = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(path) = pending.pop() {
        let metadata = path.symlink_metadata().expect("it is there");
        let content = match metadata.file_type() {
            kind if kind.is_symlink() => {
                fs::read_link(&path).expect("it is read").into_os_string().into_encoded_bytes()
            }
            kind if kind.is_dir() => {
                pending.extend(fs::read_dir(&path).expect("it is read").map(|entry| entry.expect("a name").path()));
                vec![]
            }
            _ => fs::read(&path).expect("it is read"),
        };
        listing.insert(path.strip_prefix(root).expect("it is below").to_owned(), (metadata.mode(), content));
    }
    listing
}

#[test]
fn a_kill_at_any_step_of_retaining_loses_nothing() {
    let is_root = nix::unistd::geteuid().is_root();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let scene = scene(directory.path());
    let fresh = || {
        let workspace = scene.create();
        let WorkspaceMount::Overlay(overlay) = &workspace.mount else { panic!("{:?}", workspace.notices) };
        fill(&overlay.upper());
        if !is_root {
            // Such modes can be lost with the process; and what nobody can read is not captured.
            chmod(&overlay.upper(), "shared/deep", 0o755);
            chmod(&overlay.upper(), "new/deep", 0o755);
        }
        workspace
    };
    let whole = fresh();
    let captured = scene.capture(&whole);
    let kept = listing(&scene.workspaces.retain(&whole.state).expect("it is retained"));
    assert_eq!(kept[Path::new("new/deep/down")].1, b"new\n");
    assert!(!kept.contains_key(Path::new("b")) && !kept.contains_key(Path::new("opaque/a")));
    scene.workspaces.dispose(&whole.state).expect("it is removed");
    for step in 0.. {
        let workspace = fresh();
        let is_killed = scene.is_killed(&workspace, "retain", step);
        for again in [step * 7 % 31, step * 13 % 17] {
            scene.is_killed(&workspace, "capture", again);
        }
        let found = scene.capture(&workspace);
        assert_eq!(found, captured, "step {step}");
        let root = scene.workspaces.retain(&workspace.state).expect("it is retained");
        assert_eq!(listing(&root), kept, "step {step}");
        let beside = fs::read_dir(root.parent().expect("it has a parent")).expect("it is read");
        assert_eq!(beside.count(), 1, "step {step}");
        scene.workspaces.dispose(&workspace.state).expect("it is removed");
        if !is_killed {
            assert!(step > 20, "only {step} steps");
            return;
        }
    }
}
