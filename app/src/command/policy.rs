//! `isobox policy`.

use crate::cli::{PolicyCheckArguments, PolicyCommand, PolicyShowArguments};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::output::columns;
use crate::output::policy as shown;
use crate::output::stdout::{for_documents, unwritten};
use crate::use_case::effective_policy::{self, Ports};
use crate::wiring::{self, Project};
use isobox_ports::PolicySource;
use std::io::Write;

/// Does what `command` says.
pub(super) fn policy(command: &PolicyCommand) -> Result<ExitCode, Failure> {
    match command {
        PolicyCommand::Check(arguments) => check(arguments),
        PolicyCommand::Schema => super::help::print(wiring::policy_schema()),
        PolicyCommand::Show(arguments) => show(arguments),
    }
}

/// Reads the project's policy and the user's. Every mistake of the first file that has one is told.
fn check(arguments: &PolicyCheckArguments) -> Result<ExitCode, Failure> {
    let project = Project::find(&arguments.place)?;
    let (path, user_path) = (project.policy_path(), project.user_policy_path());
    if project.written_policy().written()?.is_none() {
        return Err(missing(&path));
    }
    let mut lines = format!("{path}: valid");
    if project.user_policy()?.written()?.is_some() {
        lines.push_str(&format!("\n{user_path}: valid"));
    }
    super::help::print(&lines)
}

fn missing(path: &str) -> Failure {
    Failure::new(FailureKind::General, format!("there is no project policy at {path}"))
        .with_hint("`isobox init` writes one")
}

/// Shows what the project's file says, or what holds of it.
fn show(arguments: &PolicyShowArguments) -> Result<ExitCode, Failure> {
    let project = Project::find(&arguments.place)?;
    let (policy, user) = (project.written_policy(), project.user_policy()?);
    let mut values = effective_policy::values(&Ports { project: &policy, user: &user })?;
    if !arguments.effective {
        if policy.written()?.is_none() {
            return Err(missing(&project.policy_path()));
        }
        values = effective_policy::written(&Ports { project: &policy, user: &user })?;
    }
    let mut out = for_documents();
    let written = match arguments.json {
        true => writeln!(out, "{:#}", shown::document(&values)),
        false => shown::table(&mut out, &values, columns::of_stdout()),
    };
    written.and_then(|()| out.flush()).map_err(unwritten)?;
    Ok(ExitCode::SUCCESS)
}
