//! `isobox completions`, and the answers to the scripts that it prints.

use super::topics::TOPICS;
use crate::cli::{Arguments, CompletionsArguments, Place, ShellName};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::output::stdout::{for_documents, unwritten};
use crate::output::text;
use crate::use_case::{diff, open_tasks, select};
use crate::wiring::Store;
use clap::CommandFactory;
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;
use isobox_domain::change::ChangeLine;
use isobox_domain::escape::Escaped;
use isobox_domain::policy::{DependencyCache, ReuseKind};
use isobox_domain::record::TaskRecord;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Names the shell that asks; set by the scripts.
const VARIABLE: &str = "ISOBOX_COMPLETE";
/// Most candidates of one kind: a listing on a terminal, not a search.
const MOST: usize = 200;
/// Why a walk over a Change Set was ended.
const ENOUGH: &str = "there are enough candidates";

/// What the bash script lacks: bash takes `@latest:PATH` and `--flag=value` apart, and puts candidates into the line as they
/// are, where a name that a workload chose could be a command. Other shells do neither.
const WHOLE_WORDS: &str = r#"
_isobox() {
    local part words=() rest=${COMP_LINE:0:COMP_POINT}
    for part in "${COMP_WORDS[@]:0:COMP_CWORD}" ""; do
        if [[ ${#words[@]} -gt 0 && $rest != [[:space:]]* ]]; then
            words[-1]+=$part
        else
            words+=("$part")
            rest=${rest#"${rest%%[![:space:]]*}"}
        fi
        rest=${rest#"$part"}
    done
    local whole=${words[-1]}$rest
    whole=${whole//[\\\"\']/}
    local before=${whole%"${2//[\\\"\']/}"}
    words[-1]=$whole
    local COMP_WORDS=("${words[@]}") COMP_CWORD=$((${#words[@]} - 1))
    _clap_complete_isobox "$1" "$whole" "$3"
    for part in "${!COMPREPLY[@]}"; do
        printf -v "COMPREPLY[part]" %q "${COMPREPLY[part]#"$before"}"
    done
}
complete -o nospace -o bashdefault -F _isobox isobox
complete -o nosort -o nospace -o bashdefault -F _isobox isobox 2> /dev/null
"#;

/// Prints the script that a shell asks isobox with.
pub(super) fn completions(arguments: &CompletionsArguments) -> Result<ExitCode, Failure> {
    let shells = Shells::builtins();
    let shell = arguments.shell.name();
    let completer = shells
        .completer(shell)
        .ok_or_else(|| Failure::new(FailureKind::Usage, format!("there are no completions for {shell}")))?;
    let mut out = for_documents();
    let written = completer.write_registration(VARIABLE, "isobox", "isobox", "isobox", &mut out);
    let written = written.and_then(|()| match arguments.shell {
        ShellName::Bash => out.write_all(WHOLE_WORDS.as_bytes()),
        ShellName::Zsh | ShellName::Fish => Ok(()),
    });
    written.and_then(|()| out.flush()).map_err(unwritten)?;
    Ok(ExitCode::SUCCESS)
}

/// Answers a shell that asks what may be typed next; whether one did.
pub(super) fn answered(arguments: &[OsString]) -> bool {
    if std::env::var_os(VARIABLE).is_none() {
        return false;
    }
    // What goes wrong here has nobody to be told to: the line that is being typed would be spoilt.
    let directory = std::env::current_dir().ok();
    let asked = CompleteEnv::with_factory(completable).var(VARIABLE).try_complete(arguments, directory.as_deref());
    !matches!(asked, Ok(false))
}

/// What is offered for the beginning of a value.
type Candidates = fn(&OsStr) -> Vec<CompletionCandidate>;

/// Arguments, by their ids, whose values clap does not know by itself.
const VALUES: [(&str, Candidates); 9] = [
    ("task", tasks),
    ("tasks", tasks),
    ("task_prefix", task_ids),
    ("file", files),
    ("reuse_input", reuse_inputs),
    ("since", moments),
    ("until", moments),
    ("limit", limits),
    ("cache", caches),
];

/// The command line, with what knows the values that only this store has.
fn completable() -> clap::Command {
    fn add(mut command: clap::Command) -> clap::Command {
        for (name, candidates) in VALUES {
            if command.get_arguments().any(|argument| argument.get_id() == name) {
                command = command.mut_arg(name, |argument| argument.add(ArgValueCompleter::new(candidates)));
            }
        }
        let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
        names.into_iter().fold(command, |command, name| command.mut_subcommand(name, add))
    }
    let isobox = Arguments::command();
    let (help, man) = (named_after(&isobox, "help").subcommands(topics()), named_after(&isobox, "man"));
    add(isobox).mut_subcommand("help", |_| help).mut_subcommand("man", |_| man)
}

/// A command called `name` that takes the names of the commands below `parent`, and of those below them.
fn named_after(parent: &clap::Command, name: &str) -> clap::Command {
    let below = parent.get_subcommands().map(|command| {
        let about = command.get_about().cloned().unwrap_or_default();
        named_after(command, command.get_name()).about(about)
    });
    clap::Command::new(name.to_owned()).subcommands(below)
}

/// The topics of the help that are no commands.
fn topics() -> impl Iterator<Item = clap::Command> {
    let topics = TOPICS.into_iter().filter(|topic| Arguments::command().find_subcommand(topic).is_none());
    topics.map(|topic| clap::Command::new(topic).about("A topic of the help"))
}

/// Tasks of the store around the current directory whose names begin with `typed`, newest first.
fn tasks(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let Ok(store) = Store::find(&Place::default(), None) else { return Vec::new() };
    let open = open_tasks::look(&store.open_tasks_ports()).unwrap_or_default();
    let open = open.iter().map(|attempt| attempt.draft().clone());
    let records = store.records();
    let recorded = records.list().into_iter().flatten().filter_map(Result::ok);
    let is_meant = |name: &str| name.starts_with(&*typed) || name.trim_start_matches("task-").starts_with(&*typed);
    let recorded = recorded
        .filter(|entry| is_meant(&entry.task.to_string()))
        .filter_map(|entry| records.load(&entry.record).ok().flatten());
    let newest = CompletionCandidate::new("@latest").help(Some("the newest task".into()));
    let mut found: Vec<CompletionCandidate> = Vec::new();
    for record in open.chain(recorded) {
        let name = record.task.to_string();
        let is_known = found.iter().any(|known| known.get_value() == OsStr::new(&name));
        if is_meant(&name) && !is_known {
            found.push(candidate(name, &record).display_order(Some(found.len())));
        }
        if found.len() == MOST {
            break;
        }
    }
    found.extend("@latest".starts_with(&*typed).then_some(newest));
    found
}

/// Tasks by their ids alone.
fn task_ids(typed: &OsStr) -> Vec<CompletionCandidate> {
    tasks(typed).into_iter().filter(|task| task.get_value().as_bytes().starts_with(b"task-")).collect()
}

/// Moments that a listing begins or ends at.
fn moments(typed: &OsStr) -> Vec<CompletionCandidate> {
    begun(&["1h", "1d", "1w", "today", "yesterday"], typed)
}

/// How much a listing shows.
fn limits(typed: &OsStr) -> Vec<CompletionCandidate> {
    begun(&["10", "100", "all"], typed)
}

/// Those of some words that begin with `typed`.
fn begun(words: &[&str], typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let begun = words.iter().filter(|word| word.starts_with(&*typed));
    begun.enumerate().map(|(at, word)| CompletionCandidate::new(*word).display_order(Some(at))).collect()
}

/// Package managers whose caches can be lent.
fn caches(typed: &OsStr) -> Vec<CompletionCandidate> {
    begun(&DependencyCache::ALL.map(DependencyCache::name), typed)
}

/// The kinds of Reuse Inputs, up to where the value begins.
fn reuse_inputs(typed: &OsStr) -> Vec<CompletionCandidate> {
    let kinds = ReuseKind::ALL.map(|kind| format!("{}=", kind.name())).into_iter();
    kinds.filter(|kind| kind.starts_with(&*typed.to_string_lossy())).map(CompletionCandidate::new).collect()
}

fn candidate(name: String, record: &TaskRecord) -> CompletionCandidate {
    CompletionCandidate::new(name).help(Some(text::command(&record.command).into()))
}

/// Tasks, or after a colon the paths that the Task changed.
fn files(typed: &OsStr) -> Vec<CompletionCandidate> {
    let bytes = typed.as_bytes();
    let Some(colon) = bytes.iter().position(|&byte| byte == b':') else {
        return tasks(typed).into_iter().map(up_to_the_path).collect();
    };
    let (task, path) = (&bytes[..colon], &bytes[colon + 1..]);
    changed(OsStr::from_bytes(task), path).unwrap_or_default()
}

fn up_to_the_path(task: CompletionCandidate) -> CompletionCandidate {
    let mut name = task.get_value().to_owned();
    name.push(":");
    CompletionCandidate::new(name).help(task.get_help().cloned()).display_order(task.get_display_order())
}

/// Whether a name is shown as it is. Others a shell could not tell apart, and a terminal would be driven by them.
fn is_plain(name: &[u8]) -> bool {
    Escaped(name).to_string().as_bytes() == name
}

fn changed(task: &OsStr, begun: &[u8]) -> Option<Vec<CompletionCandidate>> {
    let task = task.to_str()?;
    let selector = select::parse(task).ok()?;
    let store = Store::find(&Place::default(), Some(&selector)).ok()?;
    let selected = select::select(&store.select_ports(), &selector, task).ok()?;
    let mut found = Vec::new();
    let walked = diff::each_line(&diff::Ports { objects: store.objects() }, &selected.record, &mut |line| {
        if let ChangeLine::Change(change) = &line
            && change.after.is_some()
            && change.path.as_bytes().starts_with(begun)
            && is_plain(change.path.as_bytes())
        {
            let name = [task.as_bytes(), b":", change.path.as_bytes()].concat();
            found.push(CompletionCandidate::new(OsString::from_vec(name)));
        }
        match found.len() < MOST {
            true => Ok(()),
            false => Err(Failure::new(FailureKind::General, ENOUGH)),
        }
    });
    match walked {
        Ok(()) => Some(found),
        Err(failure) if failure.message == ENOUGH => Some(found),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_completed_is_a_command_line() {
        super::completable().debug_assert();
    }
}
