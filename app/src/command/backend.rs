//! `isobox backend`.

use crate::cli::{BackendCommand, BackendListArguments};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::output::backends as shown;
use crate::output::columns;
use crate::output::stdout::{for_documents, unwritten};
use crate::use_case::backends;
use crate::wiring;
use isobox_domain::escape::Escaped;
use std::io::Write;
use std::path::Path;

/// Does what `command` says.
pub(super) fn backend(command: &BackendCommand) -> Result<ExitCode, Failure> {
    match command {
        BackendCommand::List(arguments) => list(arguments),
    }
}

/// Tries every backend, and shows what each enforces here.
fn list(arguments: &BackendListArguments) -> Result<ExitCode, Failure> {
    let directory = arguments.path.as_deref().unwrap_or(Path::new("."));
    if !directory.is_dir() {
        let what = format!("{} is no directory", Escaped::path(directory));
        return Err(Failure::new(FailureKind::Usage, what).with_hint("name a directory, or leave it out"));
    }
    let found = wiring::with_backend_ports(directory, backends::backends)??;
    let mut out = for_documents();
    let written = match arguments.json {
        true => writeln!(out, "{:#}", shown::document(&found)),
        false => shown::text(&mut out, &found, columns::of_stdout()),
    };
    written.and_then(|()| out.flush()).map_err(unwritten)?;
    Ok(ExitCode::SUCCESS)
}
