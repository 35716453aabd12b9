//! What a pristine copy is made of.

use crate::as_root;
use crate::fixture::{Place, commit, git, trial};
use crate::scene::{Scene, as_overlay, inode, mounted, overlay};
use isobox_domain::repo_path::RepoPath;
use isobox_domain::source::WorkspaceSource;
use isobox_ports::fake::RecordingSink;
use isobox_ports::{WorkspaceError, WorkspaceRequest, Workspaces};
use libtest_mimic::Trial;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        as_root("git_in_an_overlay_finds_nothing_changed_without_reading_a_file", status_reads_nothing),
        trial("the_next_overlay_of_a_commit_lies_on_the_same_copy", next_lies_on_the_same),
        trial("another_branch_has_a_copy_of_its_own", branches_differ),
        trial("an_overlay_in_a_directory_that_the_commit_does_not_have_is_refused", missing_directory),
        trial("an_overlay_leaves_two_directories_and_nothing_after_it_is_disposed", few_inodes),
        trial("a_copy_of_a_worktree_with_submodules_is_not_used_by_others", worktree_with_submodules),
        as_root("submodules_are_in_a_copy_and_one_that_comes_later_makes_another", submodules),
        trial("a_hundred_open_workspaces_cost_less_than_a_tenth_of_a_copy", a_hundred),
    ]
}

/// The tree holds what `git` sees, and its index says so already.
pub(crate) fn is_clean_unread(root: &Path) {
    // Git writes the index again if it had to read a file to see that it is as before.
    let before = inode(&root.join(".git/index"));
    assert_eq!(git(root, ["status", "--porcelain", "--ignored"]), "");
    assert_eq!(inode(&root.join(".git/index")), before);
    git(root, ["fsck", "--strict"]);
}

fn status_reads_nothing() {
    let scene = Scene::new();
    let workspaces = scene.workspaces();
    let workspace = scene.create(&workspaces);
    let root = mounted(overlay(&workspace));
    is_clean_unread(&root);
    assert_eq!(root.metadata().expect("it is there").mode() & 0o7777, 0o755);
    assert_eq!(git(&root, ["rev-parse", "HEAD", "HEAD^{tree}"]), git(&scene.app, ["rev-parse", "HEAD", "HEAD^{tree}"]));
    assert_eq!(git(&root, ["branch", "--show-current"]), "main");
    assert_eq!(git(&root, ["config", "user.email"]), "ana@example.org");
}

fn next_lies_on_the_same() {
    let scene = Scene::new();
    let first = scene.tree();
    let before = inode(&first);
    let second = scene.tree();
    assert_eq!((&second, inode(&second)), (&first, before));
    assert_eq!(scene.cached().len(), 1);
}

fn branches_differ() {
    let scene = Scene::new();
    let main = scene.tree();
    git(&scene.app, ["checkout", "--quiet", "-b", "other"]);
    assert_ne!(scene.tree(), main);
    git(&scene.app, ["checkout", "--quiet", "main"]);
    assert_eq!(scene.tree(), main);
}

fn missing_directory() {
    let scene = Scene::new();
    let workspaces = scene.workspaces();
    for (directory, is_there) in [("src", true), ("src/deep", true), ("src/two", false), ("build", false)] {
        let working_directory = Some(RepoPath::parse(directory).expect("a valid path"));
        let source = WorkspaceSource { working_directory, ..scene.source() };
        let request = WorkspaceRequest { source: &source, form: as_overlay() };
        let reserved = workspaces.reserve(&request).expect("a place is reserved");
        match workspaces.create(&reserved, &request) {
            Ok(_) => assert!(is_there, "{directory}"),
            Err(WorkspaceError::Refused { reason, .. }) => assert!(!is_there && reason.contains(directory), "{reason}"),
            Err(error) => panic!("{error}"),
        }
        workspaces.dispose(&reserved).expect("it is removed");
    }
    // One place served them all in turn.
    let left: Vec<_> = fs::read_dir(scene.place.workspaces_root()).expect("it is read").flatten().collect();
    assert_eq!(left.iter().map(fs::DirEntry::file_name).collect::<Vec<_>>(), [".spare-0"]);
}

fn few_inodes() {
    let scene = Scene::new();
    let workspaces = scene.workspaces();
    let workspace = scene.create(&workspaces);
    let place = &overlay(&workspace).place;
    let mut found: Vec<_> =
        fs::read_dir(place).expect("it is read").map(|entry| entry.expect("a name").file_name()).collect();
    found.sort();
    assert_eq!(found, ["upper", "work"]);
    assert_eq!(fs::read_dir(place.join("upper")).expect("it is read").count(), 0);
    workspaces.dispose(&workspace.state).expect("it is removed");
    assert!(!place.exists());
}

/// Resident memory of this process, in KiB.
fn resident_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("the kernel tells");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it is told");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Blocks of everything below a directory, in bytes.
fn bytes_on_disk(root: &Path) -> u64 {
    let mut pending = vec![root.to_owned()];
    let mut bytes = 0;
    while let Some(path) = pending.pop() {
        let metadata = path.symlink_metadata().expect("it is there");
        bytes += metadata.blocks() * 512;
        if metadata.is_dir() {
            pending.extend(fs::read_dir(&path).expect("it is read").map(|entry| entry.expect("a name").path()));
        }
    }
    bytes
}

fn a_hundred() {
    let scene = Scene::new();
    for number in 0..4_000 {
        fs::write(scene.app.join(format!("src/f{number}")), vec![b'x'; 5_000]).expect("a file is written");
    }
    commit(&scene.app);
    let workspaces = scene.workspaces();
    let first = scene.create(&workspaces);
    let copy = bytes_on_disk(overlay(&first).lowers[0].parent().expect("it has a parent"));
    let before_kib = resident_kib();
    let open: Vec<_> = (0..100).map(|_| scene.create(&workspaces)).collect();
    let memory = resident_kib().saturating_sub(before_kib) << 10;
    for workspace in &open {
        fs::write(overlay(workspace).upper().join("README.md"), "another line\n").expect("a file is written");
    }
    let disk = bytes_on_disk(&scene.place.workspaces_root());
    assert!(disk < copy / 10, "{disk} bytes on disk, and {copy} of a copy");
    assert!(memory < copy / 10, "{memory} bytes in memory, and {copy} of a copy");
    for workspace in &open {
        let mut sink = RecordingSink::default();
        workspaces.capture(&workspace.state, &workspace.mount, &mut sink).expect("it is captured");
        assert_eq!(sink.lines.len(), 1);
        workspaces.dispose(&workspace.state).expect("it is removed");
    }
}

/// The working tree's own repository of the submodule goes with it.
fn worktree_with_submodules() {
    let place = Place::new();
    place.repository("inner");
    let app = place.repository("app");
    git(&app, ["submodule", "--quiet", "add", "../inner", "vendor/inner"]);
    commit(&app);
    git(&app, ["checkout", "--quiet", "--detach"]);
    let linked = place.join("linked");
    git(&app, ["worktree", "add", "--quiet", "--detach", "../linked"]);
    git(&linked, ["submodule", "--quiet", "update", "--init"]);
    let scene = Scene { app: linked, place };
    let first = scene.tree();
    assert_eq!(scene.tree(), first);
    git(&app, ["worktree", "remove", "--force", "../linked"]);
    let scene = Scene { app, place: scene.place };
    for step in ["the same", "the next"] {
        let workspaces = scene.workspaces();
        let workspace = scene.create(&workspaces);
        let changed = overlay(&workspace).upper().join("vendor/inner/README.md");
        fs::create_dir_all(changed.parent().expect("it has a parent")).expect("directories are made");
        fs::write(changed, "another line\n").expect("a file is written");
        let mut sink = RecordingSink::default();
        workspaces.capture(&workspace.state, &workspace.mount, &mut sink).expect("it is captured");
        let patch = String::from_utf8(sink.patch).expect("it is text");
        assert!(patch.ends_with("-a line\n+another line\n"), "{step}: {patch}");
        fs::write(scene.app.join("README.md"), "changed\n").expect("a file is written");
        commit(&scene.app);
    }
}

fn submodules() {
    let place = Place::new();
    let inner = place.repository("inner");
    fs::write(inner.join("inside"), "x\n").expect("a file is written");
    commit(&inner);
    let app = place.repository("app");
    git(&app, ["submodule", "--quiet", "add", "../inner", "vendor/inner"]);
    commit(&app);
    let scene = Scene { app: place.join("clone"), place };
    git(scene.place.path(), ["clone", "--quiet", "app", "clone"]);
    let workspaces = scene.workspaces();
    let without = scene.create(&workspaces);
    assert!(without.notices.iter().any(|notice| notice.contains("vendor/inner")), "{:?}", without.notices);
    assert_eq!(fs::read_dir(overlay(&without).lowers[0].join("vendor/inner")).expect("it is read").count(), 0);
    workspaces.dispose(&without.state).expect("it is removed");
    git(&scene.app, ["submodule", "--quiet", "update", "--init"]);
    let beside = scene.create(&scene.workspaces());
    let why = "the pristine copy lacks a submodule that is there by now, and another process uses it";
    assert!(beside.notices.iter().any(|notice| notice.ends_with(why)), "{:?}", beside.notices);
    assert_eq!(fs::read(beside.mount.host_path().join("vendor/inner/inside")).expect("it is read"), b"x\n");
    drop(workspaces);
    let workspaces = scene.workspaces();
    let with = scene.create(&workspaces);
    assert_eq!(with.notices, Vec::<String>::new());
    let root = mounted(overlay(&with));
    assert_eq!(fs::read(root.join("vendor/inner/inside")).expect("it is read"), b"x\n");
}
