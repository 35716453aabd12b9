//! `isobox promote --patch`: what a person takes of each file comes across, and the rest stays promotable.

use crate::support::{assert_told, document, tool};
use isobox_tests::{Outcome, Project, User, outcome};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

/// Four hunks in three sections, the last of which takes the line feed at the end away.
const EDIT: &str = "sed -i 's/^3$/three/; s/^6$/six/; s/^20$/twenty/; $d' lines; printf forty >> lines";

fn numbers() -> String {
    (1..=40).map(|number| format!("{number}\n")).collect()
}

fn with(edits: &[(&str, &str)]) -> String {
    edits.iter().fold(numbers(), |text, (old, new)| text.replacen(&format!("\n{old}\n"), &format!("\n{new}\n"), 1))
}

fn project(changes: &str) -> (Project, String) {
    let project = Project::initialised(User::Current);
    project.git(&["config", "user.name", "Ana"]);
    project.git(&["config", "user.email", "ana@example.org"]);
    project.write("lines", &numbers());
    project.commit_all("Count to forty");
    let task = tool(&project, changes);
    (project, task)
}

fn answer(project: &Project, arguments: &[&str], answers: &str) -> Outcome {
    let mut command = project.isobox_command(arguments);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start isobox");
    // Who refuses reads nothing.
    child.stdin.take().expect("piped").write_all(answers.as_bytes()).ok();
    outcome(child.wait_with_output().expect("wait for isobox"))
}

/// Answers each letter on a line of its own.
fn choose(project: &Project, arguments: &[&str], task: &str, keys: &str) -> Outcome {
    let lines: String = keys.chars().map(|key| format!("{key}\n")).collect();
    answer(project, &[&["promote", "--patch", "--yes"], arguments, &[task]].concat(), &lines)
}

fn state(project: &Project) -> String {
    document(&project.isobox(&["list", "--json"]))["tasks"][0]["state"].as_str().expect("a state").to_owned()
}

#[test]
fn some_hunks_of_a_file_are_promoted_and_the_rest_later() {
    let (project, task) = project(EDIT);
    let part = choose(&project, &[], &task, "snyyn");
    assert_eq!(part.code, 0, "{part:?}");
    assert_eq!(project.read("lines"), with(&[("6", "six"), ("20", "twenty")]));
    assert_eq!(state(&project), "partial");
    let told = document(&project.isobox(&["show", "--json", &task]))["promotion"]["part"].clone();
    assert_eq!(told["hunks"], serde_json::json!([{ "path": "lines", "numbers": [1, 2] }]));
    let further = choose(&project, &[], &task, "yn");
    assert!(further.code == 0 && !further.stdout.contains("+six\n"), "{further:?}");
    assert_eq!(project.read("lines"), with(&[("3", "three"), ("6", "six"), ("20", "twenty")]));
    let rest = project.isobox(&["promote", "--yes", &task]);
    assert_eq!(rest.code, 0, "{rest:?}");
    let all = with(&[("3", "three"), ("6", "six"), ("20", "twenty")]);
    assert_eq!(project.read("lines"), all.replace("\n40\n", "\nforty"));
    assert_eq!(state(&project), "promoted");
}

#[test]
fn parts_become_commits_one_after_the_other_and_the_last_is_undone() {
    let (project, task) = project(EDIT);
    assert_eq!(choose(&project, &["--commit"], &task, "nyn").code, 0);
    assert_eq!(project.git(&["show", "HEAD:lines"]), with(&[("20", "twenty")]));
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    let rest = project.isobox(&["promote", "--yes", "--commit", &task]);
    assert_eq!(rest.code, 0, "{rest:?}");
    assert_eq!(project.git(&["diff", "--stat", "HEAD~2", "HEAD"]), project.git(&["diff", "--stat", "HEAD~2"]));
    assert!(project.read("lines").ends_with("\nforty"));
    assert_eq!(project.isobox(&["undo"]).code, 0);
    assert_eq!(project.read("lines"), with(&[("20", "twenty")]));
    assert_eq!(state(&project), "partial");
}

#[test]
fn a_rehearsal_says_what_the_promotion_would() {
    let (project, task) = project(EDIT);
    assert_eq!(choose(&project, &[], &task, "nyn").code, 0);
    for how in ["--dry-run", "--yes"] {
        let rest = project.isobox(&["promote", how, "--commit", "--verify-command", "echo verified >&2", &task]);
        assert_told(&rest, 4, &["lines: it was changed meanwhile"]);
        assert!(!rest.stderr.contains("verified"), "nothing is verified that cannot be: {rest:?}");
    }
    assert_eq!(project.read("lines"), with(&[("20", "twenty")]));
}

#[test]
fn hunks_meet_what_the_repository_changed_since() {
    let (project, task) = project(EDIT);
    project.write("lines", &with(&[("30", "thirty")]));
    project.commit_all("Spell thirty");
    assert_told(&choose(&project, &[], &task, "nyn"), 4, &["--three-way"]);
    let merged = choose(&project, &["--three-way", "--commit"], &task, "nyn");
    assert_eq!(merged.code, 0, "{merged:?}");
    assert_eq!(project.read("lines"), with(&[("20", "twenty"), ("30", "thirty")]));
    assert_eq!(project.isobox(&["promote", "--yes", "--three-way", &task]).code, 0);
    let all = with(&[("3", "three"), ("6", "six"), ("20", "twenty"), ("30", "thirty")]);
    assert_eq!(project.read("lines"), all.replace("\n40\n", "\nforty"));
}

#[test]
fn what_went_to_a_branch_or_was_taken_away_is_not_expected_in_the_working_tree() {
    let (project, task) = project(EDIT);
    assert_eq!(choose(&project, &["--branch", "try"], &task, "snynn").code, 0);
    assert_eq!(project.git(&["show", "try:lines"]), with(&[("6", "six")]));
    assert_eq!(choose(&project, &[], &task, "nyn").code, 0);
    assert_eq!(project.read("lines"), with(&[("20", "twenty")]));
    let branch = choose(&project, &["--branch", "other"], &task, "yn");
    assert_eq!(branch.code, 0, "{branch:?}");
    assert_eq!(project.git(&["show", "other:lines"]), with(&[("3", "three")]));
    project.git(&["checkout", "-q", "lines"]);
    let rest = project.isobox(&["promote", "--yes", &task]);
    assert_eq!(rest.code, 0, "{rest:?}");
    assert_eq!(project.read("lines"), numbers().replace("\n40\n", "\nforty"));
}

#[test]
fn the_mode_of_a_file_comes_with_the_first_of_its_hunks() {
    let (project, task) = project(&format!("{EDIT}; chmod +x lines"));
    let is_executable = || {
        let metadata = std::fs::metadata(project.repository().join("lines")).expect("a file");
        metadata.permissions().mode() & 0o111 == 0o111
    };
    assert_eq!(choose(&project, &[], &task, "nyn").code, 0);
    assert!(is_executable());
    let rest = project.isobox(&["promote", "--yes", &task]);
    assert_eq!(rest.code, 0, "{rest:?}");
    assert!(is_executable() && project.read("lines").ends_with("\nforty"));
}

#[test]
fn what_has_no_hunks_is_taken_or_left_as_a_whole() {
    let changes = "printf 'a\\0b' > binary; rm lines; ln -s x link; echo n > new; chmod +x README.md";
    let (project, task) = project(changes);
    let part = choose(&project, &[], &task, "ynyq");
    assert_eq!(part.code, 0, "{part:?}");
    assert_eq!(project.git(&["status", "--porcelain", "-uall"]), " M README.md\n D lines\n");
    assert_eq!(state(&project), "partial");
}

#[test]
fn what_is_left_unanswered_changes_nothing() {
    let (project, task) = project(EDIT);
    assert_told(&choose(&project, &[], &task, "ny"), 4, &["there was no answer to read", "nothing was changed"]);
    assert_told(&choose(&project, &[], &task, "d"), 4, &["nothing was chosen"]);
    assert_told(&choose(&project, &[], &task, "q"), 4, &["nothing was chosen"]);
    let unconfirmed = answer(&project, &["promote", "--patch", &task], "y\ny\ny\nno\n");
    assert_told(&unconfirmed, 4, &["it was not confirmed"]);
    assert_eq!(choose(&project, &["--dry-run"], &task, "yyn").code, 0);
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    assert_eq!(state(&project), "unreviewed");
}

#[test]
fn a_file_that_was_edited_after_a_part_came_is_left_alone() {
    let (project, task) = project(EDIT);
    assert_eq!(choose(&project, &[], &task, "nyn").code, 0);
    project.write("lines", "mine\n");
    assert_told(&project.isobox(&["promote", "--yes", &task]), 4, &["lines"]);
    assert_eq!(project.read("lines"), "mine\n");
}

#[test]
fn the_same_keys_choose_what_they_choose_in_git() {
    for keys in ["yyy", "nyn", "yny", "snyyn", "a", "ya", "nd", "yd", "jyyn", "Jynn", "sjnKynyn", "yKnyy"] {
        let (project, task) = project(EDIT);
        assert_eq!(tool_left(&project, &task, keys), git_staged(&project, keys), "{keys}");
    }
}

/// What the file is after `isobox promote --patch`.
fn tool_left(project: &Project, task: &str, keys: &str) -> String {
    let promoted = choose(project, &[], task, keys);
    assert!(promoted.code == 0 || promoted.stderr.contains("nothing was chosen"), "{promoted:?}");
    let left = project.read("lines");
    project.git(&["checkout", "-q", "lines"]);
    left
}

/// What is staged after `git add -p` of the same edit.
fn git_staged(project: &Project, keys: &str) -> String {
    let run = |script: &str| {
        let told = project.command("sh").args(["-c", script]).output().expect("a shell");
        assert!(told.status.success(), "{told:?}");
    };
    run(EDIT);
    let lines: String = keys.chars().map(|key| format!("{key}\\n")).collect();
    run(&format!("printf '{lines}' | git add -p lines >/dev/null"));
    project.git(&["show", ":lines"])
}
