//! The help of every command, and the topics.

use crate::transcript::Transcript;
use isobox_tests::{Project, User, checkout, command_of};
use std::fs;

/// Every command, as it is typed after `isobox`: each has a page. The first is isobox itself.
fn commands() -> Vec<String> {
    let pages = fs::read_dir(checkout().join("docs/commands")).expect("list the pages");
    let names = pages.map(|page| page.expect("a page").file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter_map(|name| name.strip_suffix(".md").map(str::to_owned)).collect();
    names.sort();
    names.into_iter().map(|name| if name == "index" { String::new() } else { command_of(&name) }).collect()
}

#[test]
fn the_help_of_every_command_reads_well_in_a_pipe_and_on_a_terminal() {
    let commands = commands();
    assert!(commands.len() > 20, "{commands:?}");
    for command in commands {
        let words: Vec<&str> = command.split_whitespace().collect();
        let (long, short) = ([&words[..], &["--help"]].concat(), [&words[..], &["-h"]].concat());
        let mut transcript = Transcript::of(Project::bare(User::Current));
        transcript.look(&long);
        match transcript.printed(&long) == transcript.printed(&short) {
            true => transcript.say("-h prints the same"),
            false => transcript.look(&short),
        }
        let name = if words.is_empty() { "isobox".to_owned() } else { words.join("-") };
        transcript.assert_as_kept(&format!("help/{name}"));
    }
}

#[test]
fn the_topics_of_the_help_read_well() {
    let mut transcript = Transcript::of(Project::bare(User::Current));
    for topic in ["exit-codes", "ids", "formats", "environment", "policy"] {
        transcript.look(&["help", topic]);
    }
    transcript.assert_as_kept("help-topics");
}

#[test]
fn no_help_is_wider_than_the_terminal() {
    let project = Project::bare(User::Current);
    let topics = ["exit-codes", "ids", "formats", "environment", "policy"].map(|topic| format!("help {topic}"));
    for command in commands().into_iter().map(|command| format!("{command} --help")).chain(topics) {
        let words: Vec<&str> = command.split_whitespace().collect();
        let (code, shown) = isobox_tests::on_a_terminal(project.isobox_command(&words), 80);
        assert_eq!(code, 0, "{command}");
        let wide: Vec<&str> = shown.lines().filter(|line| line.chars().count() > 80).collect();
        assert_eq!(wide, Vec::<&str>::new(), "{command}");
    }
}
