//! `git fetch isobox://TASK`, with Git itself.

use crate::export_git::{CHANGES, project, promoted_tree, tree, untouched};
use crate::support::{assert_told, document, tool};
use isobox_tests::{Outcome, Project, User, isobox_program, outcome};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

/// Runs git in `directory`, with the helper on the PATH.
fn git_in(project: &Project, directory: &Path, arguments: &[&str]) -> Outcome {
    let programs = project.scratch().join("programs");
    fs::create_dir_all(&programs).expect("a directory");
    symlink(isobox_program(), programs.join("git-remote-isobox")).ok();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display());
    let mut git = project.command("git");
    outcome(git.env("PATH", path).current_dir(directory).args(arguments).output().expect("git starts"))
}

fn git(project: &Project, arguments: &[&str]) -> Outcome {
    git_in(project, &project.repository(), arguments)
}

fn fetch(project: &Project, url: &str) -> Outcome {
    git(project, &["fetch", "-q", url])
}

fn fetched(project: &Project, url: &str) -> String {
    let told = fetch(project, url);
    assert_eq!((told.code, told.stderr.as_str()), (0, ""), "{told:?}");
    project.git(&["rev-parse", "FETCH_HEAD"])
}

#[test]
fn a_result_is_fetched_as_it_was_left_and_is_the_same_commit_each_time() {
    let (project, task) = project();
    let before = untouched(&project);
    let commit = fetched(&project, "isobox://@latest");
    let digest = document(&project.isobox(&["show", "--json", &task]))["record"].as_str().expect("a digest").to_owned();
    for url in ["isobox://@latest", "isobox::@latest", &format!("isobox://{task}"), &format!("isobox://{digest}")] {
        assert_eq!(fetched(&project, url), commit, "{url}");
    }
    assert_eq!(untouched(&project), before);
    project.git(&["fsck", "--strict"]);
    assert_eq!(project.isobox(&["export", "--format", "commit", &task, "-"]).stdout, commit);
    assert_eq!(tree(&project, "FETCH_HEAD"), promoted_tree(&project, &task));
    assert_eq!(project.git(&["rev-parse", "FETCH_HEAD^"]), project.git(&["rev-parse", "HEAD"]));
}

#[test]
fn what_git_shows_is_what_the_workload_left_byte_for_byte() {
    let (project, _) = project();
    fetched(&project, "isobox://@latest");
    let oracle = project.scratch().join("oracle");
    project.git(&["clone", "-q", "--no-local", ".", oracle.to_str().expect("text")]);
    let ran = project.command("sh").args(["-c", CHANGES]).current_dir(&oracle).output().expect("sh starts");
    assert!(ran.status.success(), "{ran:?}");
    let oracle_git = |arguments: &[&str]| {
        let told = git_in(&project, &oracle, arguments);
        assert_eq!(told.code, 0, "{told:?}");
        told.stdout
    };
    oracle_git(&["add", "-A"]);
    let expected = oracle_git(&["diff", "--cached", "--binary", "--full-index", "HEAD"]);
    assert_eq!(project.git(&["diff", "--binary", "--full-index", "HEAD", "FETCH_HEAD"]), expected);
    assert_eq!(tree(&project, "FETCH_HEAD"), oracle_git(&["write-tree"]));
}

#[test]
fn a_result_is_listed_and_a_remote_may_be_named_and_nothing_is_written_by_looking() {
    let (project, task) = project();
    let objects = project.git(&["count-objects"]);
    let listed = git(&project, &["ls-remote", "isobox://@latest"]);
    assert_eq!(listed.code, 0, "{listed:?}");
    assert_eq!(project.git(&["count-objects"]), objects);
    let commit = fetched(&project, "isobox://@latest");
    let commit = commit.trim();
    assert_eq!(listed.stdout, format!("{commit}\tHEAD\n{commit}\trefs/heads/{task}\n"));
    project.git(&["remote", "add", "last", "isobox://@latest"]);
    let told = git(&project, &["fetch", "-q", "last"]);
    assert_eq!((told.code, told.stderr.as_str()), (0, ""), "{told:?}");
    assert_eq!(project.git(&["rev-parse", &format!("last/{task}")]).trim(), commit);
    let pushed = git(&project, &["push", "last", "main"]);
    assert!(pushed.code != 0 && pushed.stderr.contains("is read-only"), "{pushed:?}");
}

#[test]
fn working_trees_and_a_repository_without_one_find_the_store_that_they_share() {
    let project = Project::initialised(User::Current);
    let bare = project.scratch().join("bare.git");
    project.git(&["clone", "-q", "--bare", "--no-local", ".", bare.to_str().expect("text")]);
    for (name, value) in [("user.name", "Ana"), ("user.email", "ana@example.com")] {
        assert_eq!(git_in(&project, &bare, &["config", name, value]).code, 0);
    }
    let (one, two) = (project.scratch().join("one"), project.scratch().join("two"));
    for directory in [&one, &two] {
        let made = git_in(&project, &bare, &["worktree", "add", "-q", "--detach", directory.to_str().expect("text")]);
        assert_eq!(made.code, 0, "{made:?}");
    }
    let tool = project.isobox(&[
        "tool",
        "--trust-policy",
        "--source",
        one.to_str().expect("text"),
        "--",
        "sh",
        "-c",
        "echo a > a",
    ]);
    assert_eq!(tool.code, 0, "{tool:?}");
    let mut found = Vec::new();
    for directory in [&one, &two, &bare, &two.join("src")] {
        let told = git_in(&project, directory, &["fetch", "-q", "isobox://@latest"]);
        assert_eq!((told.code, told.stderr.as_str()), (0, ""), "{told:?}");
        found.push(git_in(&project, directory, &["rev-parse", "FETCH_HEAD"]).stdout);
    }
    found.dedup();
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn what_cannot_be_fetched_is_told_and_no_reference_is_written() {
    let project = Project::initialised(User::Current);
    tool(&project, "echo a sentence that is stored as it is > a");
    let references = project.git(&["for-each-ref"]);
    let refused = |url: &str, words: &[&str]| {
        let told = fetch(&project, url);
        assert_told(&told, 128, words);
        assert!(
            !project.repository().join(".git/FETCH_HEAD").metadata().is_ok_and(|found| found.len() > 0),
            "{told:?}"
        );
        assert_eq!(project.git(&["for-each-ref"]), references);
    };
    refused("isobox://task-0000000000000000", &["error: there is no task `task-0000000000000000`"]);
    refused("isobox://", &["error: "]);
    let lane = project.repository().join(".git/isobox/store/lanes/lane-00.pack");
    let mut bytes = fs::read(&lane).expect("a lane");
    let said = b"a sentence that is stored";
    let places = bytes.windows(said.len()).enumerate().filter(|(_, piece)| piece == said).map(|(at, _)| at);
    let places: Vec<usize> = places.collect();
    // The content and the patch; the command is on record, too.
    assert!(places.len() >= 2, "{places:?}");
    places.into_iter().for_each(|at| bytes[at] ^= 1);
    fs::set_permissions(&lane, fs::Permissions::from_mode(0o600)).expect("its owner may");
    fs::write(&lane, bytes).expect("write");
    refused("isobox://@latest", &["error: ", "open object b3:"]);
    tool(&project, "true");
    refused("isobox://@latest", &["the task changed nothing that a commit could hold"]);
}

#[test]
fn a_result_whose_base_is_not_here_is_refused_and_one_of_an_archive_is_fetched() {
    let (project, task) = project();
    let commit = fetched(&project, "isobox://@latest");
    let archive = project.scratch().join("one.isobox");
    let archive = archive.to_str().expect("text");
    assert_eq!(project.isobox(&["export", "--format", "archive", &task, archive]).code, 0);
    let other = project.scratch().join("other");
    project.git(&["init", "-q", other.to_str().expect("text")]);
    for (name, value) in [("user.name", "Ana"), ("user.email", "ana@example.com")] {
        assert_eq!(git_in(&project, &other, &["config", name, value]).code, 0);
    }
    let url = format!("isobox::{archive}");
    let told = git_in(&project, &other, &["fetch", "-q", &url]);
    assert_told(&told, 128, &["which the task started from, is not in the repository at"]);
    let base = git_in(&project, &other, &["fetch", "-q", project.repository().to_str().expect("text"), "main"]);
    assert_eq!(base.code, 0, "{base:?}");
    assert_eq!(git_in(&project, &other, &["fetch", "-q", &url]).code, 0);
    assert_eq!(git_in(&project, &other, &["rev-parse", "FETCH_HEAD"]).stdout, commit);
}

#[test]
fn whoever_starts_it_without_git_is_told_who_does() {
    let project = Project::initialised(User::Current);
    let helper = project.scratch().join("git-remote-isobox");
    symlink(isobox_program(), &helper).expect("a link");
    let alone = outcome(project.command(&helper).arg("isobox://@latest").output().expect("it starts"));
    assert_told(&alone, 2, &["git fetch isobox://@latest"]);
    let none = outcome(project.command(&helper).output().expect("it starts"));
    assert_told(&none, 2, &["no remote was named"]);
}
