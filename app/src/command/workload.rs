//! `isobox run` and `isobox tool`.

use super::telling::telling;
use super::trusted;
use crate::cli::{PolicyFlags, RunArguments, TellingFlags, ToolArguments, TrustFlag, TurnFlags};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::output::console::Console;
use crate::output::effects::weakened;
use crate::output::events::Telling;
use crate::output::{lifecycle, stdout, timings};
use crate::use_case::attempt::{
    self, Patience, Probing, Retention, TaskRequest, Timekeeping, Uncommitted, preflight_of,
};
use crate::use_case::laps::Laps;
use crate::use_case::{effective_policy, recover, settle, weaker};
use crate::wiring::{Project, Store, Variable, absolute, stopwatch};
use isobox_domain::command::WorkloadCommand;
use isobox_domain::escape::Escaped;
use isobox_domain::masking;
use isobox_domain::policy::{
    DependencyCache, ProjectPolicy, ReuseInput, ReuseKind, SandboxPolicy, ToolCalls, ViewLimit, WorkspaceChoice,
    WriteRule,
};
use isobox_domain::promotion::check_head;
use isobox_domain::record::{RecordedArgument, SandboxKind};
use isobox_domain::timings::Phase;
use isobox_ports::PolicySource;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// The room of a record, 1 MiB, but for 64 KiB: paths, names and reasons, which take a few KiB each.
const LONGEST_COMMAND: usize = (1 << 20) - (64 << 10);

/// Serves one tool command of an outside agent. Only the project's policy says what its Sandbox is like.
pub(super) fn tool(console: Console, arguments: ToolArguments) -> Result<ExitCode, Failure> {
    let laps = Laps::start(stopwatch());
    let command = command(arguments.command)?;
    let project = Project::find(&arguments.place)?;
    let mut policy = tool_policy(console, &project, arguments.trust)?;
    policy.sandbox.require.add(&arguments.require.requirements());
    apply_turn(&project, arguments.turn, &mut policy)?;
    let telling = telling(console, &project, &policy, &arguments.telling)?;
    laps.end(Phase::Policy);
    let witness = Witness { console, telling: &telling, laps: &laps };
    let wanted = Wanted {
        kind: SandboxKind::ToolCall,
        command,
        policy,
        given: Vec::new(),
        retention: Retention::Dispose,
        workspace: arguments.workspace.workspace.into(),
        patience: patience(arguments.turn),
        uncommitted: uncommitted(arguments.allow_dirty),
        timekeeping: timekeeping(&arguments.telling),
        probing: probing(arguments.probe),
    };
    execute(witness, &project, wanted)
}

/// Runs an agent session. The command line may change what the policy asks.
pub(super) fn run(console: Console, arguments: RunArguments) -> Result<ExitCode, Failure> {
    let laps = Laps::start(stopwatch());
    let command = command(arguments.command)?;
    let project = Project::find(&arguments.place)?;
    let file = trusted::policy(console, &project, arguments.trust)?;
    let mut policy = file.clone().map_or_else(|| unwritten_policy(&project), Ok)?;
    let unsafe_flags = arguments.policy.unsafe_flags;
    let given = apply(arguments.policy, &mut policy.sandbox)?;
    policy.sandbox.require.add(&arguments.require.requirements());
    policy.tasks = arguments.turn.max_tasks.unwrap_or(policy.tasks);
    effective_policy::require_within(&project.user_policy(), &mut policy)?;
    // Where no file says anything, what is typed is the policy, and weakens none.
    if let Some(file) = &file {
        let weaker = weaker::note(&mut policy, file, &|what| unsafe_flags.allows(what))?;
        weaker.iter().for_each(|effect| console.warning(&weakened(effect)));
    }
    let retention = if arguments.retain_workspace { Retention::Retain } else { Retention::Dispose };
    let telling = telling(console, &project, &policy, &arguments.telling)?;
    if std::io::stdin().is_terminal() && !stdout::is_terminal() {
        console.line("standard output is no terminal, so the session gets none: its standard input is empty");
    }
    laps.end(Phase::Policy);
    let witness = Witness { console, telling: &telling, laps: &laps };
    let wanted = Wanted {
        kind: SandboxKind::Session,
        command,
        policy,
        given,
        retention,
        workspace: arguments.workspace.workspace.into(),
        patience: patience(arguments.turn),
        uncommitted: uncommitted(arguments.allow_dirty),
        timekeeping: timekeeping(&arguments.telling),
        probing: probing(arguments.probe),
    };
    execute(witness, &project, wanted)
}

fn command(arguments: Vec<OsString>) -> Result<WorkloadCommand, Failure> {
    let arguments = arguments.into_iter().map(OsString::into_vec).collect();
    WorkloadCommand::parse(arguments).map_err(|error| {
        Failure::new(FailureKind::Usage, error.to_string())
            .with_hint("type it there, for example: isobox tool -- make test")
    })
}

/// What is recorded of the command. One that leaves no room for the rest of its record is refused before it runs.
pub(super) fn recorded(project: &Project, command: &WorkloadCommand) -> Result<Vec<RecordedArgument>, Failure> {
    let recorded = project.masked(command.arguments())?;
    let length: usize = recorded.iter().map(RecordedArgument::recorded_length).sum();
    if length <= LONGEST_COMMAND {
        return Ok(recorded);
    }
    let why = format!("the command takes {length} bytes, and a record has room for {LONGEST_COMMAND} of it");
    Err(Failure::new(FailureKind::Usage, why)
        .with_hint("put what is long into a file, and give its name to the command"))
}

/// The policy of an agent session: what no file says has its most restrictive value, or what the user's own leaves of it.
pub(super) fn session_policy(console: Console, project: &Project, flag: TrustFlag) -> Result<ProjectPolicy, Failure> {
    trusted::policy(console, project, flag)?.map_or_else(|| unwritten_policy(project), Ok)
}

/// The policy of a session in a project without one.
fn unwritten_policy(project: &Project) -> Result<ProjectPolicy, Failure> {
    let mut policy = ProjectPolicy::default();
    project.user_policy().written()?.unwrap_or_default().narrow(&mut policy);
    Ok(policy)
}

/// The policy of a tool call, which has to allow them.
pub(super) fn tool_policy(console: Console, project: &Project, flag: TrustFlag) -> Result<ProjectPolicy, Failure> {
    let what = preflight_of(SandboxKind::ToolCall);
    let preflight = |why: String| Failure::new(FailureKind::General, what).because(why);
    let path = project.policy_path();
    match trusted::policy(console, project, flag).map_err(|failure| failure.while_doing(what))? {
        None => Err(preflight(format!("there is no project policy at {path}"))
            .with_hint("`isobox init` writes one; commit it, then try again")),
        Some(policy) if policy.tool_calls == ToolCalls::Disabled && is_enabled_by_project(project)? => {
            let path = project.user_policy_path();
            Err(preflight(format!("`tool_call.enabled` is false in your own policy, {path}")).with_hint(
                "set it to true there, or remove it, if agents may use `isobox tool` in the projects that enable it; \
                 `isobox policy show --effective` shows both",
            ))
        }
        Some(policy) if policy.tool_calls == ToolCalls::Disabled => {
            Err(preflight(format!("`tool_call.enabled` is not true in {path}"))
                .with_hint("set it to true there if agents may use `isobox tool` in this project"))
        }
        Some(policy) => Ok(policy),
    }
}

/// Whether the project's own file enables tool calls, whatever the user's own leaves of it.
fn is_enabled_by_project(project: &Project) -> Result<bool, Failure> {
    let written = project.written_policy().written()?;
    Ok(written.is_some_and(|written| written.tool_calls == Some(ToolCalls::Enabled)))
}

/// Changes what is asked for by what was typed; the values of variables that were typed with one.
fn apply(flags: PolicyFlags, asked: &mut SandboxPolicy) -> Result<Vec<Variable>, Failure> {
    if let Some(backend) = flags.backend {
        asked.backend = backend.into();
    }
    if let Some(network) = flags.network {
        asked.network = network.into();
    }
    if let Some(path_mode) = flags.path_mode {
        asked.path_mode = path_mode.into();
    }
    if let Some(exposure) = flags.expose_workspace {
        asked.workspace = exposure.into();
    }
    for path in flags.read {
        asked.read.push(typed(path)?.into_os_string().into_vec());
    }
    for path in flags.write {
        asked.files.write.push(WriteRule::discarding(typed(path)?.into_os_string().into_vec()));
    }
    for path in flags.capture {
        asked.files.write.push(WriteRule::capturing(typed(path)?.into_os_string().into_vec()));
    }
    for (limit, value) in flags.limit {
        asked.limits = asked.limits.with(limit, value);
    }
    for path in flags.unsafe_expose {
        asked.files.unsafe_shown.push(typed(path)?.into_os_string().into_vec());
    }
    asked.files.add(Some(&flags.hide), Some(&flags.protect));
    asked.caches = DependencyCache::in_order(&[&asked.caches[..], &flags.cache].concat());
    let mut given = Vec::new();
    for (kind, value) in flags.reuse_input {
        let value = value.into_string().map_err(|value| {
            let what = format!("the reuse input {}={} is no UTF-8", kind.name(), Escaped(value.as_encoded_bytes()));
            Failure::new(FailureKind::Usage, what)
        })?;
        asked.reuse_inputs.push(ReuseInput { kind, value: named(kind, value, &mut given)?, digest: None });
    }
    Ok(given)
}

/// The value of a Reuse Input as it may be kept. A value that was typed for a variable goes into `given`.
fn named(kind: ReuseKind, value: String, given: &mut Vec<Variable>) -> Result<String, Failure> {
    let is_path = value.contains('/') || !matches!(kind, ReuseKind::HostBinary);
    Ok(match (kind, value.split_once('=')) {
        (ReuseKind::EnvVar, Some((name, value))) => {
            given.push((name.to_owned(), value.as_bytes().to_vec()));
            name.to_owned()
        }
        (ReuseKind::EnvVar, None) => value,
        (ReuseKind::CredentialRef, _) => String::from_utf8_lossy(&masking::mask_text(value.as_bytes())).into_owned(),
        _ if is_path => typed(PathBuf::from(value))?.to_string_lossy().into_owned(),
        _ => value,
    })
}

/// Unlike the policy's, a path that is typed is meant from where the caller stands.
fn typed(path: PathBuf) -> Result<PathBuf, Failure> {
    if path.starts_with("~") { Ok(path) } else { absolute(&path) }
}

/// Lets a flag decide how many Tasks may run, within the user's own policy.
pub(super) fn apply_turn(project: &Project, flags: TurnFlags, policy: &mut ProjectPolicy) -> Result<(), Failure> {
    match flags.max_tasks {
        None => Ok(()),
        Some(limit) => {
            policy.tasks = limit;
            effective_policy::require_within(&project.user_policy(), policy)
        }
    }
}

pub(super) const fn uncommitted(is_allowed: bool) -> Uncommitted {
    if is_allowed { Uncommitted::TakenAlong } else { Uncommitted::LeftOut }
}

pub(super) const fn timekeeping(flags: &TellingFlags) -> Timekeeping {
    if flags.timings { Timekeeping::Recorded } else { Timekeeping::Forgotten }
}

pub(super) const fn probing(is_asked: bool) -> Probing {
    if is_asked { Probing::Asked } else { Probing::NotAsked }
}

pub(super) const fn patience(flags: TurnFlags) -> Patience {
    if flags.no_wait { Patience::Refuse } else { Patience::Wait }
}

/// What the command line asks for.
struct Wanted {
    kind: SandboxKind,
    command: WorkloadCommand,
    policy: ProjectPolicy,
    /// Values of variables that were typed.
    given: Vec<Variable>,
    retention: Retention,
    workspace: WorkspaceChoice,
    patience: Patience,
    uncommitted: Uncommitted,
    timekeeping: Timekeeping,
    probing: Probing,
}

/// Who sees what goes on.
#[derive(Clone, Copy)]
pub(super) struct Witness<'a> {
    pub(super) console: Console,
    pub(super) telling: &'a Telling,
    pub(super) laps: &'a Laps<'a>,
}

fn execute(witness: Witness<'_>, project: &Project, wanted: Wanted) -> Result<ExitCode, Failure> {
    let Wanted { kind, command, mut policy, given, retention, workspace, patience, uncommitted, timekeeping, probing } =
        wanted;
    let refused = |failure: Failure| failure.while_doing(preflight_of(kind));
    let exposed = project.exposed(&mut policy.sandbox, &given).map_err(refused)?;
    tell_of_unsafe(witness.console, &policy.sandbox);
    let store = prepare(witness.console, project, policy.views)?;
    witness.laps.end(Phase::Store);
    let request = TaskRequest {
        kind,
        recorded_command: recorded(project, &command)?,
        command,
        policy,
        exposed,
        retention,
        workspace,
        caller_path: std::env::var_os("PATH").map(OsString::into_vec),
        follows: None,
        patience,
        uncommitted,
        timekeeping,
        probing,
        verifies: None,
    };
    perform(witness, project, &store, &request)
}

/// Tells of what is exposed though it is never exposed otherwise.
pub(super) fn tell_of_unsafe(console: Console, asked: &SandboxPolicy) {
    for path in &asked.files.unsafe_shown {
        console.warning(&format!("UNSAFE: the workload can read {}, because of --unsafe-expose", Escaped(path)));
    }
}

/// The store of a project, and the place for its Workspaces, made if they are not there; what killed starts left is finished.
pub(super) fn prepare(console: Console, project: &Project, views: ViewLimit) -> Result<Store, Failure> {
    let store = project.create_store()?;
    project.create_workspaces_root()?;
    finish_interrupted(console, project, &store, views);
    Ok(store)
}

/// Executes a request with the caller's own streams.
pub(super) fn perform(
    witness: Witness<'_>,
    project: &Project,
    store: &Store,
    request: &TaskRequest<'_>,
) -> Result<ExitCode, Failure> {
    let done = perform_untimed(witness, project, store, request);
    if request.timekeeping == Timekeeping::Recorded {
        witness.console.asked(&timings::table(&witness.laps.timings(), witness.laps.total_us()));
    }
    done
}

fn perform_untimed(
    witness: Witness<'_>,
    project: &Project,
    store: &Store,
    request: &TaskRequest<'_>,
) -> Result<ExitCode, Failure> {
    let Witness { console, telling, laps } = witness;
    let caller = stdout::caller(request.kind)?;
    let tell = |progress: attempt::Progress<'_>| {
        lifecycle::progress(console, progress);
        telling.progress(progress);
    };
    let attempted =
        project.with_attempt_ports(console, store, laps, |ports| attempt::attempt(ports, request, caller, &tell));
    let attempted = attempted.inspect_err(|failure| telling.failed(failure))?;
    // What cannot be looked at now is told by whoever promotes.
    let started_from = &attempted.record.source;
    let obstacle = project.at_head(started_from).ok().and_then(|now| check_head(started_from, &now).err());
    let flags = project.place().flags();
    lifecycle::ended(console, &attempted, obstacle.as_ref(), &flags);
    telling.ended(&attempted.record);
    store.compact_if_it_pays();
    if telling.is_lossy() {
        console.warning("the id file or the file of events is not complete: it could not be written");
    }
    match lifecycle::failure(&attempted.record, &flags) {
        Some(failure) => Err(failure),
        None => Ok(attempted.code),
    }
}

/// Finishes what killed starts left in this store and repository. What cannot be finished is a warning.
pub(super) fn finish_interrupted(console: Console, project: &Project, store: &Store, views: ViewLimit) {
    let tell = |progress: attempt::Progress<'_>| lifecycle::progress(console, progress);
    let workspaces = project.told_workspaces(console);
    recover::recover(&project.recover_ports(store, &workspaces), views, &tell);
    if project.has_unfinished_promotion()
        && let Err(failure) = settle::settle(&project.settle_ports())
    {
        let chain = crate::failure::one_line(&failure);
        console.warning(&format!("an interrupted promotion is not settled yet: {chain}"));
    }
}
