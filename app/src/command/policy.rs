//! `isobox policy`.

use super::trusted;
use crate::cli::{
    Place, PolicyCheckArguments, PolicyCommand, PolicyExplainArguments, PolicyPresetsArguments, PolicyShowArguments,
    PolicyTrustArguments, QuestionKind,
};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::output::columns;
use crate::output::console::Console;
use crate::output::doctor as findings_shown;
use crate::output::effects::effects;
use crate::output::explanation;
use crate::output::policy as shown;
use crate::output::policy_origin::Origins;
use crate::output::stdout::{for_documents, unwritten};
use crate::use_case::doctor;
use crate::use_case::effective_policy::{self, PolicyValue};
use crate::use_case::explain::{self as explaining, Host, Question, Surroundings};
use crate::use_case::held_here::held_here;
use crate::wiring::{self, Project};
use isobox_domain::escape::Escaped;
use isobox_domain::finding::{Severity, worst};
use isobox_domain::limit::Limit;
use isobox_domain::policy::{TrustedPolicies, WrittenPolicy};
use isobox_ports::{PolicyError, PolicyFile, PolicyPins, PolicySource};
use std::ffi::OsString;
use std::io::Write;
use std::net::IpAddr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// What is told of a policy that is not trusted.
const UNTRUSTED: &str = "you have not trusted this policy yet: `isobox policy trust` does";

/// Does what `command` says.
pub(super) fn policy(console: Console, command: &PolicyCommand) -> Result<ExitCode, Failure> {
    match command {
        PolicyCommand::Check(arguments) => check(console, arguments),
        PolicyCommand::Schema => super::help::print(wiring::policy_schema()),
        PolicyCommand::Presets(arguments) => presets(arguments),
        PolicyCommand::Show(arguments) => show(console, arguments),
        PolicyCommand::Explain(arguments) => explain(arguments),
        PolicyCommand::Trust(arguments) => trust(console, arguments),
        PolicyCommand::Distrust(arguments) => distrust(arguments),
    }
}

/// Lists the policies that come with isobox, or prints one.
fn presets(arguments: &PolicyPresetsArguments) -> Result<ExitCode, Failure> {
    let presets = wiring::policy_presets();
    let Some(name) = &arguments.name else {
        let lines: Vec<String> =
            presets.iter().map(|preset| format!("{:<15}{}", preset.name, preset.summary())).collect();
        return super::help::print(&lines.join("\n"));
    };
    match presets.iter().find(|preset| preset.name == name) {
        Some(preset) => super::help::print(preset.text),
        None => Err(Failure::new(FailureKind::General, format!("there is no preset `{}`", Escaped(name.as_bytes())))
            .with_hint("`isobox policy presets` lists those that there are")),
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
    let file = project.written_policy().read()?;
    let digest = file.as_ref().map(|file| file.digest);
    let (values, origins) = match (arguments.effective, &file) {
        (true, _) => {
            let (values, origins) = held(&project, file)?;
            (values, arguments.origin.then_some(origins))
        }
        (false, Some(file)) => (effective_policy::written(&file.written), None),
        (false, None) => return Err(missing(&project.policy_path())),
    };
    let pins = project.policy_pins().load(project.common_dir());
    let trust = digest.map(|digest| shown::FileTrust { digest, is_trusted: pins.contains(&digest) });
    let mut out = for_documents();
    let written = match arguments.json {
        true => writeln!(out, "{:#}", shown::document(&values, origins.as_ref(), trust)),
        false => shown::table(&mut out, &values, origins.as_ref(), columns::of_stdout()),
    };
    written.and_then(|()| out.flush()).map_err(unwritten)?;
    if trust.is_some_and(|trust| !trust.is_trusted) {
        console.line(UNTRUSTED);
    }
    Ok(ExitCode::SUCCESS)
}

/// Every value that holds in the project whose file is `file`, and where each comes from.
fn held(project: &Project, file: Option<PolicyFile>) -> Result<(Vec<PolicyValue>, Origins), Failure> {
    let user = project.user_policy().read()?;
    let (written, ceiling) = (written_in(file.as_ref()), written_in(user.as_ref()));
    let mut policy = written.clone().resolved();
    ceiling.narrow(&mut policy);
    let held = project.with_policy_probes(|probes| held_here(probes, &policy.sandbox));
    let (project, user) = ((project.policy_path(), file), (project.user_policy_path(), user));
    Ok((effective_policy::values(&written, &ceiling), Origins { project, user, held }))
}

/// Tells whether something is allowed, and why.
fn explain(arguments: &PolicyExplainArguments) -> Result<ExitCode, Failure> {
    let project = Project::find(&arguments.place)?;
    let question = question(arguments)?;
    let file = project.written_policy().read()?;
    let user = project.user_policy().read()?;
    let mut policy = written_in(file.as_ref()).resolved();
    written_in(user.as_ref()).narrow(&mut policy);
    let shown = explaining::shown_paths(&policy, &|path| project.read_paths(&[path.to_owned()]).ok()?.pop());
    let root = project.root().to_owned();
    let home = std::env::var_os("HOME").map(OsString::into_vec);
    let around = Surroundings { root: root.as_os_str().as_bytes(), shown: &shown, home: home.as_deref() };
    let answer = explaining::explain(&policy, &around, &question);
    let (values, origins) = held(&project, file)?;
    let mut out = for_documents();
    let written = match arguments.json {
        true => writeln!(out, "{:#}", explanation::document(&answer, &values, &origins)),
        false => explanation::text(&mut out, &answer, &values, &origins),
    };
    written.and_then(|()| out.flush()).map_err(unwritten)?;
    Ok(if answer.is_allowed { ExitCode::SUCCESS } else { ExitCode::NO })
}

fn limit(name: &str) -> Result<Limit, Failure> {
    Limit::parse(name).ok_or_else(|| {
        let known = Limit::ALL.map(Limit::name).join(", ");
        Failure::new(FailureKind::Usage, format!("there is no limit called `{name}`"))
            .with_hint(format!("one of: {known}"))
    })
}

fn question(arguments: &PolicyExplainArguments) -> Result<Question, Failure> {
    let name = || arguments.name.to_string_lossy().into_owned();
    Ok(match arguments.kind {
        QuestionKind::Net => Question::Host(host(&name())?),
        QuestionKind::Path => Question::Path(wiring::absolute(arguments.name.as_ref())?.into_os_string().into_vec()),
        QuestionKind::Env => Question::Variable(name()),
        QuestionKind::Limit => Question::Limit(limit(&name())?),
    })
}

/// The host in `HOST:PORT`.
fn host(text: &str) -> Result<Host, Failure> {
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    let parts = text.rsplit_once(':').filter(|(host, port)| !host.is_empty() && is_port(port));
    let (host, _) = parts.ok_or_else(|| {
        Failure::new(FailureKind::Usage, format!("`{}` is not HOST:PORT", Escaped(text.as_bytes())))
            .with_hint("for example: isobox policy explain net crates.io:443")
    })?;
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    let is_loopback = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
    Ok(if is_loopback { Host::Loopback } else { Host::Other })
}

fn written_in(file: Option<&PolicyFile>) -> WrittenPolicy {
    file.map(|file| file.written.clone()).unwrap_or_default()
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
