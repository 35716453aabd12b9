//! A verdict holds for what was seen, where and as it was seen, until somebody decides otherwise.

use super::decisions::{SIZE, review};
use super::screen::Screen;
use crate::support::{assert_told, tool};
use isobox_tests::{Project, User};

fn project(content: &str) -> Project {
    let project = Project::initialised(User::Current);
    project.write("file", content);
    project.commit_all("A file");
    project
}

fn numbers() -> String {
    (1..=40).map(|number| format!("{number}\n")).collect()
}

fn promote(project: &Project, task: &str) -> isobox_tests::Outcome {
    project.isobox(&["promote", "--reviewed", "--yes", task])
}

#[test]
fn the_same_lines_elsewhere_in_the_file_were_not_accepted() {
    let function = |name: &str| format!("fn {name}() {{\n x\n y\n z\n  check = 1\n p\n q\n r\n}}\n{}", numbers());
    let project = project(&[function("admin"), function("user")].concat());
    let seen = tool(&project, "sed -i '54s/1/0/' file");
    review(&project, &seen, &[("\ry", "1 accepted")]);
    let elsewhere = tool(&project, "sed -i '5s/1/0/' file");
    let said = review(&project, &elsewhere, &[]);
    assert!(said.contains("0 accepted, 0 rejected"), "{said}");
    assert_told(&promote(&project, &elsewhere), 4, &["nothing was chosen"]);
    assert_eq!(promote(&project, &seen).code, 0);
}

#[test]
fn a_mode_that_nobody_saw_comes_with_no_hunk() {
    let project = project(&numbers());
    let seen = tool(&project, "sed -i 's/^3$/three/' file");
    review(&project, &seen, &[("\ry", "1 accepted")]);
    let executable = tool(&project, "sed -i 's/^3$/three/' file; chmod +x file");
    assert_told(&promote(&project, &executable), 4, &["nothing was chosen"]);
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_hunk_that_is_rejected_after_its_file_was_accepted_stays_out() {
    let project = project(&numbers());
    let first = tool(&project, "sed -i 's/^5$/five/; s/^30$/thirty/' file");
    review(&project, &first, &[("Y", "1 accepted")]);
    let second = tool(&project, "sed -i 's/^5$/five/; s/^20$/twenty/' file");
    review(&project, &second, &[("\rn", "✗")]);
    // To read it and to look at it changes nothing about that.
    let said = review(&project, &first, &[("r", "reviewed"), ("k\r", "+thirty")]);
    assert!(said.contains("0 accepted, 0 rejected, 1 in part"), "{said}");
    let told = project.isobox(&["feedback", &first]).stdout;
    assert!(told.contains("`file`, hunk 1 of 2: rejected"), "{told}");
    assert_eq!(promote(&project, &first).code, 0);
    assert_eq!(project.read("file"), numbers().replace("\n30\n", "\nthirty\n"));
}

#[test]
fn of_two_reviews_at_once_the_later_verdict_holds() {
    let project = project(&numbers());
    let task = tool(&project, "sed -i 's/^5$/five/; s/^30$/thirty/' file");
    let [mut one, mut other] = [0, 1].map(|_| Screen::start(&project, &["review", &task], SIZE));
    one.wait_for("quit");
    other.wait_for("quit");
    one.does("Y", "1 accepted");
    other.does("\rn", "✗");
    for mut screen in [one, other] {
        screen.types("q");
        assert_eq!(screen.ends().0, Some(0));
    }
    assert_eq!(promote(&project, &task).code, 0);
    assert_eq!(project.read("file"), numbers().replace("\n30\n", "\nthirty\n"));
}
