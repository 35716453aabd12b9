//! Overlays that are kept for the user, as plain directories.

use crate::as_root;
use crate::fixture::{commit, git, trial};
use crate::scene::{Scene, listing, mounted, overlay};
use isobox_ports::Workspaces;
use libtest_mimic::Trial;
use nix::mount::{MntFlags, umount2};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        as_root("a_retained_overlay_is_a_plain_directory_with_all_that_was_in_it", keeps_everything),
        trial("an_untouched_overlay_is_retained_as_the_commit", untouched),
        trial("no_link_in_what_was_written_leads_a_retained_file_elsewhere", hostile_upper),
        as_root("an_overlay_whose_copy_was_evicted_is_retained_all_the_same", evicted_meanwhile),
    ]
}

/// Everything that leaves a mark in the uppermost layer.
pub(crate) fn change(root: &Path) {
    fs::write(root.join("README.md"), "another line\n").expect("a file is written");
    fs::remove_file(root.join("src/two")).expect("a file is removed");
    fs::remove_dir_all(root.join("opaque")).expect("a directory is removed");
    fs::create_dir(root.join("opaque")).expect("a directory is made");
    fs::write(root.join("opaque/only"), "this\n").expect("a file is written");
    fs::remove_dir_all(root.join("gone")).expect("a directory is removed");
    fs::remove_file(root.join("file")).expect("a file is removed");
    fs::create_dir_all(root.join("file/now/a")).expect("directories are made");
    fs::write(root.join("file/now/a/directory"), "x").expect("a file is written");
    symlink("/nowhere", root.join("file/link")).expect("a link is made");
    fs::remove_dir_all(root.join("directory")).expect("a directory is removed");
    fs::write(root.join("directory"), "now a file\n").expect("a file is written");
    fs::write(root.join("src/deep/new"), "new\n").expect("a file is written");
    fs::set_permissions(root.join("src/deep"), fs::Permissions::from_mode(0o500)).expect("its mode is set");
    fs::create_dir(root.join("locked")).expect("a directory is made");
    fs::set_permissions(root.join("locked"), fs::Permissions::from_mode(0o000)).expect("its mode is set");
    git(root, ["commit", "--quiet", "-a", "-m", "inside"]);
}

pub(crate) fn with_more_files() -> Scene {
    let scene = Scene::new();
    for path in ["opaque/a", "opaque/b/c", "gone/a", "directory/a", "directory/b"] {
        let path = scene.app.join(path);
        fs::create_dir_all(path.parent().expect("it has a parent")).expect("directories are made");
        fs::write(&path, "x\n").expect("a file is written");
    }
    fs::write(scene.app.join("file"), "x\n").expect("a file is written");
    symlink("src/two", scene.app.join("link")).expect("a link is made");
    commit(&scene.app);
    scene
}

fn keeps_everything() {
    let scene = with_more_files();
    let workspaces = scene.workspaces();
    let workspace = scene.create(&workspaces);
    let root = mounted(overlay(&workspace));
    change(&root);
    let before = listing(&root);
    let status = git(&root, ["status", "--porcelain"]);
    umount2(&root, MntFlags::empty()).expect("it is unmounted");
    let kept = workspaces.retain(&workspace.state).expect("it is retained");
    assert_eq!(listing(&kept), before);
    assert_eq!(git(&kept, ["status", "--porcelain"]), status);
    git(&kept, ["fsck", "--strict"]);
    assert_eq!(fs::read_dir(kept.parent().expect("it has a parent")).expect("it is read").count(), 1);
    assert_eq!(workspaces.retain(&workspace.state).expect("it is retained"), kept);
    assert_eq!(listing(&kept), before);
}

fn untouched() {
    let scene = Scene::new();
    let workspaces = scene.workspaces();
    let workspace = scene.create(&workspaces);
    let expected = listing(&overlay(&workspace).lowers[0]);
    let kept = workspaces.retain(&workspace.state).expect("it is retained");
    assert_eq!(listing(&kept), expected);
    assert_eq!(git(&kept, ["status", "--porcelain"]), "");
    assert!(isobox_git::dispose_retained(&scene.place.workspaces_root(), &kept).expect("it is removed"));
    assert_eq!(fs::read_dir(scene.place.workspaces_root()).expect("it is read").count(), 0);
}

/// As a workload could leave it that reaches the uppermost layer itself, which one without a boundary does.
fn hostile_upper() {
    let scene = Scene::new();
    let workspaces = scene.workspaces();
    let workspace = scene.create(&workspaces);
    let upper = overlay(&workspace).upper();
    let outside = scene.place.join("outside");
    fs::create_dir_all(outside.join("deep")).expect("a directory is made");
    fs::write(outside.join("precious"), "mine\n").expect("a file is written");
    symlink(&outside, upper.join("src")).expect("a link is made");
    fs::create_dir(upper.join("README.md")).expect("a directory is made");
    symlink(outside.join("precious"), upper.join("README.md/link")).expect("a link is made");
    let kept = workspaces.retain(&workspace.state).expect("it is retained");
    assert_eq!(fs::read_link(kept.join("src")).expect("it is a link"), outside);
    assert!(kept.join("README.md/link").is_symlink());
    assert_eq!(fs::read(outside.join("precious")).expect("it is read"), b"mine\n");
    assert_eq!(fs::read_dir(&outside).expect("it is read").count(), 2);
    assert_eq!(fs::read_dir(outside.join("deep")).expect("it is read").count(), 0);
}

fn evicted_meanwhile() {
    let scene = with_more_files();
    let workspaces = scene.workspaces();
    let workspace = scene.create(&workspaces);
    let root = mounted(overlay(&workspace));
    change(&root);
    let before = listing(&root);
    umount2(&root, MntFlags::empty()).expect("it is unmounted");
    drop(workspaces);
    fs::remove_dir_all(scene.cache()).expect("the cache is removed");
    let kept = scene.workspaces().retain(&workspace.state).expect("it is retained");
    assert_eq!(listing(&kept), before);
}
