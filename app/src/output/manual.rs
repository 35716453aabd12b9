//! Manual pages, made from the definitions of commands, with the sections of man-pages(7) in their order.

use crate::exit_code;
use clap::{Arg, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, roman};
use std::io::{self, Write};

/// What follows the options in a command's help.
#[derive(Debug)]
pub(crate) struct AfterHelp {
    /// Command lines.
    pub(crate) examples: Vec<String>,
    /// What else there is to say; may be empty.
    pub(crate) notes: String,
}

/// Examples and notes of a command.
pub(crate) fn after_help(command: &Command) -> AfterHelp {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let (examples, notes) = text.trim().split_once("\n\n").unwrap_or((text.trim(), ""));
    let examples = examples.lines().skip(1).map(|line| line.trim().to_owned()).collect();
    AfterHelp { examples, notes: notes.to_owned() }
}

/// Writes the page of `command`, which was built. Its words are those after `isobox`; the page of isobox itself, which
/// has none, also tells of `environment`.
pub(crate) fn page(out: &mut dyn Write, command: &Command, words: &[String], environment: &str) -> io::Result<()> {
    let mut parts = Vec::new();
    sections(&mut parts, &for_page(command), words, environment)?;
    // Each part begins with the same definition, which holds for the rest of the page.
    let preamble = Roff::new().render();
    let text = String::from_utf8_lossy(&parts).replace(&preamble, "");
    out.write_all(preamble.as_bytes())?;
    out.write_all(text.as_bytes())
}

fn sections(out: &mut Vec<u8>, command: &Command, words: &[String], environment: &str) -> io::Result<()> {
    // An empty date would make the source the date: what is left out of `.TH` moves the rest; see groff_man(7).
    let page = Man::new(command.clone()).date("\"\"").source(concat!("isobox ", env!("CARGO_PKG_VERSION")));
    let page = page.manual("isobox Manual");
    page.render_title(out)?;
    page.render_name_section(out)?;
    page.render_synopsis_section(out)?;
    page.render_description_section(out)?;
    page.render_options_section(out)?;
    if command.has_subcommands() {
        page.render_subcommands_section(out)?;
    }
    further(command, words, environment).to_writer(out)
}

/// The command with every value that its help leaves out for brevity, and the usage that its help shows.
fn for_page(command: &Command) -> Command {
    let usage = command.clone().render_usage().to_string();
    let in_full = |argument: Arg| argument.hide_possible_values(false).hide_default_value(false);
    let shown = command.clone().mut_args(in_full).subcommand_help_heading("COMMANDS");
    shown.override_usage(usage.trim_start_matches("Usage: ").to_owned())
}

fn further(command: &Command, words: &[String], environment: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in exit_code::of_command(words.first().map(String::as_str)) {
        roff.control("TP", []).text([bold(*code)]).text([roman(*meaning)]);
    }
    if words.is_empty() {
        roff.control("SH", ["ENVIRONMENT"]);
        as_it_stands(&mut roff, environment.lines());
        roff.control("SH", ["FILES"]);
        for (path, meaning) in FILES {
            roff.control("TP", []).text([bold(path)]).text([roman(meaning)]);
        }
    }
    let AfterHelp { examples, notes } = after_help(command);
    if !notes.is_empty() {
        roff.control("SH", ["NOTES"]);
        roff.text([roman(notes.replace('\n', " "))]);
    }
    roff.control("SH", ["EXAMPLES"]);
    as_it_stands(&mut roff, examples.iter().map(String::as_str));
    roff.control("SH", ["SEE ALSO"]);
    roff.text(see_also(words));
    roff
}

/// Files that isobox has, and what they are.
const FILES: [(&str, &str); 5] = [
    (".isobox/config.yaml", "the policy of a project, at the root of its repository"),
    (".isobox/tasks/", "views of the newest tasks as plain files"),
    (".git/isobox/store/", "the task store of a project, in its common Git directory"),
    ("~/.config/isobox/config.yaml", "the user's own policy, which a project's may narrow but not widen"),
    ("~/.local/state/isobox/", "workspaces, and which policies are trusted"),
];

fn as_it_stands<'a>(roff: &mut Roff, lines: impl Iterator<Item = &'a str>) {
    roff.control("nf", []);
    for line in lines {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
}

fn see_also(words: &[String]) -> Vec<Inline> {
    let above: Vec<String> =
        (0..words.len()).map(|length| [&["isobox".to_owned()], &words[..length]].concat().join("-")).collect();
    match above.is_empty() {
        true => vec![bold("git"), roman("(1), "), bold("bwrap"), roman("(1)")],
        false => {
            let mut told: Vec<Inline> = above.into_iter().rev().flat_map(|name| [bold(name), roman("(1), ")]).collect();
            told.pop();
            told.push(roman("(1)"));
            told
        }
    }
}
