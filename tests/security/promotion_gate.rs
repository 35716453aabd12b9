//! Promise: nothing reaches the trusted repository that a person did not see and confirm, and it arrives whole or not at all.

use isobox_tests::{Case, Outcome, outcome};
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::process::Stdio;

isobox_tests::promises! {
    every: [
        links_modes_and_deletions_arrive_as_the_workload_left_them,
        the_question_names_task_repository_and_branch_and_only_yes_promotes,
        a_dirty_repository_is_left_as_it_is,
        a_moved_head_and_another_branch_are_refused,
        the_same_result_is_promoted_twice_only_on_demand,
        nothing_to_promote_and_an_unfinished_outcome_are_refused,
        of_two_promotions_at_once_none_is_lost_and_none_is_halved,
        a_link_in_the_way_is_not_followed,
        a_path_into_a_git_directory_is_never_promoted,
        the_index_is_left_alone_unless_asked,
        what_cannot_be_put_on_record_is_not_promoted,
    ],
}

fn refused(case: &Case, reason: &str) {
    let promoted = case.promote();
    assert_eq!(promoted.code, 4, "{reason}: {promoted:?}");
    assert!(promoted.stderr.contains(reason), "{reason} in {promoted:?}");
}

fn answered(case: &Case, answer: &str) -> Outcome {
    let mut command = case.project.isobox_command(&["promote", "@latest"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start");
    let mut stdin = child.stdin.take().expect("a pipe");
    // A refusal that reads nothing closes the pipe first.
    stdin.write_all(answer.as_bytes()).ok();
    drop(stdin);
    outcome(child.wait_with_output().expect("wait"))
}

fn the_question_names_task_repository_and_branch_and_only_yes_promotes(case: &Case) {
    case.run_well("echo change >> README.md");
    for answer in ["", "no\n", "y e s\n"] {
        let declined = answered(case, answer);
        assert_eq!(declined.code, 4, "{answer:?}: {declined:?}");
        assert_eq!(case.project.read("README.md"), "hello\n");
    }
    let agreed = answered(case, "yes\n");
    assert_eq!(agreed.code, 0, "{agreed:?}");
    let said = format!("{}{}", agreed.stdout, agreed.stderr);
    assert!(said.contains("task-") && said.contains("main"), "{said}");
    assert!(said.contains(&*case.project.repository().to_string_lossy()), "{said}");
    assert_eq!(case.project.read("README.md"), "hello\nchange\n");
}

fn a_dirty_repository_is_left_as_it_is(case: &Case) {
    case.run_well("echo change >> README.md");
    case.project.write("src/main.rs", "my own work\n");
    refused(case, "src/main.rs");
    assert_eq!(case.project.read("README.md"), "hello\n");
    assert_eq!(case.project.read("src/main.rs"), "my own work\n");
}

fn a_moved_head_and_another_branch_are_refused(case: &Case) {
    case.run_well("echo change >> README.md");
    case.project.git(&["checkout", "-q", "-b", "elsewhere"]);
    refused(case, "elsewhere");
    case.project.git(&["checkout", "-q", "main"]);
    case.project.write("new.txt", "new\n");
    case.project.commit_all("Move on");
    refused(case, "isobox rerun --current");
    assert_eq!(case.project.read("README.md"), "hello\n");
}

fn the_same_result_is_promoted_twice_only_on_demand(case: &Case) {
    case.run_well("echo change >> README.md");
    case.promote_well();
    case.project.git(&["checkout", "-q", "."]);
    refused(case, "--again");
    assert_eq!(case.project.read("README.md"), "hello\n");
    let again = case.project.isobox(&["promote", "--yes", "--again", "@latest"]);
    assert_eq!(again.code, 0, "{again:?}");
    assert_eq!(case.project.read("README.md"), "hello\nchange\n");
}

fn nothing_to_promote_and_an_unfinished_outcome_are_refused(case: &Case) {
    case.run_well("true");
    refused(case, "nothing to promote");
    let missing = case.run_command(&["no-such-command-17"]);
    assert_eq!(missing.code, 127, "{missing:?}");
    refused(case, "launch_failure");
}

fn of_two_promotions_at_once_none_is_lost_and_none_is_halved(case: &Case) {
    for round in 0..5 {
        case.run_well(&format!("for i in 1 2 3 4 5 6 7 8; do echo {round} > file-{round}-$i; done"));
        let start = || {
            let mut command = case.project.isobox_command(&["promote", "--yes", "@latest"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start")
        };
        let both = [start(), start()].map(|child| outcome(child.wait_with_output().expect("wait")));
        let codes: Vec<i32> = both.iter().map(|one| one.code).collect();
        assert!(codes.contains(&0) && codes.iter().all(|code| [0, 4].contains(code)), "{both:?}");
        assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{both:?}");
        for file in 1..=8 {
            assert_eq!(case.project.read(&format!("file-{round}-{file}")), format!("{round}\n"));
        }
        case.project.commit_all("Keep");
    }
}

fn a_link_in_the_way_is_not_followed(case: &Case) {
    let outside = case.project.home().join("outside");
    fs::create_dir(&outside).expect("a folder");
    case.project.write(".gitignore", "/.isobox/tasks/\n/ignored\n");
    case.project.commit_all("Ignore");
    case.run_well(
        "git rm -q --cached -r . 2> /dev/null; sed -i '/ignored/d' .gitignore; mkdir ignored; echo x > ignored/file",
    );
    symlink(&outside, case.project.repository().join("ignored")).expect("a link");
    let promoted = case.promote();
    assert_eq!(promoted.code, 4, "{promoted:?}");
    assert_eq!(fs::read_dir(&outside).expect("a directory").count(), 0);
}

fn a_path_into_a_git_directory_is_never_promoted(case: &Case) {
    case.run_well("mkdir -p sub/.git .GIT 2> /dev/null; echo '[core]' > sub/.git/config; echo x > .GIT/config; echo change >> README.md");
    case.promote_well();
    assert!(!case.project.repository().join("sub").exists());
    assert!(!case.project.repository().join(".GIT").exists());
    assert_eq!(case.project.read("README.md"), "hello\nchange\n");
}

fn links_modes_and_deletions_arrive_as_the_workload_left_them(case: &Case) {
    use std::os::unix::fs::PermissionsExt;
    case.run_well("ln -s /etc/passwd absolute; ln -s nowhere dangling; ln -s ../../up escaping; chmod +x README.md; rm src/main.rs; rm run.sh; mkdir run.sh; echo x > run.sh/in");
    case.promote_well();
    let at = |path: &str| case.project.repository().join(path);
    for (link, target) in [("absolute", "/etc/passwd"), ("dangling", "nowhere"), ("escaping", "../../up")] {
        assert_eq!(fs::read_link(at(link)).expect("a link").to_string_lossy(), target);
    }
    assert_ne!(fs::metadata(at("README.md")).expect("metadata").permissions().mode() & 0o100, 0);
    assert!(!at("src").exists());
    assert_eq!(case.project.read("run.sh/in"), "x\n");
}

fn the_index_is_left_alone_unless_asked(case: &Case) {
    case.run_well("echo change >> README.md; echo new > new.txt");
    case.promote_well();
    assert_eq!(case.project.git(&["diff", "--cached", "--name-only"]), "");
    case.project.git(&["checkout", "-q", "."]);
    fs::remove_file(case.project.repository().join("new.txt")).expect("remove");
    let staged = case.project.isobox(&["promote", "--yes", "--again", "--index", "@latest"]);
    assert_eq!(staged.code, 0, "{staged:?}");
    assert_eq!(case.project.git(&["diff", "--cached", "--name-only"]), "README.md\nnew.txt\n");
    assert_eq!(case.project.git(&["diff", "--name-only"]), "");
}

fn what_cannot_be_put_on_record_is_not_promoted(case: &Case) {
    case.run_well("echo change >> README.md");
    let locks = case.project.repository().join(".git/isobox/store/locks");
    fs::rename(&locks, case.project.scratch().join("locks")).expect("rename");
    fs::write(&locks, "").expect("write");
    let refused = case.promote();
    assert_eq!(refused.code, 6, "{refused:?}");
    assert_eq!(case.project.read("README.md"), "hello\n", "{refused:?}");
    fs::remove_file(&locks).expect("remove");
    fs::rename(case.project.scratch().join("locks"), &locks).expect("rename");
    case.promote_well();
    assert_eq!(case.project.read("README.md"), "hello\nchange\n");
}
