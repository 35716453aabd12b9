//! What is on the screen.

use super::project;
use super::screen::Screen;
use isobox_tests::{Project, assert_snapshot};
use nix::sys::signal::Signal;

const SMALL: (u16, u16) = (24, 80);
const LARGE: (u16, u16) = (50, 160);

/// Compares a screen with the one that is kept, ids aside.
fn assert_screen(name: &str, task: &str, screen: &str) {
    let (title, _) = screen.split_once(": ").expect("a title");
    assert!(task.starts_with(title.trim_end_matches('…')), "{title} is not {task}");
    let rows: Vec<&str> = screen[title.len()..].lines().map(str::trim_end).collect();
    let text = format!("TASK{}\n", rows.join("\n"));
    assert_snapshot(format!("app/tests/cli/review/snapshots/{name}"), &text);
}

fn ranked(project: &Project, task: &str, size: (u16, u16)) -> (Screen, String) {
    let mut screen = Screen::start(project, &["review", task], size);
    let first = screen.wait_for("quit");
    (screen, first)
}

#[test]
fn a_small_terminal_shows_the_list_the_diff_and_the_keys() {
    let (project, task) = project();
    let (mut screen, list) = ranked(&project, &task, SMALL);
    assert_screen("list-80x24.txt", &task, &list);
    assert!(list.lines().nth(1).is_some_and(|row| row.contains("install.sh") && row.contains("medium")), "{list}");
    screen.does("jenot like this\r", "note: not like this");
    let page = screen.does("\r", "+three");
    assert_screen("diff-80x24.txt", &task, &page);
    let decided = screen.does("yn", "hunk 3/3");
    assert_screen("hunks-80x24.txt", &task, &decided);
    let help = screen.does("?", "Any key goes back");
    assert_screen("help-80x24.txt", &task, &help);
    screen.does("x", "+twenty");
    screen.types("q");
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn a_large_terminal_shows_the_diff_beside_the_list() {
    let (project, task) = project();
    let (mut screen, _) = ranked(&project, &task, LARGE);
    let both = screen.does("j", "+three");
    assert_screen("list-160x50.txt", &task, &both);
    let page = screen.does("\tJJ", "hunk 3/3");
    assert_screen("diff-160x50.txt", &task, &page);
    screen.types("\x03");
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn another_size_is_drawn_anew() {
    let (project, task) = project();
    let (mut screen, _) = ranked(&project, &task, SMALL);
    screen.does("j\r", "+three");
    screen.resize(LARGE.0, LARGE.1);
    screen.wait("both", |screen| screen.contains("+three") && screen.contains("src/greeting"));
    screen.resize(5, 20);
    screen.wait_for("isobox: the terminal");
    screen.resize(SMALL.0, SMALL.1);
    screen.wait_for("+three");
    screen.types("q");
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn without_unicode_the_signs_are_letters_and_without_colours_nothing_is_coloured() {
    let (project, task) = project();
    let start = |variables: &[(&str, &str)]| Screen::start_with(&project, &["review", &task], SMALL, variables);
    let mut plain = start(&[("LANG", "C"), ("NO_COLOR", "1")]);
    plain.wait_for("quit");
    plain.does("jy", "1 accepted");
    let screen = plain.does("kkn", "1 rejected");
    assert!(screen.is_ascii(), "{screen}");
    assert!(screen.contains("\ny r M lines"), "{screen}");
    assert!(!plain.is_coloured());
    let mut coloured = start(&[("LANG", "C.UTF-8"), ("NO_COLOR", "")]);
    coloured.wait("a verdict", |screen| screen.contains("✓ •"));
    assert!(coloured.is_coloured());
}

#[test]
fn paths_and_lines_are_found() {
    let (project, task) = project();
    let (mut screen, _) = ranked(&project, &task, SMALL);
    screen.does("/lin\r\r", "+three");
    screen.does("/twenty\r", "hunk 3/3");
    screen.does("/nowhere\r", "It is nowhere here.");
    screen.types("q");
    assert_eq!(screen.ends().0, Some(0));
}

#[test]
fn whoever_is_told_to_end_leaves_the_terminal_as_it_was() {
    let (project, task) = project();
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT] {
        let (mut screen, _) = ranked(&project, &task, SMALL);
        screen.does("?", "Any key goes back");
        screen.signal(signal);
        let (code, _) = screen.ends();
        assert!(code.is_none_or(|code| code >= 128), "{signal}: {code:?}");
    }
}

#[test]
fn whoever_stops_it_gets_the_terminal_and_brings_the_same_review_back() {
    let (project, task) = project();
    let mut screen = Screen::start_as_job(&project, &["review", &task], SMALL);
    screen.wait_for("quit");
    screen.does("je", "ote");
    screen.types("half done\r");
    let is_noted = |screen: &str| screen.contains("note: half done") && screen.contains("quit");
    let before = screen.wait("a note", is_noted);
    screen.types("\x1a");
    screen.wait_for("stopped: 1");
    assert!(screen.is_given_back());
    screen.types("\r");
    assert_eq!(screen.wait("the same", is_noted), before);
    screen.does("\r", "+three");
    screen.types("q");
    let (code, shown) = screen.ends();
    assert_eq!(code, Some(0));
    assert!(shown.contains("stopped: 1") && shown.contains("undecided"), "{shown}");
}

#[test]
fn without_a_terminal_it_says_what_to_use_instead() {
    let (project, task) = project();
    let refused = project.isobox(&["review", &task]);
    crate::support::assert_told(&refused, 2, &["needs a terminal", "isobox report"]);
}
