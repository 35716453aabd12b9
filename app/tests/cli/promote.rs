//! `isobox promote` beside what the security tests attack.

use crate::support::{assert_told, document, task_of, tool};
use isobox_tests::{Project, User, typed_on_a_terminal};

#[test]
fn a_rehearsal_shows_everything_and_changes_nothing() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "echo change >> README.md; echo '[package]' > Cargo.toml");
    let shown = project.isobox(&["promote", "--dry-run", &task]);
    assert_eq!(shown.code, 0, "{shown:?}");
    for word in ["M README.md", "A Cargo.toml", "! dependency_manifest", "branch main", "nothing was changed"] {
        assert!(shown.stdout.contains(word), "{word}: {shown:?}");
    }
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    let list = project.isobox(&["list", "--json"]);
    assert!(list.stdout.contains("not_promoted"), "{list:?}");
}

#[test]
fn nothing_but_yes_is_consent_on_a_terminal() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "echo change >> README.md");
    let answers = [("y\ny\n", 4), ("Y\n\n", 4), ("y\n\u{4}", 4), ("YES\n", 4), ("\n", 4), ("\u{4}", 4), ("yes\n", 0)];
    for (answer, expected) in answers {
        let (code, shown) = typed_on_a_terminal(project.isobox_command(&["promote", &task]), 80, answer);
        assert_eq!(code, expected, "{answer:?}: {shown}");
        assert_eq!(project.read("README.md") == "hello\n", expected != 0, "{answer:?}: {shown}");
    }
}

#[test]
fn whoever_types_y_is_asked_for_the_whole_word() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "echo change >> README.md");
    let (code, shown) = typed_on_a_terminal(project.isobox_command(&["promote", &task]), 80, "y\nyes\n");
    assert_eq!((code, shown.matches("It takes the whole word").count()), (0, 1), "{shown}");
    assert_ne!(project.read("README.md"), "hello\n");
}

#[test]
fn whoever_decides_about_a_result_is_told_that_the_command_failed() {
    let project = Project::initialised(User::Current);
    let failed = project.isobox(&["tool", "--", "sh", "-c", "echo half > half; exit 2"]);
    let task = task_of(&failed);
    assert_told(&failed, 2, &[&format!("1 changed file, next: isobox diff {task}")]);
    let caveat = "Its command ended with exit code 2";
    let (code, shown) = typed_on_a_terminal(project.isobox_command(&["promote", &task]), 80, "no\n");
    assert_eq!((code, shown.matches(caveat).count()), (4, 2), "{shown}");
    let promoted = project.isobox(&["promote", "--yes", &task]);
    assert!(promoted.code == 0 && promoted.stdout.contains(&format!("\n  {caveat}\n")), "{promoted:?}");
}

#[test]
fn a_result_goes_only_into_the_repository_it_started_from() {
    let (project, other) = (Project::initialised(User::Current), Project::initialised(User::Current));
    other.write("more", "");
    other.git(&["commit", "-q", "--amend", "--allow-empty", "-m", "Another history"]);
    let task = tool(&project, "echo change >> README.md");
    let view = project.repository().join(".isobox/tasks").join(task);
    let place = other.repository();
    let arguments = ["promote".as_ref(), "--yes".as_ref(), "--source".as_ref(), place.as_os_str(), view.as_os_str()];
    let refused = other.isobox(&arguments);
    assert_told(&refused, 4, &["error: cannot promote task-", "caused by: ", "hint: "]);
    assert_eq!(other.read("README.md"), "hello\n");
}

#[test]
fn an_interrupted_result_is_not_promoted() {
    let project = Project::initialised(User::Current);
    let run = project.isobox(&["tool", "--", "no-such-command-18"]);
    assert_eq!(run.code, 127, "{run:?}");
    assert_told(&project.isobox(&["promote", "--yes", "@latest"]), 4, &["launch_failure"]);
}

#[test]
fn a_view_tells_of_every_promotion() {
    let project = Project::initialised(User::Current);
    let task = tool(&project, "echo change >> README.md");
    assert_eq!(project.isobox(&["promote", "--yes", &task]).code, 0);
    project.git(&["checkout", "-q", "."]);
    assert_eq!(project.isobox(&["promote", "--yes", "--again", &task]).code, 0);
    let view: serde_json::Value =
        serde_json::from_str(&project.read(&format!(".isobox/tasks/{task}/record.json"))).expect("a document");
    let shown = document(&project.isobox(&["show", "--json", &task]));
    assert_eq!(view["events"], shown["events"]);
    assert_eq!(view["events"].as_array().map(Vec::len), Some(2));
}
