//! Copies that are made from others, as layers on them.

use crate::as_root;
use crate::fixture::{Place, commit, git, trial};
use crate::retained::with_more_files;
use crate::scene::{Listed, Scene, as_overlay, listing, mounted, overlay};
use crate::whole::is_clean_unread;
use isobox_git::GixWorkspaces;
use isobox_ports::{WorkspaceRequest, Workspaces};
use libtest_mimic::Trial;
use nix::mount::{MntFlags, umount2};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        as_root("a_layer_makes_the_same_tree_as_a_whole_copy", same_as_whole),
        as_root("another_branch_or_none_is_a_layer_on_the_same_commit", other_branch),
        as_root("a_layer_lies_on_one_that_hides_the_branch_of_another", no_branch_below),
        trial("layers_do_not_grow_without_end", depth_is_limited),
        trial("a_commit_that_is_no_descendant_has_a_copy_of_its_own", no_descendant),
        trial("a_commit_with_other_conversions_has_a_copy_of_its_own", other_conversions),
        as_root("a_layer_leaves_submodules_alone_and_one_that_moves_makes_a_whole_copy", submodules),
        trial("a_layer_counts_the_filters_of_the_whole_commit", filters),
        trial("a_layer_whose_lower_one_is_damaged_or_another_is_made_anew", damaged_below),
    ]
}

/// What makes a whiteout, hides a directory, or lets one come back, commit by commit.
const STEPS: &[fn(&Path)] = &[
    |app| {
        fs::write(app.join("README.md"), "changed\n").expect("a file is written");
        fs::remove_file(app.join("src/two")).expect("a file is removed");
        fs::remove_dir_all(app.join("gone")).expect("a directory is removed");
    },
    |app| {
        fs::remove_file(app.join("file")).expect("a file is removed");
        write(app, "file/a/b", "now a directory\n");
        fs::remove_dir_all(app.join("directory")).expect("a directory is removed");
        write(app, "directory", "now a file\n");
        fs::remove_file(app.join("link")).expect("a link is removed");
        symlink("elsewhere", app.join("link")).expect("a link is made");
        fs::set_permissions(app.join("src/deep/one"), fs::Permissions::from_mode(0o755)).expect("its mode is set");
    },
    |app| {
        write(app, "gone/again", "another\n");
        write(app, "src/two", "again\n");
        fs::remove_dir_all(app.join("opaque/b")).expect("a directory is removed");
        write(app, "opaque/bb", "x\n");
        write(app, "opaque/B/c", "x\n");
    },
    |app| {
        fs::remove_dir_all(app.join("file")).expect("a directory is removed");
        write(app, "file", "a file again\n");
        fs::remove_file(app.join("directory")).expect("a file is removed");
        write(app, "directory/c", "a directory again\n");
        fs::remove_dir_all(app.join("src")).expect("a directory is removed");
    },
    |_| {},
    |app| write(app, "src/deep/other", "back\n"),
];

fn write(app: &Path, path: &str, content: &str) {
    let path = app.join(path);
    fs::create_dir_all(path.parent().expect("it has a parent")).expect("directories are made");
    fs::write(path, content).expect("a file is written");
}

fn same_as_whole() {
    let scene = with_more_files();
    assert_eq!(scene.layers(), 1);
    for (number, step) in STEPS.iter().enumerate() {
        step(&scene.app);
        commit(&scene.app);
        let (workspaces, whole) = (scene.workspaces(), whole(&scene));
        let layered = scene.create(&workspaces);
        assert_eq!(overlay(&layered).lowers.len(), number + 2);
        let root = mounted(overlay(&layered));
        assert_eq!(files(&root), whole, "step {number}");
        is_clean_unread(&root);
        assert_eq!(git(&root, ["rev-parse", "HEAD^{tree}"]), git(&scene.app, ["rev-parse", "HEAD^{tree}"]));
        assert_eq!(git(&root, ["rev-list", "--all", "--count"]), "1");
        umount2(&root, MntFlags::empty()).expect("it is unmounted");
        let kept = workspaces.retain(&layered.state).expect("it is retained");
        assert_eq!(files(&kept), whole, "step {number}, retained");
    }
}

/// The files of a copy that was made from nothing, without what is of its own in `.git`.
fn whole(scene: &Scene) -> Vec<Listed> {
    let cache = scene.place.join("another-cache");
    fs::remove_dir_all(&cache).unwrap_or_default();
    let workspaces = GixWorkspaces::new(scene.repository(), scene.place.workspaces_root(), Some(cache));
    let source = scene.source();
    let request = WorkspaceRequest { source: &source, form: as_overlay() };
    let reserved = workspaces.reserve(&request).expect("a place is reserved");
    workspaces.lay_out(&reserved, &request).expect("it is laid out");
    let workspace = workspaces.create(&reserved, &request).expect("it is made");
    let found = files(&overlay(&workspace).lowers[0]);
    workspaces.dispose(&reserved).expect("it is removed");
    found
}

fn files(root: &Path) -> Vec<Listed> {
    let is_wanted = |path: &str| !path.starts_with(".git/objects") && path != ".git/shallow";
    listing(root).into_iter().filter(|listed| is_wanted(&listed.path)).collect()
}

fn other_branch() {
    let scene = Scene::new();
    scene.tree();
    git(&scene.app, ["checkout", "--quiet", "-b", "other"]);
    let workspaces = scene.workspaces();
    let other = scene.create(&workspaces);
    assert_eq!(overlay(&other).lowers.len(), 2);
    let root = mounted(overlay(&other));
    assert_eq!(git(&root, ["for-each-ref", "--format=%(refname)"]), "refs/heads/other");
    is_clean_unread(&root);
    git(&scene.app, ["checkout", "--quiet", "--detach"]);
    let workspaces = scene.workspaces();
    let detached = scene.create(&workspaces);
    let root = mounted(overlay(&detached));
    assert_eq!(git(&root, ["for-each-ref", "--format=%(refname)"]), "");
    assert_eq!(git(&root, ["branch", "--show-current"]), "");
    is_clean_unread(&root);
}

fn no_branch_below() {
    let scene = Scene::new();
    assert_eq!(scene.layers(), 1);
    git(&scene.app, ["checkout", "--quiet", "--detach"]);
    for layers in [2, 3, 4] {
        write(&scene.app, "src/two", &format!("{layers}\n"));
        commit(&scene.app);
        let workspaces = scene.workspaces();
        let detached = scene.create(&workspaces);
        assert_eq!(overlay(&detached).lowers.len(), layers);
        let root = mounted(overlay(&detached));
        assert_eq!(git(&root, ["for-each-ref", "--format=%(refname)"]), "");
        is_clean_unread(&root);
    }
}

fn depth_is_limited() {
    let scene = Scene::new();
    let mut layers = vec![scene.layers()];
    for number in 0..17 {
        write(&scene.app, "src/two", &format!("{number}\n"));
        commit(&scene.app);
        layers.push(scene.layers());
    }
    let expected: Vec<usize> = (1..=16).chain(1..=2).collect();
    assert_eq!(layers, expected);
}

fn no_descendant() {
    let scene = Scene::new();
    write(&scene.app, "secret", "of another branch\n");
    commit(&scene.app);
    assert_eq!(scene.layers(), 1);
    git(&scene.app, ["reset", "--quiet", "--hard", "HEAD~1"]);
    assert_eq!(scene.layers(), 1);
    write(&scene.app, "sibling", "x\n");
    commit(&scene.app);
    assert_eq!(scene.layers(), 2);
}

fn other_conversions() {
    let scene = Scene::new();
    assert_eq!(scene.layers(), 1);
    write(&scene.app, "src/.gitattributes", "two eol=crlf\n");
    commit(&scene.app);
    assert_eq!(fs::read(scene.tree().join("src/two")).expect("it is read"), b"2\r\n");
    assert_eq!(scene.layers(), 1);
    fs::remove_dir_all(scene.app.join("src")).expect("a directory is removed");
    commit(&scene.app);
    assert_eq!(scene.layers(), 1);
}

fn submodules() {
    let place = Place::new();
    let inner = place.repository("inner");
    let app = place.repository("app");
    git(&app, ["submodule", "--quiet", "add", "../inner", "vendor/inner"]);
    commit(&app);
    let scene = Scene { app, place };
    assert_eq!(scene.layers(), 1);
    write(&scene.app, "README.md", "changed\n");
    commit(&scene.app);
    let workspaces = scene.workspaces();
    let layered = scene.create(&workspaces);
    assert_eq!(overlay(&layered).lowers.len(), 2);
    let root = mounted(overlay(&layered));
    assert_eq!(fs::read(root.join("vendor/inner/README.md")).expect("it is read"), b"a line\n");
    assert_eq!(git(&root, ["ls-files"]), ".gitmodules\nREADME.md\nvendor/inner");
    write(&inner, "README.md", "moved on\n");
    commit(&inner);
    git(&scene.app.join("vendor/inner"), ["pull", "--quiet", "origin", "main"]);
    commit(&scene.app);
    assert_eq!(scene.layers(), 1);
}

fn filters() {
    let scene = Scene::new();
    write(&scene.app, ".gitattributes", "*.bin filter=lfs\n");
    for name in ["a.bin", "b.bin", "c.bin"] {
        write(&scene.app, name, "x\n");
    }
    commit(&scene.app);
    let notices = || scene.create(&scene.workspaces()).notices;
    let notice = |paths: u32| {
        vec![format!("filter `lfs` was not run: files with it ({paths}) are in the workspace as Git stores them")]
    };
    assert_eq!(notices(), notice(3));
    fs::remove_file(scene.app.join("a.bin")).expect("a file is removed");
    write(&scene.app, "b.bin", "y\n");
    write(&scene.app, "deep/d.bin", "x\n");
    write(&scene.app, "deep/e.bin", "x\n");
    commit(&scene.app);
    assert_eq!((notices(), scene.layers()), (notice(4), 2));
    for path in ["b.bin", "c.bin", "deep/d.bin", "deep/e.bin"] {
        fs::remove_file(scene.app.join(path)).expect("a file is removed");
    }
    commit(&scene.app);
    assert_eq!((notices(), scene.layers()), (vec![], 3));
}

fn damaged_below() {
    let scene = Scene::new();
    let lower = scene.tree();
    write(&scene.app, "README.md", "changed\n");
    commit(&scene.app);
    assert_eq!(scene.layers(), 2);
    fs::write(lower.join("src/two"), "not as it was\n").expect("a file is written");
    // Two samples of a lower copy are looked at each time, others by the clock: it has three.
    assert!((0..1_000).any(|_| scene.layers() == 1), "the damage is not seen");
    assert_eq!(git(&scene.tree(), ["status", "--porcelain"]), "");
    git(&scene.app, ["reset", "--quiet", "--hard", "HEAD~1"]);
    assert_eq!(scene.layers(), 1);
    git(&scene.app, ["reset", "--quiet", "--hard", "HEAD@{1}"]);
    assert_eq!(scene.layers(), 1);
}
