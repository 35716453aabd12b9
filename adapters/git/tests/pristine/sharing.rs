//! Many processes that want the same copy, and one that is killed while it makes it.

use crate::fixture::{commit, git, trial};
use crate::scene::{Scene, inode, overlay};
use isobox_git::{GixRepository, GixWorkspaces};
use isobox_ports::{TrustedRepository, WorkspaceRequest, Workspaces};
use libtest_mimic::Trial;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

/// Names the directory in which a process of its own makes a copy.
const MAKES: &str = "ISOBOX_TEST_MAKES";

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("of_many_who_want_a_copy_at_once_one_makes_it", one_makes_it),
        trial("a_copy_that_was_half_made_by_a_killed_process_is_made_anew", killed_while_making),
        trial("a_copy_that_is_in_use_is_not_replaced", used_is_not_replaced),
    ]
}

fn one_makes_it() {
    let scene = Scene::new();
    let found = std::thread::scope(|scope| {
        let make = || {
            let workspaces = scene.workspaces();
            let tree = overlay(&scene.create(&workspaces)).lowers[0].clone();
            (inode(&tree), inode(&tree.join("README.md")))
        };
        let all: Vec<_> = (0..8).map(|_| scope.spawn(make)).collect();
        all.into_iter().map(|one| one.join().expect("it ends")).collect::<BTreeSet<_>>()
    });
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(scene.cached().len(), 1);
}

/// What the process does that is killed; `None` in any other process.
pub(crate) fn made_to_be_killed() -> Option<ExitCode> {
    let directory = PathBuf::from(std::env::var_os(MAKES)?);
    let repository = GixRepository::discover(&directory.join("app")).expect("the repository is found");
    let source = repository.source().expect("it is a source");
    let cache = directory.join("cache/pristine");
    let workspaces = GixWorkspaces::new(repository, directory.join("state/workspaces"), Some(cache));
    let request = WorkspaceRequest { source: &source, form: crate::scene::as_overlay() };
    let reserved = workspaces.reserve(&request).expect("a place is reserved");
    workspaces.lay_out(&reserved, &request).expect("it is laid out");
    Some(ExitCode::SUCCESS)
}

fn killed_while_making() {
    let scene = Scene::new();
    for number in 0..1500 {
        fs::write(scene.app.join(format!("src/f{number}")), format!("{number}\n")).expect("a file is written");
    }
    commit(&scene.app);
    let making = |scene: &Scene| {
        scene.cached().iter().any(|path| path.file_name().is_some_and(|name| name.as_bytes().starts_with(b".making-")))
    };
    let mut half = 0;
    for later_ms in [0, 0, 0, 1, 2, 5, 10, 20, 40, 80] {
        let program = std::env::current_exe().expect("this program has a path");
        let mut child = Command::new(program).env(MAKES, scene.place.path()).spawn().expect("it starts");
        // How far it comes from there is up to the machine; at any moment what is left must be as good as nothing.
        while !making(&scene) && child.try_wait().expect("it is looked at").is_none() {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(later_ms));
        child.kill().expect("it is killed");
        child.wait().expect("it ends");
        half += usize::from(making(&scene));
        let workspaces = scene.workspaces();
        let workspace = scene.create(&workspaces);
        let tree = &overlay(&workspace).lowers[0];
        assert_eq!(git(tree, ["status", "--porcelain"]), "");
        assert_eq!(git(tree, ["ls-files"]).lines().count(), 1503);
        assert_eq!(scene.cached(), [tree.parent().expect("it has a parent")]);
        drop(workspaces);
        fs::remove_dir_all(scene.cache()).expect("the cache is removed");
    }
    assert!(half > 0, "none was killed while it made a copy");
}

fn used_is_not_replaced() {
    let scene = Scene::new();
    let workspaces = scene.workspaces();
    let tree = overlay(&scene.create(&workspaces)).lowers[0].clone();
    fs::remove_file(tree.with_file_name("seal")).expect("it is removed");
    let other = scene.create(&scene.workspaces());
    let why = "the pristine copy is damaged, and another process uses it";
    assert!(other.notices.iter().any(|notice| notice.ends_with(why)), "{:?}", other.notices);
    assert!(other.mount.host_path().join("README.md").exists() && tree.exists());
    drop(workspaces);
    assert_eq!(scene.tree(), tree);
    assert!(tree.with_file_name("seal").exists());
}
