//! The command line as it is typed: commands, flags, and their help.

mod act;
mod audit;
mod backend;
mod cache;
mod doctor;
mod learn;
mod list;
mod look;
mod misunderstood;
mod policy;
mod policy_flags;
mod promote;
mod report;
mod require_flag;
mod review;
mod store;
mod telling;
#[cfg(test)]
mod tests;
mod transfer;
mod turn_flags;
mod update;
mod verify;
mod verify_flags;
mod workload;

pub(crate) use act::{
    ActCommand, RejectArguments, RerunArguments, TaskArguments, UndoArguments, WorkspaceCommand,
    WorkspaceDisposeArguments, WorkspaceListArguments,
};
pub(crate) use audit::{
    AuditArguments, AuditCheckArguments, AuditCheckpointArguments, AuditCommand, AuditKeyArguments,
    AuditProveArguments, AuditRebuildArguments,
};
pub(crate) use backend::{BackendArguments, BackendCommand, BackendListArguments};
pub(crate) use cache::{CacheArguments, CacheCommand, CachePruneArguments, CacheStatArguments};
pub(crate) use doctor::DoctorArguments;
pub(crate) use learn::{CompletionsArguments, LearnCommand, ManArguments, ShellName};
pub(crate) use list::{ListArguments, WhichTasks};
pub(crate) use look::{CatArguments, ColorMoved, CompareArguments, DiffArguments, LogsArguments, ShowArguments};
pub(crate) use misunderstood::misunderstood;
pub(crate) use policy::{
    PolicyArguments, PolicyCheckArguments, PolicyCommand, PolicyExplainArguments, PolicyPresetsArguments,
    PolicyShowArguments, PolicyTrustArguments, QuestionKind, TrustFlag, WorkspaceFlag,
};
pub(crate) use policy_flags::PolicyFlags;
pub(crate) use promote::{ConflictStyle, PromoteArguments};
pub(crate) use report::{ReportArguments, ReportFormat};
pub(crate) use require_flag::RequireFlag;
pub(crate) use review::{FeedbackArguments, FeedbackFormat, ReviewArguments};
pub(crate) use store::{
    RebuildIndexArguments, RepairArguments, StoreArguments, StoreCommand, StoreCompactArguments, StorePinArguments,
    StorePruneArguments, StoreStatArguments,
};
pub(crate) use telling::{EventTarget, TellingFlags};
pub(crate) use transfer::{ExportArguments, Format, ImportArguments, LayoutName, TransferCommand};
pub(crate) use turn_flags::TurnFlags;
pub(crate) use update::UpdateArguments;
pub(crate) use verify::{SampleFlag, VerifyArguments};
pub(crate) use verify_flags::VerifyFlags;
pub(crate) use workload::{AttemptCommand, RunArguments, ToolArguments};

use crate::output::console::Colour;
use crate::output::text;
use clap::{Args, Parser, Subcommand};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use workload::AttemptAlone;

/// Autonomy for coding agents without giving them your machine.
#[derive(Debug, Parser)]
#[command(
    name = "isobox",
    version,
    disable_help_subcommand = true,
    propagate_version = false,
    after_help = "Examples:\n  \
        isobox init               set up the repository you are in\n  \
        isobox tool -- make test  run one command in a sandbox\n  \
        isobox show @latest       look at what it did\n  \
        isobox promote @latest    bring its changes into the repository\n\n\
        `isobox help exit-codes`, `ids`, `formats`, `environment` and `policy` say more."
)]
pub(crate) struct Arguments {
    /// Flags of every command.
    #[command(flatten)]
    pub(crate) global: GlobalFlags,
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The heading in a command's help of what every command takes.
const EVERYWHERE: &str = "Global options";

/// Flags of every command.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct GlobalFlags {
    /// Print errors as one JSON document each, on standard error
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub(crate) json_errors: bool,
    /// Print what was asked for, errors and warnings alone
    #[arg(long, short, global = true, help_heading = EVERYWHERE)]
    pub(crate) quiet: bool,
    /// Print in detail what holds for a task, and how long it took
    #[arg(long, short, global = true, conflicts_with = "quiet", help_heading = EVERYWHERE)]
    pub(crate) verbose: bool,
    /// When to colour labels, and what `diff` shows: auto, always or never
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t, help_heading = EVERYWHERE)]
    #[arg(hide_default_value = true, hide_possible_values = true)]
    pub(crate) color: Colour,
    /// Print `compare`, `diff`, `logs`, `report` and `show` without a pager
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub(crate) no_pager: bool,
}

/// Which project, and which Task Store.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Place {
    /// A directory in the repository to work with [default: the current directory]
    #[arg(long, value_name = "PATH")]
    pub(crate) source: Option<PathBuf>,
    /// A directory for the task store and its views [default: the project's own]
    #[arg(long, value_name = "DIR")]
    pub(crate) records: Option<PathBuf>,
}

impl Place {
    /// The flags that name it, as they were typed, each after a blank: a further command about the same task needs them too.
    pub(crate) fn flags(&self) -> String {
        let flags = [("--source", &self.source), ("--records", &self.records)].into_iter();
        let typed = |path: &PathBuf| text::word(path.as_os_str().as_encoded_bytes());
        flags.filter_map(|(flag, path)| Some(format!(" {flag} {}", typed(path.as_ref()?)))).collect()
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Set up a repository: write its policy and ignore isobox's views
    #[command(after_help = "Examples:\n  isobox init\n  isobox init /path/to/project")]
    Init(InitArguments),
    /// Look whether this machine and a repository are ready; changes nothing
    #[command(after_help = "Examples:\n  isobox doctor\n  isobox doctor /path/to/project\n  isobox doctor --json")]
    Doctor(DoctorArguments),
    /// Show what the runtime backends enforce on this machine
    #[command(after_help = "Examples:\n  isobox backend list\n  isobox backend list --json")]
    Backend(BackendArguments),
    /// The commands that attempt a task.
    #[command(flatten)]
    Attempt(AttemptCommand),
    /// Review a task's changes and bring them into the trusted repository
    #[command(mut_arg("source", |flag| flag.help(
        "A directory in the repository that has the task, and to promote into [default: the current directory, and \
         the repository that the task started from]"
    )))]
    #[command(after_help = "Examples:\n  \
        isobox promote @latest\n  \
        isobox promote --dry-run task-0123\n  \
        isobox promote --commit -m 'Fix the parser' @latest\n  \
        isobox promote --branch try-it @latest\n  \
        isobox promote --only src @latest\n  \
        isobox promote --except README.md @latest\n  \
        isobox promote --patch @latest\n  \
        isobox promote --reviewed @latest\n  \
        isobox promote --verify-command 'make test' @latest\n  \
        isobox promote --yes .isobox/tasks/task-0123456789abcdef")]
    Promote(PromoteArguments),
    /// Review a task's changes in the terminal: accept, reject, mark and note, file by file and hunk by hunk
    ///
    /// Files come by risk, as `isobox report` has them. What is decided is kept at once, and belongs to the change: a later task
    /// with the same change has it too. P promotes what is accepted, f prints what is rejected, ? shows every key.
    #[command(after_help = "Examples:\n  \
        isobox review @latest\n  \
        isobox review task-0123\n\n\
        It needs a terminal. A file whose lines in the patch are longer than 256 KiB, or that is longer\n\
        than 512 KiB on either side, is accepted or rejected as a whole here; `promote --patch` takes hunks\n\
        of files up to 2 MiB. Of some 60000 changed paths on, the rest is not listed and stays undecided.")]
    Review(ReviewArguments),
    /// Print what was rejected of a task in `isobox review`, and why, as a text for an agent
    #[command(after_help = "Examples:\n  \
        isobox feedback @latest\n  \
        isobox feedback task-0123 > feedback.md\n  \
        isobox feedback --format json @latest")]
    Feedback(FeedbackArguments),
    /// List tasks, newest first
    ///
    /// Tasks that are not over come first. With several filters, a task is listed that all of them admit; of a repeated one, any.
    #[command(after_help = "Examples:\n  \
        isobox list\n  \
        isobox list --state unreviewed --since 2h\n  \
        isobox list --outcome limit_exceeded --outcome interruption\n  \
        isobox list --command 'make*' --path src --until yesterday\n  \
        isobox list --sort duration --limit 10\n  \
        isobox list --jsonl --limit all\n  \
        isobox list --records=/var/lib/isobox\n\n\
        What --limit leaves out is counted on standard error. Without it, --sort orders up to 250000 tasks by another key than time.")]
    List(ListArguments),
    /// Show the record of a task
    #[command(
        after_help = "Examples:\n  isobox show @latest\n  isobox show --json task-0123\n  isobox show --raw @latest > record"
    )]
    Show(ShowArguments),
    /// Show what a task changed, as a patch
    #[command(after_help = "Examples:\n  \
        isobox diff @latest\n  isobox diff --stat @latest\n  isobox diff @latest src README.md\n  isobox diff task-0123 | git apply --check\n  \
        isobox diff --color=always @latest\n  isobox diff --name-status -M=80 @latest\n  \
        isobox diff --name-only -z @latest\n\n\
        A pipe gets the patch as it was stored, unless --color=always, -M or --tool asks\n\
        for something else. A terminal, --stat, --name-status and --json show renames,\n\
        --name-only both of their paths.\n\n\
        What --tool starts runs outside of a sandbox and reads what a workload made: let\n\
        it be a program that bad input cannot harm. It gets text that is escaped as on a\n\
        terminal: delta the patch, difft and the difftool of Git (difftool.NAME.cmd in\n\
        the configuration of the user) each text file as it was and as it is.")]
    Diff(DiffArguments),
    /// Tell what a person should look at in what a task changed, the most important first
    ///
    /// What a path is, and what its lines gained or lost: keys and tokens, hidden characters, what is run by builds, tests left out,
    /// licences. A level says how soon to look: high acts by itself, hides something or gives something away; medium acts once
    /// somebody uses the project, or cannot be judged by reading; low is worth knowing. It informs and decides nothing.
    #[command(after_help = "Examples:\n  \
        isobox report @latest\n  \
        isobox report @latest src\n  \
        isobox report --format markdown task-0123 > comment.md\n  \
        isobox report --format sarif @latest > isobox.sarif\n\n\
        Keys are never printed: a finding names their kind and their line. What the\n\
        commit had already is no finding. Binary files are looked at as far as to tell their\n\
        media type by their first bytes, text over 2 MiB or 100000 lines on either side\n\
        not at all: `binary` and `unexamined` say so.")]
    Report(ReportArguments),
    /// Show what several tasks made of the same commit, side by side
    ///
    /// How each of them ended and how long it took, what it changed, its tests and its risks; then every path, with = where the
    /// results are the same, ≠ where they differ, and · where not every task changed it. What a task alone has to look at is told
    /// below the path.
    #[command(after_help = "Examples:\n  \
        isobox compare @latest @latest~1\n  \
        isobox compare @latest @latest~1 -- src\n  \
        isobox compare --json @latest~1 @latest\n\n\
        Tasks that started from other commits are refused: what differs would be the\n\
        commits' as well. Up to 5 tasks fit beside each other. `lines` are those of the\n\
        whole patch, whatever paths are chosen.")]
    Compare(CompareArguments),
    /// Print the captured output of a task
    #[command(
        after_help = "Examples:\n  isobox logs @latest\n  isobox logs --follow @latest\n  isobox logs --timestamps @latest\n  isobox logs --stderr task-0123 > errors.txt"
    )]
    Logs(LogsArguments),
    /// Print a file that a task changed, as the task left it
    #[command(
        after_help = "Examples:\n  isobox cat @latest:src/main.rs\n  isobox cat task-0123:README.md > README.new"
    )]
    Cat(CatArguments),
    /// The commands that act on tasks.
    #[command(flatten)]
    Act(ActCommand),
    /// The commands that help with isobox itself.
    #[command(flatten)]
    Learn(LearnCommand),
    /// The commands that move records.
    #[command(flatten)]
    Transfer(TransferCommand),
    /// Check that the task store holds what was written to it
    ///
    /// Exits with 0 if nothing is wrong, 1 if something is, 6 if it could not look.
    #[command(after_help = "Examples:\n  \
        isobox verify\n  \
        isobox verify @latest\n  \
        isobox verify --sample today/30 --json\n  \
        isobox verify --since checkpoint")]
    Verify(VerifyArguments),
    /// Look after the task store as a whole
    #[command(after_help = "Examples:\n  isobox store stat\n  isobox store compact\n  isobox store repair --dry-run")]
    Store(StoreArguments),
    /// Look after the cache of pristine copies, which workspaces lie on
    #[command(after_help = "Examples:\n  isobox cache stat\n  isobox cache prune --keep-within 14d")]
    Cache(CacheArguments),
    /// Log what is recorded under a key, so that nothing can be removed or made anew unseen
    #[command(
        after_help = "Examples:\n  isobox audit init-key\n  isobox audit checkpoint > checkpoint\n  isobox audit prove @latest > task.tlog-proof"
    )]
    Audit(AuditArguments),
    /// Check policies, show what holds, print their schema
    #[command(
        after_help = "Examples:\n  isobox policy check\n  isobox policy show --effective\n  isobox policy schema"
    )]
    Policy(PolicyArguments),
    /// Update isobox itself to its newest release, or look whether there is one
    #[command(after_help = "Examples:\n  \
        isobox update --check\n  \
        isobox update\n  \
        isobox update --rollback\n\n\
        The first isobox on PATH is what is updated. Exits with 0 whether or not there was a newer release;\n\
        scripts read `state` with --json.")]
    Update(UpdateArguments),
    /// Print the version
    #[command(after_help = "Examples:\n  isobox version\n  isobox version --json")]
    Version(VersionArguments),
    /// Print help: for a command, or a topic: exit-codes, ids, formats, environment, policy
    #[command(
        after_help = "Examples:\n  isobox help\n  isobox help promote\n  isobox help policy check\n  isobox help exit-codes\n  isobox help policy"
    )]
    Help(HelpArguments),
}

/// `isobox init`.
#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    /// A directory in the repository [default: the current directory]
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
}

/// `isobox version`.
#[derive(Debug, Args)]
pub(crate) struct VersionArguments {
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// `isobox help`.
#[derive(Debug, Args)]
pub(crate) struct HelpArguments {
    /// A command, with what follows it: policy check; or one of exit-codes, ids, formats, environment and policy
    #[arg(value_name = "TOPIC")]
    pub(crate) topic: Vec<String>,
}

/// What the command line `arguments` says, or clap's answer to it: help that was asked for, or what is wrong.
pub(crate) fn parse(arguments: &[OsString]) -> Result<Arguments, clap::Error> {
    let is_attempt = command_word(arguments).is_some_and(|word| word == "tool" || word == "run");
    // Whatever is wrong is explained with every command in view.
    match is_attempt.then(|| AttemptAlone::try_parse_from(arguments)) {
        Some(Ok(AttemptAlone { global, command })) => Ok(Arguments { global, command: Command::Attempt(command) }),
        Some(Err(_)) | None => Arguments::try_parse_from(arguments),
    }
}

/// Whether a command line is for `run` or `tool`, whose own failures all end with 125, even if it cannot be parsed.
pub(crate) fn is_around_a_workload(arguments: &[OsString]) -> bool {
    command_word(arguments).is_some_and(|command| ["run", "tool", "rerun"].iter().any(|workload| command == *workload))
}

/// The first word of a command line that is neither a flag nor the value of one.
fn command_word(arguments: &[OsString]) -> Option<&OsStr> {
    let mut words = arguments.iter().skip(1).map(OsString::as_os_str);
    loop {
        let word = words.next()?;
        if word == OsStr::new("--color") {
            words.next();
        } else if !word.as_encoded_bytes().starts_with(b"-") {
            return Some(word);
        }
    }
}

/// Whether errors are wanted as JSON, even from a command line that cannot be parsed.
pub(crate) fn wants_json_errors(arguments: &[OsString]) -> bool {
    arguments.iter().take_while(|argument| *argument != "--").any(|argument| argument == "--json-errors")
}
