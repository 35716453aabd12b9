//! The examples in the help of every command, each in a project that has what it speaks of.

use crate::page::{Example, Step};
use crate::{report, shell};
use isobox_tests::{Project, User, commands_with_pages};
use libtest_mimic::Trial;

/// What the examples speak of: an agent, something to make, a task with changes whose workspace was kept, old records.
const PREPARED: &str = r#"isobox init > /dev/null
printf '#!/bin/sh\nprintf "fixed\\n" > README.md\n' > agent; chmod +x agent
printf 'all test:\n\ttrue\n' > Makefile
git add -A && git commit -q -m 'Set up'
isobox run -q --retain-workspace --id-file=../scratch/id -- sh -c 'echo said; echo more >> README.md; echo more >> src/main.rs'
id=$(cat ../scratch/id)
mkdir -p ~/.config/fish/completions
isobox export -q --layout v1 "$id" ../scratch/old
isobox export -q --format archive "$id" ../scratch/all.isobox"#;

/// Of which no example is tried here: it needs a publisher, and has tests of its own that are one.
const TRIED_ELSEWHERE: &str = "update";

/// Stands for whatever a command prints.
const ANYTHING: &str = "…";

/// What stands in an example for something that only a real project has, and what this one has for it.
const STAND_INS: [(&str, &str); 12] = [
    ("'make test'", "'test -s README.md'"),
    ("old/task-0123456789abcdef", "../scratch/old/$id"),
    ("import all.isobox", "import ../scratch/all.isobox"),
    ("--from all.isobox", "--from ../scratch/all.isobox"),
    ("/srv/build/app", "$PWD"),
    ("task-0123456789abcdef", "$id"),
    ("task-0123", "$id"),
    ("/path/to/project", "$PWD"),
    ("/path/to/repository", "$PWD"),
    ("/var/lib/isobox", "../scratch/records"),
    ("/usr/local/share/man/man1", "../scratch"),
    ("man -l -", "cat"),
];

const LOGGED: &str = "isobox audit init-key > app.vkey 2> /dev/null; isobox audit checkpoint -q > checkpoint";

/// Examples that need more than [`PREPARED`]: what begins them, and what is typed before.
const FIRST: [(&str, &str); 14] = [
    ("isobox promote --reviewed", "printf yq | script -qec 'isobox review @latest' /dev/null > /dev/null"),
    ("isobox undo", "isobox promote --yes \"$id\" > /dev/null 2>&1"),
    // Something to stop: the newest task.
    (
        "isobox stop",
        "rm ../scratch/id; isobox tool -q --id-file=../scratch/id -- sleep 60 & until [ -s ../scratch/id ]; do sleep 0.1; done; id=$(cat ../scratch/id)",
    ),
    // A store elsewhere, with a task.
    ("isobox list --records", "isobox tool -q --records=../scratch/records -- true"),
    ("isobox store stat --records", "isobox tool -q --records=../scratch/records -- true"),
    ("isobox show @latest~2", "isobox tool -q -- true; isobox tool -q -- true"),
    // A key, a log, a checkpoint and a proof that somebody kept.
    ("isobox audit checkpoint", "isobox audit init-key > app.vkey 2> /dev/null"),
    ("isobox audit prove", LOGGED),
    ("isobox audit check ", LOGGED),
    ("isobox audit check ", "isobox audit prove --since checkpoint @latest > task.tlog-proof"),
    ("isobox audit rebuild", LOGGED),
    ("isobox verify --since", LOGGED),
    ("isobox compare", "isobox tool -q -- sh -c 'echo more >> README.md'"),
    ("isobox rerun", "isobox workspace dispose --all > /dev/null 2>&1"),
];

/// The examples of a help text, without what is said of them.
fn examples(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Examples:").skip(1).take_while(|line| !line.is_empty());
    lines.map(|line| line.trim().split("  ").next().unwrap_or_default().trim_end().to_owned()).collect()
}

fn steps(example: &str) -> Vec<Step> {
    let typed = STAND_INS.iter().fold(example.to_owned(), |typed, (word, real)| typed.replace(word, real));
    let asks = typed.contains("isobox promote") && !typed.contains("--yes") && !typed.contains("--dry-run");
    // Two changes are there to be asked about.
    let answers = if typed.contains("--patch") { "$'y\\ny\\nyes'" } else { "yes" };
    let typed = if asks { format!("{{ {typed}; }} <<< {answers}") } else { typed };
    // Somebody sits at a terminal, and leaves.
    let typed = match typed.starts_with("isobox review") {
        true => format!("printf q | script -qec \"{typed}\" /dev/null"),
        false => typed,
    };
    let first = FIRST.iter().filter(|(begin, _)| example.starts_with(begin)).map(|(_, first)| (*first).to_owned());
    let hidden = [PREPARED.to_owned()].into_iter().chain(first).map(Step::Before);
    hidden.chain([Step::Example(Example { line: 0, typed, printed: vec![ANYTHING.to_owned()] })]).collect()
}

fn faults(command: &str) -> Vec<String> {
    let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
    let examples = examples(&Project::bare(User::Current).isobox(&words).stdout);
    match examples.is_empty() {
        true => vec!["there is none".to_owned()],
        false => examples.iter().flat_map(|example| shell::faults(&steps(example), User::Current)).collect(),
    }
}

/// A test a command.
pub(crate) fn trials() -> impl Iterator<Item = Trial> {
    commands_with_pages()
        .into_iter()
        .filter(|command| command != TRIED_ELSEWHERE)
        .map(|command| Trial::test(format!("examples of `isobox {command}`"), move || report(faults(&command))))
}
