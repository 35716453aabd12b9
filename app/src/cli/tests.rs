//! The documentation's pages about commands, made from the definitions of the commands: `docs/commands`.

use super::{Arguments, EVERYWHERE};
use crate::output::manual::{AfterHelp, after_help};
use clap::builder::StyledStr;
use clap::{Arg, Command, CommandFactory};
use isobox_tests::assert_snapshot;
use std::collections::BTreeSet;

const MADE: &str = "<!-- Made from the definitions of the commands; SNAPSHOTS=overwrite makes it anew. -->\n";

/// Every command with its words after `isobox`, in the order of the help.
fn commands(parent: &Command, words: &[String]) -> Vec<(Vec<String>, Command)> {
    let below = parent.get_subcommands().flat_map(|command| {
        let words = [words, &[command.get_name().to_owned()]].concat();
        let deeper = commands(command, &words);
        std::iter::once((words, command.clone())).chain(deeper)
    });
    below.collect()
}

fn isobox() -> Command {
    let mut isobox = Arguments::command();
    isobox.build();
    isobox
}

fn text(styled: Option<&StyledStr>) -> String {
    styled.map(StyledStr::to_string).unwrap_or_default().trim().to_owned()
}

fn table(heading: &str, rows: &[(String, String)]) -> String {
    let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
    let rows = rows.iter().map(|(name, meaning)| format!("| `{}` | {} |\n", cell(name), cell(meaning)));
    let body: String = rows.collect();
    if body.is_empty() { body } else { format!("\n| {heading} | |\n|---|---|\n{body}") }
}

/// What an argument means, and which values it has.
fn meaning(argument: &Arg) -> String {
    let mut meaning = text(argument.get_help());
    let values: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|_| !argument.is_hide_possible_values_set() && argument.get_action().takes_values())
        .map(|value| match text(value.get_help()).as_str() {
            "" => format!("`{}`", value.get_name()),
            help => format!("`{}` ({help})", value.get_name()),
        })
        .collect();
    if !values.is_empty() {
        meaning.push_str(&format!(". One of {}", values.join(", ")));
    }
    let is_told = argument.get_action().takes_values() && !argument.is_hide_default_value_set();
    if let (Some(value), true) = (argument.get_default_values().first(), is_told) {
        meaning.push_str(&format!(" [default: `{}`]", value.display()));
    }
    meaning
}

fn option(argument: &Arg) -> (String, String) {
    let names =
        [argument.get_short().map(|short| format!("-{short}")), argument.get_long().map(|long| format!("--{long}"))];
    let mut name = names.into_iter().flatten().collect::<Vec<_>>().join(", ");
    if argument.get_action().takes_values() {
        let values = argument.get_value_names().unwrap_or_default().iter();
        values.for_each(|value| name.push_str(&format!(" <{value}>")));
    }
    (name, meaning(argument))
}

/// The options below `heading`, without `--help`.
fn options(command: &Command, heading: Option<&str>) -> Vec<(String, String)> {
    let flags = command.get_arguments().filter(|argument| !argument.is_positional() && !argument.is_hide_set());
    let under = flags
        .filter(|flag| flag.get_help_heading() == heading && !["help", "version"].contains(&flag.get_id().as_str()));
    under.map(option).collect()
}

/// Headings of a command's options, without the global ones.
fn headings(command: &Command) -> Vec<Option<&str>> {
    let named: BTreeSet<&str> = command.get_arguments().filter_map(Arg::get_help_heading).collect();
    std::iter::once(None).chain(named.into_iter().filter(|heading| *heading != EVERYWHERE).map(Some)).collect()
}

/// What follows a command's options in its help: examples, each a line, and what else there is to say.
fn after(command: &Command) -> String {
    let AfterHelp { examples, notes } = after_help(command);
    let notes = if notes.is_empty() { String::new() } else { format!("\n{notes}\n") };
    format!("\n## Examples\n\n```sh\n{}\n```\n{notes}", examples.join("\n"))
}

fn sentence(command: &Command) -> String {
    text(command.get_about())
}

/// What a command's help says beyond its sentence.
fn detail(command: &Command) -> String {
    let text = text(command.get_long_about());
    text.split_once("\n\n").map_or(String::new(), |(_, detail)| format!("\n{}\n", detail.trim()))
}

fn page(words: &[String], mut command: Command) -> String {
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let positionals: Vec<_> = command
        .get_positionals()
        .map(|argument| (argument.get_value_names().unwrap_or_default().join(" "), meaning(argument)))
        .collect();
    let options: String = headings(&command)
        .into_iter()
        .map(|heading| table(heading.unwrap_or("option"), &self::options(&command, heading)))
        .collect();
    let below: Vec<_> = command.get_subcommands().map(|below| link(words, below)).collect();
    let below = if below.is_empty() { String::new() } else { format!("\n{}\n", below.join("\n")) };
    format!(
        "{MADE}# isobox {}\n\n{}.\n{}\n```text\n{usage}\n```\n{}{below}{options}{}\n\
         [Options of every command](index.md#options-of-every-command) · [exit codes](../exit-codes.md)\n",
        words.join(" "),
        sentence(&command),
        detail(&command),
        table("argument", &positionals),
        after(&command)
    )
}

fn link(words: &[String], command: &Command) -> String {
    let name = [words, &[command.get_name().to_owned()]].concat();
    format!("- [`isobox {}`]({}.md): {}", name.join(" "), name.join("-"), sentence(command))
}

fn index(isobox: &Command) -> String {
    let links: Vec<_> = isobox.get_subcommands().map(|command| link(&[], command)).collect();
    format!(
        "{MADE}# Commands\n\n{}\n\nIn a terminal, `isobox COMMAND --help` and `isobox man COMMAND` say the same.\n\n\
         ## Options of every command\n{}",
        links.join("\n"),
        table("option", &options(isobox, Some(EVERYWHERE)))
    )
}

#[test]
fn every_command_has_a_page_that_says_what_its_definition_says_and_nothing_else_has_one() {
    let isobox = isobox();
    let mut names = BTreeSet::from(["index.md".to_owned()]);
    assert_snapshot("docs/commands/index.md", &index(&isobox));
    for (words, command) in commands(&isobox, &[]) {
        let name = format!("{}.md", words.join("-"));
        assert_snapshot(format!("docs/commands/{name}"), &page(&words, command));
        names.insert(name);
    }
    let pages = std::fs::read_dir(isobox_tests::checkout().join("docs/commands")).expect("list the pages");
    let found: BTreeSet<_> =
        pages.map(|page| page.expect("a page").file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(found, names);
}

#[test]
fn the_page_of_exit_codes_has_the_table_of_the_program() {
    let rows: String =
        crate::exit_code::TABLE.iter().map(|(code, meaning)| format!("| {code} | {meaning} |\n")).collect();
    let page = format!(
        "<!-- Made from the program's own table; SNAPSHOTS=overwrite makes it anew. -->\n# Exit codes\n\n\
         `isobox help exit-codes` prints the same.\n\n| code | what it means |\n|---|---|\n{rows}"
    );
    assert_snapshot("docs/exit-codes.md", &page);
}
