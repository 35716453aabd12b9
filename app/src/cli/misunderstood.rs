//! What is told of a command line that cannot be understood.

use crate::failure::{Failure, FailureKind};
use crate::output::text as shown;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The failure for `error`, which came of `arguments`: what is wrong, and what to type instead.
pub(crate) fn misunderstood(error: &clap::Error, arguments: &[OsString]) -> Failure {
    let command = command(arguments);
    let command = command.as_deref();
    let message = match error.kind() {
        ErrorKind::MissingSubcommand => "no command was given".into(),
        _ => message(&error.render().to_string()),
    };
    let help = command.map_or("`isobox --help` lists the commands".to_owned(), |command| {
        format!("`isobox {command} --help` shows what it takes")
    });
    let advice = command.and_then(|command| about_workload(error, command).or_else(|| about_task(error, command)));
    let advice = advice.or_else(|| {
        let (near, program) = (meant(error), program(error, arguments, command));
        let program = program.filter(|program| near.as_ref().is_none_or(|near| !program.ends_with(&near[1..])));
        let meant = [near, program].into_iter().flatten().collect::<Vec<_>>().join(", or ");
        (!meant.is_empty()).then(|| format!("did you mean {meant}?"))
    });
    let hint = match advice {
        Some(question) if question.ends_with('?') => format!("{question} {help}"),
        Some(advice) => format!("{advice}; {help}"),
        None => help,
    };
    Failure::new(FailureKind::Usage, message).with_hint(hint)
}

/// The command that was typed, with the one below it if there is one: `promote`, `workspace dispose`.
fn command(arguments: &[OsString]) -> Option<String> {
    use clap::CommandFactory;
    let isobox = super::Arguments::command();
    let first = isobox.find_subcommand(super::command_word(arguments)?)?;
    let below = arguments.iter().filter(|word| *word != first.get_name()).find_map(|word| first.find_subcommand(word));
    let names = [Some(first), below].into_iter().flatten().map(clap::Command::get_name);
    Some(names.collect::<Vec<_>>().join(" "))
}

// What clap says, without its label, and without its usage and tips, which are in the hint.
fn message(rendered: &str) -> String {
    let first = rendered.split("\n\n").next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    first.lines().map(str::trim).collect::<Vec<_>>().join("\n").replace(":\n", ": ")
}

/// Advice on what is easily got wrong with `run` and `tool`.
fn about_workload(error: &clap::Error, command: &str) -> Option<String> {
    if !["run", "tool"].contains(&command) {
        return None;
    }
    match (error.kind(), text(error, ContextKind::InvalidArg)) {
        (ErrorKind::MissingRequiredArgument, _) => {
            Some(format!("type the command after `--`, for example: isobox {command} -- make test"))
        }
        (ErrorKind::UnknownArgument, Some(word)) if !word.starts_with('-') => {
            Some(format!("type `--` before the command: isobox {command} -- {word} …"))
        }
        (ErrorKind::UnknownArgument, Some(flag)) if command == "tool" && is_flag_of_run(flag) => {
            Some("`isobox run` takes it; what a tool call may do is in the policy file alone".to_owned())
        }
        _ => None,
    }
}

fn about_task(error: &clap::Error, command: &str) -> Option<String> {
    let is_missing = error.kind() == ErrorKind::MissingRequiredArgument;
    let missing = text(error, ContextKind::InvalidArg).filter(|_| is_missing)?;
    let example = match missing {
        "<TASK>" | "<TASK>..." => "@latest",
        "<SHELL>" => "bash",
        "<PATH>..." => "../tasks.isobox",
        "<DEST>" => "@latest ../out",
        "<TASK:PATH>" => "@latest:README.md",
        _ => return None,
    };
    Some(format!("for example: isobox {command} {example}"))
}

/// Words that other tools have for what isobox calls otherwise: below which command, the word, and what is meant.
const ELSEWHERE: [(&str, &str, &str); 11] = [
    ("", "status", "list"),
    ("", "ls", "list"),
    ("", "ps", "list"),
    ("", "log", "logs"),
    ("", "exec", "tool"),
    ("", "apply", "promote"),
    ("", "discard", "reject"),
    ("", "rm", "store prune"),
    ("", "remove", "store prune"),
    ("workspace", "rm", "workspace dispose"),
    ("workspace", "remove", "workspace dispose"),
];

/// The command that another tool calls so, or the line that runs what is no command of isobox, if it is a program.
fn program(error: &clap::Error, arguments: &[OsString], command: Option<&str>) -> Option<String> {
    let name = text(error, ContextKind::InvalidSubcommand)?;
    let is_meant = |(above, word, _): &&(&str, &str, &str)| (*above, *word) == (command.unwrap_or_default(), name);
    if let Some((_, _, meant)) = ELSEWHERE.iter().find(is_meant) {
        return Some(format!("`isobox {meant}`"));
    }
    let line = arguments.iter().skip_while(|word| *word != name).map(|word| shown::word(word.as_encoded_bytes()));
    let line = line.collect::<Vec<_>>().join(" ");
    is_program(name).then(|| format!("`isobox tool -- {line}`"))
}

/// Whether a shell would find a program of this name.
fn is_program(name: &str) -> bool {
    let is_executable = |path: &Path| {
        let found = std::fs::metadata(path);
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    match name.contains('/') {
        true => is_executable(Path::new(name)),
        false => std::env::var_os("PATH")
            .is_some_and(|path| std::env::split_paths(&path).any(|directory| is_executable(&directory.join(name)))),
    }
}

fn is_flag_of_run(flag: &str) -> bool {
    use clap::CommandFactory;
    let isobox = super::Arguments::command();
    let run = isobox.find_subcommand("run");
    let name = flag.trim_start_matches('-').split('=').next();
    run.is_some_and(|run| run.get_arguments().any(|argument| argument.get_long() == name))
}

/// The word that was probably meant.
fn meant(error: &clap::Error) -> Option<String> {
    let pairs = [
        (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
        (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        (ContextKind::InvalidValue, ContextKind::SuggestedValue),
    ];
    pairs.into_iter().find_map(|(written, suggested)| {
        let (written, suggested) = (text(error, written)?, texts(error, suggested));
        // The last is the nearest.
        let near = suggested.into_iter().rev().find(|suggested| is_near(written, suggested));
        near.map(|near| format!("`{near}`"))
    })
}

// What clap suggests may have little to do with what was written, such as `--source` for `--force`.
fn is_near(written: &str, suggested: &str) -> bool {
    let name = |word: &str| word.trim_start_matches('-').to_owned();
    let (written, suggested) = (name(written), name(suggested));
    written.chars().next() == suggested.chars().next() && written.len().abs_diff(suggested.len()) <= 2
}

fn text(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    texts(error, kind).first().copied()
}

fn texts(error: &clap::Error, kind: ContextKind) -> Vec<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text],
        Some(ContextValue::Strings(texts)) => texts.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}
