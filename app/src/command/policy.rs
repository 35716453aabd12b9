//! `isobox policy`.

use super::trusted;
use crate::cli::{Place, PolicyCheckArguments, PolicyCommand, PolicyShowArguments, PolicyTrustArguments};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::output::columns;
use crate::output::console::Console;
use crate::output::doctor as findings_shown;
use crate::output::effects::effects;
use crate::output::policy as shown;
use crate::output::stdout::{for_documents, unwritten};
use crate::use_case::doctor;
use crate::use_case::effective_policy;
use crate::wiring::{self, Project};
use isobox_domain::finding::{Severity, worst};
use isobox_domain::policy::TrustedPolicies;
use isobox_ports::{PolicyError, PolicyPins, PolicySource};
use std::io::Write;

/// What is told of a policy that is not trusted.
const UNTRUSTED: &str = "you have not trusted this policy yet: `isobox policy trust` does";

/// Does what `command` says.
pub(super) fn policy(console: Console, command: &PolicyCommand) -> Result<ExitCode, Failure> {
    match command {
        PolicyCommand::Check(arguments) => check(console, arguments),
        PolicyCommand::Schema => super::help::print(wiring::policy_schema()),
        PolicyCommand::Show(arguments) => show(console, arguments),
        PolicyCommand::Trust(arguments) => trust(console, arguments),
        PolicyCommand::Distrust(arguments) => distrust(arguments),
    }
}

/// Reads the project's policy and the user's. Every mistake of the first file that has one is told; of files without one,
/// whether anything starts under them here.
fn check(console: Console, arguments: &PolicyCheckArguments) -> Result<ExitCode, Failure> {
    let project = Project::find(&arguments.place)?;
    let (path, user_path) = (project.policy_path(), project.user_policy_path());
    let (own, user) = (project.written_policy().read(), project.user_policy().read());
    if matches!(own, Ok(None)) {
        return Err(missing(&path));
    }
    let mut files = vec![(path, "project", own)];
    if !matches!(user, Ok(None)) {
        files.push((user_path, "user", user));
    }
    let is_valid = files.iter().all(|(_, _, read)| read.is_ok());
    let findings = match is_valid {
        true => project.with_policy_probes(|probes| doctor::doctor(&doctor::Ports { probes, attack: None })),
        false => Vec::new(),
    };
    let mut out = for_documents();
    let written = match arguments.json {
        true => writeln!(out, "{:#}", shown::checked(&files, &findings)),
        false => {
            let verdict = if worst(&findings) == Severity::Error { "well-formed, but nothing starts" } else { "valid" };
            let valid =
                |(path, _, read): (String, _, Result<_, PolicyError>)| read.map(|_| format!("{path}: {verdict}"));
            let lines: Result<Vec<String>, PolicyError> = files.into_iter().map(valid).collect();
            writeln!(out, "{}", lines?.join("\n"))
                .and_then(|()| findings_shown::remarkable(&mut out, &findings, columns::of_stdout()))
        }
    };
    written.and_then(|()| out.flush()).map_err(unwritten)?;
    if is_valid && !arguments.json && !is_trusted(&project)? {
        console.line(UNTRUSTED);
    }
    Ok(match (is_valid, worst(&findings)) {
        (false, _) => ExitCode::POLICY,
        (true, Severity::Error) => ExitCode::NO,
        (true, _) => ExitCode::SUCCESS,
    })
}

/// Whether the file as it is now is trusted.
fn is_trusted(project: &Project) -> Result<bool, Failure> {
    let written = project.written_policy().read()?;
    let pins = project.policy_pins().load(project.common_dir());
    Ok(written.is_none_or(|file| pins.contains(&file.digest)))
}

fn missing(path: &str) -> Failure {
    Failure::new(FailureKind::General, format!("there is no project policy at {path}"))
        .with_hint("`isobox init` writes one")
}

/// Shows what the project's file says, or what holds of it.
fn show(console: Console, arguments: &PolicyShowArguments) -> Result<ExitCode, Failure> {
    let project = Project::find(&arguments.place)?;
    let (digest, written) = project.written_policy().read()?.map(|file| (file.digest, file.written)).unzip();
    let values = match (arguments.effective, &written) {
        (true, _) => effective_policy::values(&written.unwrap_or_default(), &project.user_policy())?,
        (false, Some(written)) => effective_policy::written(written),
        (false, None) => return Err(missing(&project.policy_path())),
    };
    let pins = project.policy_pins().load(project.common_dir());
    let trust = digest.map(|digest| shown::FileTrust { digest, is_trusted: pins.contains(&digest) });
    let mut out = for_documents();
    let written = match arguments.json {
        true => writeln!(out, "{:#}", shown::document(&values, trust)),
        false => shown::table(&mut out, &values, columns::of_stdout()),
    };
    written.and_then(|()| out.flush()).map_err(unwritten)?;
    if trust.is_some_and(|trust| !trust.is_trusted) {
        console.line(UNTRUSTED);
    }
    Ok(ExitCode::SUCCESS)
}

/// Trusts the project's policy as it is, and shows what that means.
fn trust(console: Console, arguments: &PolicyTrustArguments) -> Result<ExitCode, Failure> {
    let project = project_at(arguments)?;
    let path = project.policy_path();
    let mut told = format!("{path} is trusted already");
    let policy = trusted::load(&project, &mut |untrusted| {
        told = format!("trusted {path}:\n{}", effects(&untrusted.effects).trim_end());
        Ok(())
    })?;
    policy.ok_or_else(|| missing(&path))?;
    let code = super::help::print(&told)?;
    let findings = project.with_policy_probes(|probes| doctor::doctor(&doctor::Ports { probes, attack: None }));
    if worst(&findings) == Severity::Error {
        console.warning("nothing starts under it here: `isobox policy check` says why");
    }
    Ok(code)
}

/// Forgets every policy that is trusted in the project.
fn distrust(arguments: &PolicyTrustArguments) -> Result<ExitCode, Failure> {
    let project = project_at(arguments)?;
    project.policy_pins().keep(project.common_dir(), &TrustedPolicies::default())?;
    super::help::print(&format!("no policy is trusted in {} any more", project.shown_root()))
}

fn project_at(arguments: &PolicyTrustArguments) -> Result<Project, Failure> {
    Project::find(&Place { source: arguments.path.clone(), records: None })
}
