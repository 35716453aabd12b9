//! `isobox init`.

use crate::support::assert_told;
use isobox_tests::{Project, User};
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn the_printed_command_commits_what_was_written() {
    for user in [User::Current, User::Ordinary] {
        let project = Project::bare(user);
        let init = project.isobox(&["init"]);
        assert_eq!(init.code, 0, "{init:?}");
        let command = init.stdout.lines().find(|line| line.contains("git -C")).expect("a command").trim();
        let committed = project.command("sh").args(["-c", command]).output().expect("run sh");
        assert!(committed.status.success(), "{committed:?}");
        assert_eq!(project.git(&["status", "--porcelain"]), "");
        assert_eq!(project.isobox(&["tool", "--", "true"]).code, 0);
        assert_eq!(project.git(&["status", "--porcelain"]), "");
    }
}

#[test]
fn what_else_is_not_committed_is_told() {
    for (files, told) in
        [(&[][..], None), (&["one"], Some("the other entry as well")), (&["one", "two"], Some("the other 2 entries"))]
    {
        let project = Project::bare(User::Current);
        files.iter().for_each(|file| project.write(file, ""));
        let init = project.isobox(&["init"]);
        assert_eq!(init.code, 0, "{init:?}");
        let line = init.stdout.lines().find(|line| line.starts_with("A task starts from what is committed alone"));
        assert_eq!(line.is_some(), told.is_some(), "{init:?}");
        assert!(told.is_none_or(|told| line.is_some_and(|line| line.contains(told))), "{init:?}");
    }
}

#[test]
fn a_second_time_changes_nothing() {
    let project = Project::initialised(User::Current);
    let before = project.read(".gitignore") + &project.read(".isobox/config.yaml");
    let again = project.isobox(&["init"]);
    assert_eq!(again.code, 0, "{again:?}");
    assert!(again.stdout.contains("set up for isobox already"), "{again:?}");
    assert_eq!(project.read(".gitignore") + &project.read(".isobox/config.yaml"), before);
}

#[test]
fn an_edited_policy_and_other_ignore_rules_are_kept() {
    let project = Project::bare(User::Current);
    project.write(".gitignore", "target");
    let policy = "api_version: isobox.dev/v1alpha1\nkind: ProjectPolicy\ntool_call:\n  enabled: true\n";
    project.write(".isobox/config.yaml", policy);
    assert_eq!(project.isobox(&["init"]).code, 0);
    assert_eq!(project.read(".gitignore"), "target\n.isobox/tasks/\n");
    assert_eq!(project.read(".isobox/config.yaml"), policy);
}

#[test]
fn links_are_not_followed_and_nothing_is_half_done() {
    for link in [".isobox", ".gitignore"] {
        let project = Project::bare(User::Current);
        let outside = project.scratch().join("outside");
        match link {
            ".isobox" => fs::create_dir(&outside).expect("a folder"),
            _ => fs::write(&outside, "").expect("a file"),
        }
        symlink(&outside, project.repository().join(link)).expect("a link");
        assert_told(&project.isobox(&["init"]), if link == ".isobox" { 3 } else { 1 }, &[link]);
        let left = project.git(&["status", "--porcelain", "--untracked-files=all"]);
        assert_eq!(left, format!("?? {link}\n"));
        let is_empty = fs::metadata(&outside).expect("metadata").is_dir()
            && fs::read_dir(&outside).expect("a directory").next().is_none()
            || fs::read(&outside).is_ok_and(|content| content.is_empty());
        assert!(is_empty, "{link}");
    }
}

#[test]
fn an_invalid_policy_is_shown_with_its_place() {
    let project = Project::bare(User::Current);
    project.write(".isobox/config.yaml", "api_version: isobox.dev/v1alpha1\nkind: ProjectPolicy\nnetwrok: {}\n");
    assert_told(&project.isobox(&["init"]), 3, &["config.yaml:3:1", "netwrok", "^", "hint: "]);
    assert!(!project.repository().join(".gitignore").exists());
    assert_told(&project.isobox(&["tool", "--", "true"]), 125, &["isobox tool preflight", "config.yaml:3:1"]);
}

#[test]
fn a_directory_inside_and_one_outside_of_a_repository_are_told_apart() {
    let project = Project::bare(User::Current);
    let outside = project.scratch();
    assert_told(&project.isobox(&["init".as_ref(), outside.as_os_str()]), 1, &["not inside a Git repository"]);
    assert_told(&project.isobox(&["init", "README.md"]), 1, &["README.md is not a directory"]);
    assert_eq!(project.isobox(&["init", "src"]).code, 0);
    assert!(project.repository().join(".isobox/config.yaml").exists());
}
