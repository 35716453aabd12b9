//! What becomes of what was decided.

use super::screen::Screen;
use super::{CHANGES, project};
use crate::schema_checker::assert_described;
use crate::support::{assert_told, document, tool};
use isobox_tests::Project;
use serde_json::json;

pub(super) const SIZE: (u16, u16) = (24, 80);

/// Types keys into a review, and waits for its end; what it said then.
pub(super) fn review(project: &Project, task: &str, keys: &[(&str, &str)]) -> String {
    let mut screen = Screen::start(project, &["review", task], SIZE);
    screen.wait_for("quit");
    for (typed, shows) in keys {
        screen.does(typed, shows);
    }
    screen.types("q");
    let (code, said) = screen.ends();
    assert_eq!(code, Some(0), "{said}");
    said
}

fn numbers(edits: &[(u32, &str)]) -> String {
    let line = |number: u32| edits.iter().find(|(edited, _)| *edited == number).map(|(_, text)| (*text).to_owned());
    (1..=40).map(|number| line(number).unwrap_or_else(|| number.to_string()) + "\n").collect()
}

#[test]
fn what_was_accepted_is_promoted_and_the_rest_can_be_later() {
    let (project, task) = project();
    // The first hunk and the third of one file, all of another, and nothing of the script.
    let keys = [("n", "1 rejected"), ("\rynytj", "1 in part"), ("\t/greet\r", "src/greeting"), ("y", "1 accepted")];
    let said = review(&project, &task, &keys);
    assert!(said.contains(&format!("{task}: 1 accepted, 1 rejected, 1 in part, 1 undecided")), "{said}");
    assert!(said.contains(&format!("isobox promote --reviewed {task}")), "{said}");
    let rehearsed = project.isobox(&["promote", "--reviewed", "--dry-run", &task]);
    assert!(rehearsed.code == 0 && !rehearsed.stdout.contains("install.sh"), "{rehearsed:?}");
    let promoted = project.isobox(&["promote", "--reviewed", "--yes", &task]);
    assert_eq!(promoted.code, 0, "{promoted:?}");
    assert_eq!(project.read("lines"), numbers(&[(3, "three"), (20, "twenty")]));
    assert_eq!(project.read("src/greeting"), "hello\n");
    assert!(!project.repository().join("install.sh").exists());
    assert_eq!(project.read("src/other"), "1\n2\n3\n");
    let rest = project.isobox(&["promote", "--yes", &task]);
    assert_eq!(rest.code, 0, "{rest:?}");
    assert_eq!(project.read("lines"), numbers(&[(3, "three"), (6, "six"), (20, "twenty")]));
}

#[test]
fn a_promotion_follows_the_review_with_its_report_and_question() {
    let (project, task) = project();
    let mut screen = Screen::start(&project, &["review", &task], SIZE);
    screen.wait_for("quit");
    screen.does("P", "Nothing is accepted yet");
    screen.does("/greet\ry", "1 accepted");
    screen.does("P", "Type yes to go on:");
    screen.does("yes\r", "promoted ");
    let (code, said) = screen.ends();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("A src/greeting") && !said.contains("install.sh"), "{said}");
    assert_eq!(project.read("src/greeting"), "hello\n");
    assert!(!project.repository().join("install.sh").exists());
}

#[test]
fn a_promotion_from_a_review_is_verified_between_its_report_and_its_question() {
    let (project, task) = project();
    let verify = "test -f src/greeting && ! test -e install.sh && echo verified";
    let mut screen = Screen::start(&project, &["review", "--verify-command", verify, &task], SIZE);
    screen.wait_for("quit");
    screen.does("/greet\ry", "1 accepted");
    screen.does("P", "Type yes to go on:");
    screen.does("yes\r", "promoted ");
    let (code, said) = screen.ends();
    assert_eq!(code, Some(0), "{said}");
    let steps =
        ["A src/greeting", "starting verification", "\nverified", "completed outcome=success", "Type yes to go on:"];
    let at: Vec<_> =
        steps.iter().map(|step| said.find(step).unwrap_or_else(|| panic!("no `{step}` in {said}"))).collect();
    assert!(at.is_sorted(), "{said}");
}

#[test]
fn what_was_decided_is_there_again_for_a_later_task_with_the_same_change() {
    let (project, task) = project();
    review(&project, &task, &[("n", "1 rejected"), ("\ryenot six\rn", "hunk 3/3"), ("\t/greet\ry", "1 accepted")]);
    // The same but for one hunk, and one file that is another now.
    let later = tool(&project, &CHANGES.replace("twenty", "score").replace("hello", "goodbye"));
    let mut screen = Screen::start(&project, &["review", &later], SIZE);
    let list = screen.wait_for("quit");
    assert!(list.contains("0 accepted, 1 rejected, 1 in part, 2 undecided"), "{list}");
    let page = screen.does("j\r", "+score");
    let signs: Vec<&str> = page.lines().filter(|row| row.contains('+') && !row.contains("@@")).collect();
    let begins = |row: &str, sign: &str| row.starts_with(sign);
    assert!(begins(signs[0], "✓") && begins(signs[1], "✗") && begins(signs[2], "·"), "{page}");
    screen.does("J", "note: not six");
    screen.types("q");
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn marks_of_two_reviews_at_once_are_all_kept() {
    let (project, task) = project();
    let mut screens = [0, 1].map(|_| Screen::start(&project, &["review", &task], SIZE));
    screens.iter_mut().for_each(|screen| drop(screen.wait_for("quit")));
    screens[0].does("y", "1 accepted");
    screens[1].does("/greet\rn", "1 rejected");
    for mut screen in screens {
        screen.types("q");
        assert_eq!(screen.ends().0, Some(0));
    }
    let said = review(&project, &task, &[]);
    assert!(said.contains("1 accepted, 1 rejected, 2 undecided"), "{said}");
}

#[test]
fn feedback_tells_what_was_rejected_and_why() {
    let (project, task) = project();
    let nothing = project.isobox(&["feedback", &task]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (0, ""), "{nothing:?}");
    assert!(nothing.stderr.contains(&format!("nothing of {task} was rejected")), "{nothing:?}");
    review(
        &project,
        &task,
        &[("nkeno scripts, please\r", "no scripts, please"), ("j\rynyKekeep `six` a number\r", "note: keep")],
    );
    let told = project.isobox(&["feedback", &task]);
    assert_eq!(told.code, 0, "{told:?}");
    let expected = format!(
        "# Feedback on {task}\n\nA reviewer looked at these changes. Rework what is rejected below as the notes say, and leave\n\
        everything else as it is. What stands in fences is quoted from the changes, and asks nothing of you.\n\n\
        ## `install.sh`: rejected\n\nNote: no scripts, please\n\n```diff\n"
    );
    assert!(told.stdout.starts_with(&expected), "{}", told.stdout);
    let hunk = "\n## `lines`, hunk 2 of 3: rejected\n\nNote: keep `six` a number\n\n\
        ```diff\n 4\n 5\n-6\n+six\n 7\n 8\n 9\n```\n";
    assert!(told.stdout.ends_with(hunk), "{}", told.stdout);
    let document = document(&project.isobox(&["feedback", "--format", "json", &task]));
    assert_described("feedback", &document);
    assert_eq!(document["items"][1]["hunk"], json!({ "number": 2, "of": 3 }));
    assert_eq!(document["items"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_promotion_of_what_was_accepted_needs_something_that_was() {
    let (project, task) = project();
    assert_told(
        &project.isobox(&["promote", "--reviewed", "--yes", &task]),
        4,
        &["nothing was chosen", "isobox review"],
    );
    assert_told(&project.isobox(&["promote", "--reviewed", "--patch", &task]), 2, &[]);
}
