//! The verification of `isobox promote --verify`: an attempt of its own, in a Sandbox of its own.

use super::workload::{recorded, session_policy, tell_of_unsafe};
use crate::cli::{Place, VerifyFlags};
use crate::failure::{Failure, FailureKind};
use crate::output::console::Console;
use crate::output::stdout::verification_caller;
use crate::output::{lifecycle, text};
use crate::use_case::attempt::{
    self, Attempted, Patience, Probing, Progress, Retention, TaskRequest, Timekeeping, Uncommitted, Verifies,
};
use crate::use_case::laps::Laps;
use crate::use_case::promote::Verifier;
use crate::wiring::{Project, Store, stopwatch};
use isobox_domain::command::WorkloadCommand;
use isobox_domain::content::ContentId;
use isobox_domain::outcome::Outcome;
use isobox_domain::policy::{ProjectPolicy, WorkspaceChoice};
use isobox_domain::record::{RecordedArgument, SandboxKind, TaskRecord};
use isobox_ports::Exposed;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Runs each of its arguments as a command, until one fails. It names none of them: its output is kept as it is, and a
/// command can hold a secret.
const EACH: &str = "n=0; for command do n=$((n+1)); echo \"verification command $n of $#\" >&2; /bin/sh -c -- \"$command\" || exit; done";

/// How a result is verified.
pub(super) struct Verification<'a> {
    console: Console,
    project: &'a Project,
    store: &'a Store,
    policy: ProjectPolicy,
    exposed: Exposed,
    command: WorkloadCommand,
    /// The same as it may be kept.
    recorded: Vec<RecordedArgument>,
    /// Whether every command of the policy is among them.
    is_of_policy: bool,
    /// What names the store in a further command, each flag after a blank.
    flags: String,
}

impl<'a> Verification<'a> {
    /// What the flags ask for; `None` if that is no verification.
    pub(super) fn of(
        console: Console,
        (flags, place): (&VerifyFlags, &Place),
        project: &'a Project,
        store: &'a Store,
    ) -> Result<Option<Self>, Failure> {
        if !flags.is_asked() {
            return Ok(None);
        }
        if store.is_archive() {
            let message =
                "a result that is in an archive alone cannot be verified: there is no store for the record of it";
            return Err(Failure::new(FailureKind::Usage, message).with_hint(
                "leave --dry-run out, which takes the task into the store of the repository, or import it first",
            ));
        }
        let mut policy = session_policy(console, project, flags.trust)?;
        let is_of_policy = flags.verify || policy.verification.is_empty();
        let command = command(commands(flags, &policy, project)?)?;
        let recorded = recorded(project, &command)?;
        let exposed = project.exposed(&mut policy.sandbox, &[])?;
        tell_of_unsafe(console, &policy.sandbox);
        project.create_workspaces_root()?;
        Ok(Some(Self {
            console,
            project,
            store,
            policy,
            exposed,
            command,
            recorded,
            is_of_policy,
            flags: place.flags(),
        }))
    }
}

impl Verifier for Verification<'_> {
    fn is_of_policy(&self) -> bool {
        self.is_of_policy
    }

    fn verify(&self, result: Verifies<'_>) -> Result<ContentId, Failure> {
        let Self { console, project, store, .. } = *self;
        let laps = Laps::start(stopwatch());
        let request = TaskRequest {
            kind: SandboxKind::Verification,
            command: self.command.clone(),
            recorded_command: self.recorded.clone(),
            policy: self.policy.clone(),
            exposed: self.exposed.clone(),
            retention: Retention::Dispose,
            workspace: WorkspaceChoice::Auto,
            caller_path: std::env::var_os("PATH").map(OsString::into_vec),
            follows: None,
            patience: Patience::Wait,
            uncommitted: Uncommitted::TakenAlong,
            timekeeping: Timekeeping::Forgotten,
            probing: Probing::NotAsked,
            verifies: Some(result),
        };
        let caller = verification_caller()?;
        let tell = |progress: Progress<'_>| lifecycle::progress(console, progress);
        let attempted =
            project.with_attempt_ports(console, store, &laps, |ports| attempt::attempt(ports, &request, caller, &tell));
        let Attempted { record, digest, .. } = attempted.map_err(around)?;
        lifecycle::verified(console, &record);
        store.compact_if_it_pays();
        match record.outcome {
            Outcome::Success => Ok(digest),
            _ => Err(self.unverified(&record)),
        }
    }
}

impl Verification<'_> {
    fn unverified(&self, record: &TaskRecord) -> Failure {
        let (flags, task) = (&self.flags, record.task);
        // What isobox itself could not do says nothing about the result.
        if let Some(failure) = lifecycle::failure(record, flags) {
            return around(failure).while_doing("its verification came to no end; nothing was changed");
        }
        let outcome = text::outcome(record);
        let message = format!("its verification, {task}, did not succeed: {outcome}; nothing was changed");
        Failure::new(FailureKind::PromotionRefused, message).with_hint(format!(
            "`isobox logs{flags} {task}` prints what its commands said, `isobox show{flags} {task}` what they were"
        ))
    }
}

/// A failure around a verification, which says nothing about the result.
fn around(failure: Failure) -> Failure {
    match failure.kind {
        FailureKind::General => Failure { kind: FailureKind::Verification, ..failure },
        _ => failure,
    }
}

/// The commands of the policy, if `--verify` or nothing else asks for them, and those that were typed.
fn commands(flags: &VerifyFlags, policy: &ProjectPolicy, project: &Project) -> Result<Vec<Vec<u8>>, Failure> {
    let typed: Vec<Vec<u8>> = flags.verify_command.iter().map(|command| command.as_bytes().to_vec()).collect();
    if typed.iter().any(|command| command.trim_ascii().is_empty()) {
        return Err(Failure::new(FailureKind::Usage, "a command of --verify-command is empty")
            .with_hint("type one as `sh -c` takes it, for example: --verify-command 'make test'"));
    }
    let of_policy = policy.verification.iter().filter(|_| flags.verify).map(|command| command.clone().into_bytes());
    let commands: Vec<Vec<u8>> = of_policy.chain(typed).collect();
    if commands.is_empty() {
        let message =
            format!("there is nothing to verify with: `verification.commands` is not set in {}", project.policy_path());
        return Err(Failure::new(FailureKind::Usage, message).with_hint(
            "write some there, for example `commands: [make test]` in the section `verification`, and commit it, or pass --verify-command 'make test'",
        ));
    }
    Ok(commands)
}

/// One command for all: a single one as it is.
fn command(mut commands: Vec<Vec<u8>>) -> Result<WorkloadCommand, Failure> {
    // By its path: PATH can name directories of the Workspace, where a result may have a `sh` of its own.
    let mut words: Vec<Vec<u8>> = ["/bin/sh", "-c", "--"].map(|word| word.as_bytes().to_vec()).to_vec();
    if commands.len() > 1 {
        words.extend([EACH.as_bytes().to_vec(), b"sh".to_vec()]);
    }
    words.append(&mut commands);
    WorkloadCommand::parse(words).map_err(|error| Failure::new(FailureKind::Usage, error.to_string()))
}
