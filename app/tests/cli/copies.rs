//! What becomes of a result when something goes from below its Workspace.

use crate::support::{task_of, tool};
use isobox_tests::{Project, User, on_a_terminal, outcome};
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

/// The pristine copies of a user.
pub(crate) fn copies(project: &Project) -> Vec<PathBuf> {
    let list = |path: PathBuf| fs::read_dir(path).expect("a directory").map(|entry| entry.expect("an entry").path());
    let around = list(project.home().join(".cache/isobox/pristine")).filter(|path| path.is_dir());
    around.flat_map(list).filter(|path| path.is_dir()).collect()
}

#[test]
fn a_result_is_whole_although_what_it_started_from_was_collected_meanwhile() {
    for kind in ["overlay", "copy"] {
        let project = Project::initialised(User::Current);
        let script = "echo began; read -r go; echo more >> README.md; echo new > new; rm run.sh";
        let mut command = project.isobox_command(&["tool", "--workspace", kind, "--", "sh", "-c", script]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = command.spawn().expect("start");
        let mut began = [0; 6];
        std::io::Read::read_exact(running.stdout.as_mut().expect("a pipe"), &mut began).expect("it runs");
        for file in ["README.md", "run.sh"] {
            project.write(file, "other\n");
        }
        project.git(&["commit", "-q", "-a", "--amend", "-m", "Another"]);
        project.git(&["reflog", "expire", "--expire=now", "--all"]);
        project.git(&["gc", "-q", "--prune=now"]);
        std::io::Write::write_all(&mut running.stdin.take().expect("a pipe"), b"go\n").expect("it goes on");
        let ended = outcome(running.wait_with_output().expect("it ends"));
        assert_eq!(ended.code, 0, "{kind}: {ended:?}");
        let task = task_of(&ended);
        assert_eq!(project.isobox(&["cat", &format!("{task}:new")]).stdout, "new\n", "{kind}");
        assert_eq!(project.isobox(&["cat", &format!("{task}:README.md")]).stdout, "hello\nmore\n", "{kind}");
        let shown = project.isobox(&["show", &task]).stdout;
        assert!(shown.contains("1 added, 1 modified, 1 deleted"), "{kind}: {shown}");
        assert_eq!(project.isobox(&["verify"]).code, 0, "{kind}");
    }
}

#[test]
fn a_result_is_whole_although_the_cache_was_removed_meanwhile() {
    let project = Project::initialised(User::Current);
    if !project.has_overlays("a cache that is removed below a task") {
        return;
    }
    let script = "echo more >> README.md; echo new > new; rm run.sh; echo began; read -r go; echo later > later";
    let mut command = project.isobox_command(&["tool", "--workspace", "overlay", "--", "sh", "-c", script]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = command.spawn().expect("start");
    let mut began = [0; 6];
    std::io::Read::read_exact(running.stdout.as_mut().expect("a pipe"), &mut began).expect("it runs");
    fs::remove_dir_all(project.home().join(".cache/isobox")).expect("it is removed");
    std::io::Write::write_all(&mut running.stdin.take().expect("a pipe"), b"go\n").expect("it goes on");
    let ended = outcome(running.wait_with_output().expect("it ends"));
    assert_eq!(ended.code, 0, "{ended:?}");
    let task = task_of(&ended);
    let named = project.isobox(&["diff", "--name-only", &task]).stdout;
    assert_eq!(named, "README.md\nlater\nnew\nrun.sh\n");
    assert_eq!(project.isobox(&["cat", &format!("{task}:README.md")]).stdout, "hello\nmore\n");
    assert_eq!((project.workspaces(), project.isobox(&["verify"]).code), (vec![], 0));
}

#[test]
fn a_result_is_whole_although_a_submodule_of_the_source_is_gone() {
    let (project, inner) = (Project::initialised(User::Current), Project::bare(User::Current));
    if !project.has_overlays("a submodule below an overlay that is gone") {
        return;
    }
    let path = inner.repository().display().to_string();
    project.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &path, "sub"]);
    project.commit_all("Add a submodule");
    tool(&project, "true");
    project.git(&["submodule", "--quiet", "deinit", "-f", "sub"]);
    fs::remove_dir_all(project.repository().join(".git/modules/sub")).expect("it is removed");
    let script = "echo more >> README.md; echo more >> sub/README.md";
    let ended = project.isobox(&["tool", "--workspace", "overlay", "--", "sh", "-c", script]);
    assert_eq!(ended.code, 0, "{ended:?}");
    let task = task_of(&ended);
    for file in ["README.md", "sub/README.md"] {
        assert_eq!(project.isobox(&["cat", &format!("{task}:{file}")]).stdout, "hello\nmore\n", "{file}");
    }
    let shown = project.isobox(&["show", &task]).stdout;
    assert!(shown.contains("2 modified"), "{shown}");
}

#[test]
fn a_copy_that_capture_could_not_use_is_made_anew_before_anything_runs() {
    let project = Project::initialised(User::Current);
    for (name, length) in [("stat-cache", 60), ("base", 0), ("stat-cache", 0)] {
        tool(&project, "true");
        let copies = copies(&project);
        let file = copies.first().expect("a copy").join(name);
        File::options().write(true).open(file).and_then(|file| file.set_len(length)).expect("it is cut off");
        tool(&project, "echo more >> README.md");
    }
}

#[test]
fn a_task_starts_from_the_objects_of_its_commit_and_from_no_replacement() {
    let project = Project::initialised(User::Current);
    let head = project.git(&["rev-parse", "HEAD:README.md"]);
    let other = project.git(&["rev-parse", "HEAD:run.sh"]);
    project.git(&["replace", head.trim(), other.trim()]);
    for kind in ["overlay", "copy"] {
        let ended = project.isobox(&["tool", "-q", "--workspace", kind, "--", "cat", "README.md"]);
        assert_eq!((ended.code, ended.stdout.as_str()), (0, "hello\n"), "{kind}: {ended:?}");
    }
}

#[test]
fn whoever_waits_for_a_copy_that_another_makes_sees_how_far_it_is() {
    let project = Project::initialised(User::Current);
    if !project.has_overlays("waiting for a pristine copy") {
        return;
    }
    let copy = copies(&project).pop().expect("a copy");
    let lock = copy.with_file_name("lock");
    project.git(&["commit", "-q", "--allow-empty", "-m", "Another"]);
    fs::write(&lock, "7 10\n").expect("it is written");
    let turn = Flock::lock(File::open(&lock).expect("it opens"), FlockArg::LockExclusive).expect("it is locked");
    let shown = std::thread::scope(|scope| {
        scope.spawn(|| {
            // What is over within a second is told to nobody.
            std::thread::sleep(Duration::from_millis(2_500));
            drop(turn);
        });
        on_a_terminal(project.isobox_command(&["tool", "--", "true"]), 80)
    });
    assert_eq!(shown.0, 0, "{}", shown.1);
    let line = "another isobox: preparing this commit… [#######...] 7/10 files (1 s)";
    assert!(shown.1.contains(line), "{}", shown.1);
    assert_eq!(copies(&project).len(), 2);
}
