//! Commands: what was typed, joined with its use case and its output.

mod act;
mod attestation;
mod audit;
mod backend;
mod cache;
mod compare;
mod completion;
mod diff;
mod doctor;
mod export;
mod export_file;
mod export_git;
mod feedback;
mod follow;
mod git_remote;
mod help;
mod init;
mod list;
mod logs;
mod look;
mod man;
mod policy;
mod promote;
mod prune;
mod repair;
mod repo_paths;
mod report;
mod rerun;
mod review;
mod store;
mod telling;
mod topics;
mod transfer;
mod trusted;
mod update;
mod verification;
mod verify;
mod workload;
mod workspace;

use crate::cli::{self, AttemptCommand, Command, GlobalFlags, LearnCommand};
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::output::console::{Colour, Console, ErrorForm, Verbosity};
use crate::output::pager::Paging;
use crate::output::stdout;
use clap::error::ErrorKind;
use std::ffi::OsString;

/// Does what the command line `arguments` says.
pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    if let Some(code) = git_remote::answered(&arguments) {
        return code;
    }
    if completion::answered(&arguments) {
        return ExitCode::SUCCESS;
    }
    let is_around_a_workload = cli::is_around_a_workload(&arguments);
    let errors = if cli::wants_json_errors(&arguments) { ErrorForm::Json } else { ErrorForm::Text };
    let done = match cli::parse(&arguments) {
        Ok(parsed) => {
            let console = console(parsed.global, errors);
            (console, dispatch(console, parsed.command))
        }
        Err(error) => (
            Console { verbosity: Verbosity::Normal, errors, colour: Colour::Auto, paging: Paging::Never },
            unparsed(&error, &arguments),
        ),
    };
    match done {
        (_, Ok(code)) => code,
        (_, Err(failure)) if stdout::is_unwanted(&failure) => ExitCode::SUCCESS,
        (console, Err(failure)) => {
            let code = if is_around_a_workload { ExitCode::ISOBOX_FAILED } else { failure.kind.exit_code() };
            console.failure(&failure, code);
            code
        }
    }
}

fn console(flags: GlobalFlags, errors: ErrorForm) -> Console {
    let verbosity = match (flags.quiet, flags.verbose) {
        (true, _) => Verbosity::Quiet,
        (false, true) => Verbosity::Verbose,
        (false, false) => Verbosity::Normal,
    };
    let paging = if flags.no_pager { Paging::Never } else { Paging::WhereUseful };
    Console { verbosity, errors, colour: flags.color, paging }
}

fn dispatch(console: Console, command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Init(arguments) => init::init(console, &arguments),
        Command::Doctor(arguments) => doctor::doctor(&arguments),
        Command::Backend(arguments) => backend::backend(&arguments.command),
        Command::Attempt(AttemptCommand::Run(arguments)) => workload::run(console, *arguments),
        Command::Attempt(AttemptCommand::Tool(arguments)) => workload::tool(console, arguments),
        Command::Promote(arguments) => promote::promote(console, &arguments),
        Command::Review(arguments) => review::review(console, &arguments),
        Command::Feedback(arguments) => feedback::feedback(console, &arguments),
        Command::List(arguments) => list::list(console, &arguments),
        Command::Show(arguments) => look::show(console, &arguments),
        Command::Diff(arguments) => diff::diff(console, &arguments),
        Command::Report(arguments) => report::report(console, &arguments),
        Command::Compare(arguments) => compare::compare(console, &arguments),
        Command::Logs(arguments) => logs::logs(console, &arguments),
        Command::Cat(arguments) => look::cat(&arguments),
        Command::Act(command) => act::act(console, command),
        Command::Learn(LearnCommand::Completions(arguments)) => completion::completions(&arguments),
        Command::Learn(LearnCommand::Man(arguments)) => man::man(console, &arguments),
        Command::Transfer(command) => transfer::transfer(console, &command),
        Command::Policy(arguments) => policy::policy(console, &arguments.command),
        Command::Audit(arguments) => audit::audit(console, &arguments.command),
        Command::Verify(arguments) => verify::verify(console, &arguments),
        Command::Store(arguments) => store::store(console, &arguments.command),
        Command::Cache(arguments) => cache::cache(console, &arguments.command),
        Command::Update(arguments) => update::update(console, &arguments),
        Command::Version(arguments) => help::version(&arguments),
        Command::Help(arguments) => help::help(&arguments),
    }
}

/// Help that was asked for is printed, and so it is where nothing but a command that has others below it was typed;
/// anything else that clap says is a failure.
fn unparsed(error: &clap::Error, arguments: &[OsString]) -> Result<ExitCode, Failure> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            help::print(&error.render().to_string())
        }
        _ => Err(cli::misunderstood(error, arguments)),
    }
}
