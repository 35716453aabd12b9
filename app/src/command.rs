//! Commands: what was typed, joined with its use case and its output.

mod help;
mod init;
mod look;
mod promote;
mod workload;

use crate::cli::{self, Arguments, Command};
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::output::console::{Console, ErrorForm, Verbosity};
use crate::output::stdout;
use clap::Parser;
use std::ffi::OsString;

/// Does what the command line `arguments` says.
pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    let is_around_a_workload = cli::is_around_a_workload(&arguments);
    let errors = if cli::wants_json_errors(&arguments) { ErrorForm::Json } else { ErrorForm::Text };
    let done = match Arguments::try_parse_from(&arguments) {
        Ok(parsed) => {
            let verbosity = if parsed.global.quiet { Verbosity::Quiet } else { Verbosity::Normal };
            let console = Console { verbosity, errors };
            (console, dispatch(console, parsed.command))
        }
        Err(error) => (Console { verbosity: Verbosity::Normal, errors }, unparsed(&error, &arguments)),
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

fn dispatch(console: Console, command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Init(arguments) => init::init(&arguments),
        Command::Run(arguments) => workload::run(console, arguments),
        Command::Tool(arguments) => workload::tool(console, arguments),
        Command::Promote(arguments) => promote::promote(console, &arguments),
        Command::List(arguments) => look::list(console, &arguments),
        Command::Show(arguments) => look::show(console, &arguments),
        Command::Diff(arguments) => look::diff(&arguments),
        Command::Logs(arguments) => look::logs(&arguments),
        Command::Cat(arguments) => look::cat(&arguments),
        Command::Version(arguments) => help::version(&arguments),
        Command::Help(arguments) => help::help(&arguments),
    }
}

/// Help that was asked for is printed; anything else that clap says is a failure.
fn unparsed(error: &clap::Error, arguments: &[OsString]) -> Result<ExitCode, Failure> {
    match error.use_stderr() {
        true => Err(cli::misunderstood(error, arguments)),
        false => help::print(&error.render().to_string()),
    }
}
