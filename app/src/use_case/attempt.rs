//! Executes one Task Attempt: from a request to a durable record, whatever happens on the way.

mod carry_out;
mod choose;
mod copies;
mod draft;
mod fill;
mod follow_up;
mod lend;
mod probe;
mod publish;
mod streams;
mod supervise;
mod take_along;
mod timeline;
mod turn;

pub(crate) use choose::choose;
pub(crate) use copies::capture as capture_copies;
pub(crate) use follow_up::{FollowUp, Start};
pub(crate) use streams::{Caller, Session};
pub(crate) use supervise::capture;
pub(crate) use take_along::take_in_snapshot;
pub(crate) use turn::Patience;

use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::use_case::laps::Laps;
use carry_out::Begun;
use isobox_domain::change::ChangeSummary;
use isobox_domain::command::WorkloadCommand;
use isobox_domain::content::ContentId;
use isobox_domain::policy::{ProjectPolicy, WorkspaceChoice};
use isobox_domain::record::{RecordedArgument, SandboxKind, TaskRecord};
use isobox_domain::source::WorkspaceSource;
use isobox_domain::timings::Phase;
use isobox_ports::{
    Attempts, ChangeLines, Clock, DependencyCaches, Exposed, ObjectStore, PrivateCopies, Prober, RecordLog,
    RuntimeBackend, Stopwatch, TaskIds, TrustedRepository, Turns, Views, WorkspaceRequest, Workspaces,
};

/// Free bytes that the Task Store must have before a workload is started: enough for a record, its patch and usual output.
const ROOM_BYTES: u64 = 16 << 20;

/// How the failure of a Preflight Rule begins.
pub(crate) const fn preflight_of(kind: SandboxKind) -> &'static str {
    match kind {
        SandboxKind::ToolCall => "isobox tool preflight",
        SandboxKind::Session => "isobox run preflight",
        SandboxKind::Verification => "verification preflight",
    }
}

/// What an attempt touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) repository: &'a dyn TrustedRepository,
    pub(crate) workspaces: &'a dyn Workspaces,
    /// In order of preference.
    pub(crate) backends: &'a [&'a dyn RuntimeBackend],
    pub(crate) attempts: &'a dyn Attempts,
    pub(crate) turns: &'a dyn Turns,
    pub(crate) records: &'a dyn RecordLog,
    pub(crate) objects: &'a dyn ObjectStore,
    pub(crate) views: &'a dyn Views,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) stopwatch: &'a dyn Stopwatch,
    pub(crate) task_ids: &'a dyn TaskIds,
    pub(crate) prober: &'a dyn Prober,
    pub(crate) caches: &'a dyn DependencyCaches,
    pub(crate) copies: &'a dyn PrivateCopies,
    pub(crate) laps: &'a Laps<'a>,
}

/// What is to be attempted.
pub(crate) struct TaskRequest<'a> {
    /// Session, tool call or verification.
    pub(crate) kind: SandboxKind,
    /// What is executed, untouched.
    pub(crate) command: WorkloadCommand,
    /// The same as it may be kept: secrets masked.
    pub(crate) recorded_command: Vec<RecordedArgument>,
    /// The project's policy with what the command line changed of it.
    pub(crate) policy: ProjectPolicy,
    /// What that exposes of the host.
    pub(crate) exposed: Exposed,
    /// What becomes of the Workspace.
    pub(crate) retention: Retention,
    /// What it is made of.
    pub(crate) workspace: WorkspaceChoice,
    /// The caller's own PATH.
    pub(crate) caller_path: Option<Vec<u8>>,
    /// The earlier attempt of the same Task; `None` for a Task of its own.
    pub(crate) follows: Option<FollowUp>,
    /// What to do while as many Tasks run as the policy allows.
    pub(crate) patience: Patience,
    /// What of the source's working tree goes into the Workspace.
    pub(crate) uncommitted: Uncommitted,
    /// Whether the record says where the time went.
    pub(crate) timekeeping: Timekeeping,
    /// Whether its Sandbox is attacked from inside first.
    pub(crate) probing: Probing,
    /// What a verification is of; `None` for all else.
    pub(crate) verifies: Option<Verifies<'a>>,
}

/// What a verification is of: what would be in the trusted repository, or in a commit, after a Promotion.
pub(crate) struct Verifies<'a> {
    /// The record whose result it is.
    pub(crate) record: ContentId,
    /// The repository, with the commit that the lines are against.
    pub(crate) source: WorkspaceSource,
    /// What is different from that commit.
    pub(crate) state: &'a dyn State,
}

/// Files that are not as a commit says.
pub(crate) trait State {
    /// What is different, in lines against the commit.
    fn lines(&self) -> Result<ChangeLines<'_>, Failure>;
    /// Where contents are.
    fn objects(&self) -> &dyn ObjectStore;
}

/// Whether a Sandbox like that of an attempt is attacked from inside before the attempt begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probing {
    /// It is, and the record says what came of that.
    Asked,
    /// It is not.
    NotAsked,
}

/// What becomes of uncommitted changes of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uncommitted {
    /// They are not in the Workspace; a Preflight Rule may refuse them.
    LeftOut,
    /// They are: a Dirty Source Snapshot. Of a verification, what it is of takes their place.
    TakenAlong,
}

/// Whether a record says where the time of its attempt went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timekeeping {
    /// It does.
    Recorded,
    /// It does not.
    Forgotten,
}

/// What becomes of the Workspace after the attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retention {
    /// It is removed.
    Dispose,
    /// It is kept for the user.
    Retain,
}

/// What a caller may want to show while an attempt goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Progress<'a> {
    /// The attempt is on record; nothing was started yet.
    Started(&'a TaskRecord),
    /// What is not committed of the source is in the Workspace.
    TookAlong(&'a TaskRecord, ChangeSummary),
    /// As many Tasks run as may: this one waits.
    Waiting {
        /// How many run.
        running: u64,
    },
    /// Something went less than well, as a sentence.
    Warning(&'a str),
}

/// Receives progress.
pub(crate) type Tell<'a> = &'a dyn Fn(Progress<'_>);

/// A finished attempt.
#[derive(Debug)]
pub(crate) struct Attempted {
    /// Its record, as published.
    pub(crate) record: TaskRecord,
    /// Its digest.
    pub(crate) digest: ContentId,
    /// The exit code to pass on.
    pub(crate) code: ExitCode,
}

/// Executes `request` in a Sandbox and publishes what came of it.
///
/// An error means that no record was published, and says why. Before the workload starts nothing is left behind; after,
/// the attempt and its Workspace stay for a later start to finish.
pub(crate) fn attempt(
    ports: &Ports<'_>,
    request: &TaskRequest<'_>,
    caller: Caller,
    tell: Tell<'_>,
) -> Result<Attempted, Failure> {
    let (backend, mut effective) = choose(ports.backends, &request.policy.sandbox)
        .map_err(|failure| failure.while_doing(preflight_of(request.kind)))?;
    effective.limitations.extend(request.exposed.notes.iter().cloned());
    let form = choose::form(ports, request, backend, &effective)
        .map_err(|failure| failure.while_doing(preflight_of(request.kind)))?;
    let mut effective =
        choose::with_form(effective, &form).map_err(|failure| failure.while_doing(preflight_of(request.kind)))?;
    let cache_form = lend::form(ports, backend, &mut effective);
    let probes = probe::probe(ports, request, backend, &effective)
        .map_err(|failure| failure.while_doing(preflight_of(request.kind)))?;
    ports.laps.end(Phase::Backend);
    let (mut attempt, mut record) = turn::begin(ports, request, &effective, tell)?;
    record.probes = probes;
    let wanted = WorkspaceRequest { source: &record.source.clone(), form };
    let place = match carry_out::reserve(ports.workspaces, &mut *attempt, &wanted) {
        Ok(place) => place,
        Err(failure) => return Err(publish::give_up(attempt, failure)),
    };
    ports.laps.end(Phase::Source);
    let (exposed, _held) = match lend::lend(ports, request, cache_form) {
        Ok(lent) => lent,
        Err(failure) => return Err(publish::take_back(ports, attempt, &place, failure)),
    };
    let begun = Begun {
        ports,
        request,
        exposed: &exposed,
        tell,
        attempt: &mut *attempt,
        record: &mut record,
        place: &place,
        wanted,
    };
    let performed = match carry_out::carry_out(begun, backend, caller) {
        Ok(performed) => performed,
        Err(refused) => return Err(publish::take_back(ports, attempt, &place, refused)),
    };
    publish::publish(ports, request, attempt, record, &place, performed, tell)
}
