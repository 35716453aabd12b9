//! Attempts: every ending leaves a record that says so, and nothing else.

use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::use_case::attempt::{
    Attempted, Caller, Patience, Probing, Progress, Retention, TaskRequest, Timekeeping, Uncommitted, attempt,
};
use crate::use_case::fixture::{World, clock, edit, path};
use crate::use_case::recover::RECOVERY;
use isobox_domain::change::Mode;
use isobox_domain::command::WorkloadCommand;
use isobox_domain::enforcement::Control;
use isobox_domain::import::draft_of;
use isobox_domain::outcome::{Exit, Outcome};
use isobox_domain::policy::{ProjectPolicy, TaskLimit, WorkspaceChoice, WorkspaceKind};
use isobox_domain::probe::ProbeOutcome;
use isobox_domain::record::{OutputLoss, RecordedArgument, SandboxKind, WorkspaceFate};
use isobox_domain::timeline::{Entry, Next, OutputStream, decode_header};
use isobox_ports::fake::{Line, Performance, Scene};
use isobox_ports::{Access, Attempts, Content, EndCause, Exposed, Place, Shown, Turns};
use std::cell::RefCell;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// What a caller received.
#[derive(Clone, Default)]
struct Received(Arc<Mutex<Vec<u8>>>);

impl Write for Received {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A caller whose end of a stream fails.
struct Failing(io::ErrorKind);

impl Write for Failing {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) fn request() -> TaskRequest<'static> {
    TaskRequest {
        kind: SandboxKind::ToolCall,
        command: WorkloadCommand::parse(vec![b"make".to_vec()]).expect("a command"),
        recorded_command: vec![RecordedArgument { shown: b"make".to_vec(), masked_digest: None }],
        policy: ProjectPolicy::default(),
        exposed: Exposed::default(),
        retention: Retention::Dispose,
        workspace: WorkspaceChoice::Auto,
        caller_path: None,
        follows: None,
        patience: Patience::Wait,
        uncommitted: Uncommitted::LeftOut,
        timekeeping: Timekeeping::Forgotten,
        probing: Probing::NotAsked,
        verifies: None,
    }
}

fn caller(stdout: impl Write + 'static) -> Caller {
    Caller { stdin: None, stdout: Box::new(stdout), stderr: Box::new(io::sink()), terminal: None }
}

pub(super) fn tried(world: &World) -> Result<Attempted, Failure> {
    tried_with(world, &request(), caller(io::sink()))
}

pub(super) fn tried_with(world: &World, request: &TaskRequest<'_>, caller: Caller) -> Result<Attempted, Failure> {
    world.with_ports(|ports| attempt(ports, request, caller, &|progress| world.hear(progress)))
}

/// A request with something of the host that the workload may change.
fn writing_request() -> TaskRequest<'static> {
    let home = PathBuf::from("/home/ana/state");
    let shown = Shown { source: home.clone(), places: vec![Place::At(home)], access: Access::ReadWrite };
    TaskRequest { exposed: Exposed { shown: vec![shown], ..Exposed::default() }, ..request() }
}

#[test]
fn private_copies_are_made_for_what_is_started_alone_and_go_with_it() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let world = {
        let seen = Arc::clone(&seen);
        World::new(move |_| {
            seen.lock().expect("no panic").push(());
            Performance::exiting(0)
        })
    };
    world.repository.edit(&path("left.txt"), Some((Mode::File, Vec::new())));
    tried_with(&world, &writing_request(), caller(io::sink())).expect_err("a refusal");
    assert_eq!(world.copies.reserved(), 0);
    world.repository.edit(&path("left.txt"), None);
    tried_with(&world, &writing_request(), caller(io::sink())).expect("an attempt");
    assert_eq!(
        (world.copies.reserved(), world.copies.made(), seen.lock().expect("no panic").len()),
        (1, Vec::new(), 1)
    );
    assert_nothing_is_left(&world);
}

fn assert_nothing_is_left(world: &World) {
    assert_eq!(world.standing(), Vec::<std::path::PathBuf>::new());
    assert_eq!(world.unfinished(), 0);
}

#[test]
fn a_success_is_recorded_with_its_output_and_changes_and_leaves_no_workspace() {
    let world = World::new(edit);
    let received = Received::default();
    let attempted = tried_with(&world, &request(), caller(received.clone())).expect("an attempt");
    assert_eq!(attempted.code, ExitCode::SUCCESS);
    assert_eq!(*received.0.lock().expect("no panic"), b"said\n");
    let record = &world.records()[0];
    assert_eq!(*record, attempted.record);
    assert_eq!((record.outcome, record.exit), (Outcome::Success, Some(Exit::Code(0))));
    assert_eq!(world.content(record.artifacts.stdout.expect("output").id), b"said\n");
    assert_eq!(record.artifacts.change_set.expect("changes").summary.modified, 1);
    assert_eq!(record.workspace, WorkspaceFate::Disposed);
    assert_eq!(world.store.inner.views().len(), 2);
    assert_nothing_is_left(&world);
}

#[test]
fn codes_signals_and_commands_that_cannot_start_are_told_apart() {
    for (cause, code, outcome, exit) in [
        (EndCause::Exited(Exit::Code(3)), 3, Outcome::WorkloadCommandExit, Some(Exit::Code(3))),
        (EndCause::Exited(Exit::Signal(9)), 137, Outcome::WorkloadCommandExit, Some(Exit::Signal(9))),
        (EndCause::NotExecutable("why".into()), 126, Outcome::LaunchFailure, None),
        (EndCause::NotFound("why".into()), 127, Outcome::LaunchFailure, None),
        (EndCause::Interrupted { signal: 15 }, 143, Outcome::Interruption, None),
    ] {
        let played = cause.clone();
        let world = World::new(move |_| Performance { cause: played.clone(), ..Performance::exiting(0) });
        let attempted = tried(&world).expect("an attempt");
        let record = &world.records()[0];
        assert_eq!((attempted.code, record.outcome, record.exit), (ExitCode(code), outcome, exit), "{cause:?}");
        assert_nothing_is_left(&world);
    }
}

#[test]
fn a_dirty_source_is_refused_before_anything_is_made() {
    let world = World::new(edit);
    world.repository.edit(&path("new"), Some((Mode::File, Vec::new())));
    let failure = tried(&world).expect_err("a refusal");
    assert_eq!(failure.chain()[0], "isobox tool preflight");
    assert_eq!(failure.chain()[2], "untracked: new");
    assert_eq!(world.records(), []);
    assert_nothing_is_left(&world);
}

#[test]
fn an_unwritable_store_is_found_before_the_workload_runs() {
    for operation in ["probe", "begin"] {
        let world = World::new(|_| panic!("the workload must not run"));
        world.break_down(operation);
        assert_eq!(tried(&world).expect_err("a refusal").kind, crate::failure::FailureKind::Store);
        assert_nothing_is_left(&world);
    }
}

#[test]
fn a_workspace_or_sandbox_that_does_not_come_up_is_a_preparation_failure_on_record() {
    let [not_laid_out, unmade] = ["lay_out", "create"].map(|operation| {
        let world = World::new(edit);
        world.break_down(operation);
        world
    });
    for (world, why, fate) in [
        (not_laid_out, "lay_out: no space left", WorkspaceFate::NeverCreated),
        (unmade, "create: no space left", WorkspaceFate::NeverCreated),
        (World::refusing("no namespaces"), "start a sandbox with `bubblewrap`: no namespaces", WorkspaceFate::Disposed),
    ] {
        let attempted = tried(&world).expect("a record");
        assert_eq!(attempted.code, ExitCode::ISOBOX_FAILED);
        let record = &world.records()[0];
        assert_eq!((record.outcome, record.started_at), (Outcome::PreparationFailure, None));
        assert_eq!(record.outcome_detail.as_deref(), Some(why));
        assert_eq!(record.workspace, fate);
        assert!(world.told_of_start.get(), "{why}");
        assert_nothing_is_left(&world);
    }
}

#[test]
fn a_workspace_that_cannot_be_laid_out_for_a_task_that_is_refused_leaves_nothing_and_nobody_is_told() {
    let world = World::new(|_| panic!("the workload must not run"));
    world.break_down("lay_out");
    world.break_down("probe");
    tried(&world).expect_err("a refusal");
    assert_eq!((world.records(), world.told_of_start.get()), (vec![], false));
    assert_nothing_is_left(&world);
}

#[test]
fn a_kind_of_workspace_that_was_named_is_had_or_nothing_is_started() {
    let (overlay, copy) = (WorkspaceChoice::Named(WorkspaceKind::Overlay), WorkspaceChoice::Named(WorkspaceKind::Copy));
    for workspace in [copy, WorkspaceChoice::Auto] {
        let attempted = tried_with(&World::mounting(edit), &TaskRequest { workspace, ..request() }, caller(io::sink()));
        assert_eq!(attempted.expect("an attempt").code, ExitCode::SUCCESS, "{workspace:?}");
    }
    // What an overlay could lie on cannot be had in this world.
    let world = World::mounting(|_| panic!("the workload must not run"));
    let named = TaskRequest { workspace: overlay, ..request() };
    let refused = tried_with(&world, &named, caller(io::sink())).expect_err("a refusal");
    let why = "the workspace cannot be an overlay here: these are directories alone";
    assert_eq!(refused.chain().last().map(String::as_str), Some(why));
    assert!(refused.hint.expect("a hint").contains("--workspace copy"));
    assert_eq!((world.records(), world.told_of_start.get()), (vec![], false));
    assert_nothing_is_left(&world);
}

#[test]
fn a_record_says_whether_the_files_of_a_copy_share_blocks_with_others() {
    let kinds = [(World::new(edit), WorkspaceKind::Copy), (World::new(edit).sharing_blocks(), WorkspaceKind::Reflink)];
    for (world, kind) in kinds {
        tried(&world).expect("an attempt");
        let [record] = &world.records()[..] else { panic!("one record") };
        assert_eq!(record.policy.workspace, Some(kind));
    }
}

#[test]
fn a_reader_that_goes_away_closes_the_workloads_stream_and_is_no_loss() {
    let world = World::new(edit);
    let attempted = tried_with(&world, &request(), caller(Failing(io::ErrorKind::BrokenPipe))).expect("an attempt");
    assert_eq!(world.records()[0].output_loss, OutputLoss::None);
    assert_eq!(attempted.code, ExitCode::SUCCESS);
    assert_eq!(*world.warnings.borrow(), Vec::<String>::new());
}

#[test]
fn a_caller_that_cannot_take_output_is_told_by_125_unless_the_workload_failed_by_itself() {
    for (code, passed_on) in [(0, 125), (3, 3)] {
        let play = move |_: &Scene| Performance {
            lines: vec![Line::Stdout(b"said\n".to_vec())],
            ..Performance::exiting(code)
        };
        let world = World::new(play);
        let full = caller(Failing(io::ErrorKind::StorageFull));
        let attempted = tried_with(&world, &request(), full).expect("an attempt");
        assert_eq!(attempted.code, ExitCode(passed_on));
        let record = &world.records()[0];
        assert_eq!(world.content(record.artifacts.stdout.expect("output").id), b"said\n");
        assert!(world.warnings.borrow()[0].starts_with("not all output could be passed on: "));
    }
}

#[test]
fn a_store_that_fills_while_the_workload_runs_costs_output_but_not_the_record() {
    let world = World::new(edit);
    world.break_down("write");
    let received = Received::default();
    let attempted = tried_with(&world, &request(), caller(received.clone())).expect("an attempt");
    assert_eq!(attempted.code, ExitCode::SUCCESS);
    assert_eq!(*received.0.lock().expect("no panic"), b"said\n");
    let record = &world.records()[0];
    assert_eq!(record.output_loss, OutputLoss::StoreFailed { dropped_bytes: 5 });
    assert_eq!(record.artifacts.stdout, None);
    assert!(record.warnings[0].starts_with("5 bytes of output were passed on but not kept"));
}

#[test]
fn a_record_says_in_which_order_output_came_and_when() {
    let lines = [Line::Stdout(b"one".to_vec()), Line::Stderr(b"two!".to_vec()), Line::Stdout(b"three".to_vec())];
    let world = World::new(move |_| Performance { lines: lines.to_vec(), ..Performance::exiting(0) });
    tried(&world).expect("an attempt");
    let record = &world.records()[0];
    let timeline = world.content(record.artifacts.timeline.expect("a timeline").id);
    let (header, entries) = timeline.split_first_chunk().expect("a header");
    assert_eq!(decode_header(*header), Some(clock().0));
    let entries: Vec<_> = entries.as_chunks().0.iter().filter_map(|bytes| Entry::decode(*bytes)).collect();
    // A millisecond passes between two looks at the stopwatch.
    let entry = |after_ms, length, next| Entry { after_ms, length, next };
    let expected = [
        entry(1, 0, Next::Run(OutputStream::Stdout)),
        entry(1, 3, Next::Run(OutputStream::Stderr)),
        entry(1, 4, Next::Run(OutputStream::Stdout)),
        entry(0, 5, Next::Nothing),
    ];
    assert_eq!(entries, expected);
}

#[test]
fn a_store_that_cannot_take_a_timeline_costs_no_output() {
    let world = World::new(edit);
    world.break_down("write a timeline");
    tried(&world).expect("an attempt");
    let record = &world.records()[0];
    assert_eq!((record.artifacts.timeline, record.output_loss), (None, OutputLoss::None));
    assert_eq!(world.content(record.artifacts.stdout.expect("output").id), b"said\n");
    assert!(record.warnings[0].starts_with("when all of the output came was not kept"), "{:?}", record.warnings);
}

#[test]
fn a_record_that_cannot_be_published_leaves_everything_for_a_later_start() {
    let world = World::new(edit);
    world.break_down("publish");
    let failure = tried(&world).expect_err("a failure");
    assert!(failure.message.contains("the workspace was kept at "), "{failure}");
    assert_eq!((world.standing().len(), world.unfinished()), (1, 1));
    world.repair();
    world.recover();
    let record = &world.records()[0];
    assert_eq!(record.outcome, Outcome::Interruption);
    assert_eq!(world.content(record.artifacts.stdout.expect("output").id), b"said\n");
    assert_eq!(record.artifacts.change_set.expect("changes").summary.modified, 1);
    assert_nothing_is_left(&world);
}

#[test]
fn a_workspace_that_cannot_be_removed_is_told_and_removed_by_the_next_start() {
    let world = World::new(edit);
    world.break_down("dispose");
    let attempted = tried(&world).expect("an attempt");
    assert_eq!(attempted.code, ExitCode::SUCCESS);
    assert!(world.warnings.borrow()[0].starts_with("the workspace was not removed, a later start tries again"));
    assert_eq!(world.standing().len(), 1);
    world.repair();
    world.recover();
    assert_eq!(world.records().len(), 1);
    assert_nothing_is_left(&world);
}

#[test]
fn a_result_that_cannot_be_captured_keeps_its_workspace_and_its_output() {
    let world = World::new(edit);
    world.break_down("capture");
    let attempted = tried(&world).expect("an attempt");
    assert_eq!(attempted.code, ExitCode::ISOBOX_FAILED);
    let record = &world.records()[0];
    assert_eq!(record.outcome, Outcome::ResultCaptureFailure);
    assert_eq!(world.content(record.artifacts.stdout.expect("output").id), b"said\n");
    let WorkspaceFate::Retained { host_path } = &record.workspace else { panic!("{:?}", record.workspace) };
    let kept = std::path::Path::new(std::str::from_utf8(host_path).expect("text")).join("README.md");
    assert_eq!(std::fs::read_to_string(kept).expect("kept"), "hello\nchange\n");
    assert_eq!(world.unfinished(), 0);
}

#[test]
fn a_retained_workspace_stays_and_is_on_record() {
    let world = World::new(edit);
    let request = TaskRequest { retention: Retention::Retain, ..request() };
    tried_with(&world, &request, caller(io::sink())).expect("an attempt");
    assert!(matches!(world.records()[0].workspace, WorkspaceFate::Retained { .. }));
    assert_eq!((world.standing().len(), world.unfinished()), (1, 0));
}

#[test]
fn standard_input_reaches_the_workload_and_leaves_its_length_and_digest() {
    let world = World::new(|scene| Performance::printing(scene.stdin.clone()));
    let stdin: Content = Box::new(&b"typed"[..]);
    let caller = Caller { stdin: Some(stdin), ..caller(io::sink()) };
    tried_with(&world, &request(), caller).expect("an attempt");
    let record = &world.records()[0];
    assert_eq!(record.stdin, record.artifacts.stdout);
    assert_eq!(record.stdin.expect("an input").length, 5);
}

#[test]
fn a_caller_in_a_directory_that_was_not_committed_is_told() {
    let world = World::new(|_| panic!("the workload must not run"));
    let mut source = crate::use_case::fixture::source(1);
    source.working_directory = Some(path("build"));
    world.repository.move_head(source);
    assert_eq!(tried(&world).expect("a record").code, ExitCode::ISOBOX_FAILED);
    let detail = world.records()[0].outcome_detail.clone().expect("a reason");
    assert!(detail.starts_with("the current directory, build, is not part of commit 01010101"), "{detail}");
    assert_nothing_is_left(&world);
}

fn limited(patience: Patience) -> TaskRequest<'static> {
    let tasks = TaskLimit::parse("1").expect("a limit");
    TaskRequest { policy: ProjectPolicy { tasks, ..ProjectPolicy::default() }, patience, ..request() }
}

#[test]
fn one_that_has_only_just_come_lets_those_go_first_who_wait_unless_it_would_not_wait() {
    let world = World::new(edit);
    let head = RefCell::new(Some(world.store.inner.queue().expect("the head of the queue")));
    let quick = tried_with(&world, &limited(Patience::Refuse), caller(io::sink())).expect("there is room");
    assert_eq!(quick.code, ExitCode::SUCCESS);
    let waited = RefCell::new(Vec::new());
    let tell = |progress: Progress<'_>| {
        if let Progress::Waiting { running } = progress {
            waited.borrow_mut().push(running);
            head.borrow_mut().take();
        }
    };
    let polite = limited(Patience::Wait);
    let polite = world.with_ports(|ports| attempt(ports, &polite, caller(io::sink()), &tell)).expect("an attempt");
    assert_eq!((polite.code, waited.into_inner()), (ExitCode::SUCCESS, vec![0]));
}

#[test]
fn neither_an_import_nor_the_recording_of_a_killed_task_takes_the_place_of_one() {
    let world = World::new(edit);
    let done = tried(&world).expect("an attempt").record;
    let import = world.store.inner.begin(&draft_of(&done)).expect("an import");
    let mut recorded = world.store.inner.begin(&done).expect("an attempt");
    recorded.note(RECOVERY, b"").expect("a note");
    let beside = tried_with(&world, &limited(Patience::Refuse), caller(io::sink())).expect("there is room");
    assert_eq!(beside.code, ExitCode::SUCCESS);
    drop((import, recorded));
    let _running = world.store.inner.begin(&done).expect("an attempt");
    let refused = tried_with(&world, &limited(Patience::Refuse), caller(io::sink())).expect_err("a refusal");
    assert_eq!(refused.to_string(), "1 task runs in this task store, and `tasks.max` is 1; nothing was started");
}

#[test]
fn a_record_says_where_the_time_went_up_to_its_publication_if_that_was_asked_for() {
    let world = World::new(edit);
    let asked = TaskRequest { timekeeping: Timekeeping::Recorded, ..request() };
    let asked = tried_with(&world, &asked, caller(io::sink())).expect("an attempt").record;
    let [(name, timings)] = &asked.extensions[..] else { panic!("{:?}", asked.extensions) };
    let timings = (name.as_str(), String::from_utf8_lossy(timings).into_owned());
    let expected = "backend 1000\nsource 1000\nlay_out 1000\nlaunch 2000\npreflight 1000\nworkspace 1000\nworkload 1000\ncapture 1000\n";
    assert_eq!(timings, ("timings", expected.to_owned()));
    assert_eq!(world.records()[0].extensions, asked.extensions);
    assert_eq!(tried(&world).expect("an attempt").record.extensions, []);
}

#[test]
fn what_was_tried_from_inside_is_on_record() {
    let world = World::new(|_| Performance::exiting(0));
    let attempted = tried_with(&world, &TaskRequest { probing: Probing::Asked, ..request() }, caller(io::sink()));
    let probes = attempted.expect("an attempt").record.probes;
    assert!(probes.iter().all(|result| matches!(result.outcome, ProbeOutcome::Held(_))), "{probes:?}");
    assert_eq!(world.records()[0].probes, probes);
    assert!(!probes.is_empty());
    assert_eq!(tried(&world).expect("an attempt").record.probes, Vec::new());
}

#[test]
fn an_attack_that_gets_through_an_enforced_control_refuses_the_attempt() {
    let world = World::new(|_| panic!("nothing may be started")).attacked_through(Control::Network);
    let request = TaskRequest { probing: Probing::Asked, ..request() };
    let failure = tried_with(&world, &request, caller(io::sink())).expect_err("a refusal");
    let told = crate::failure::one_line(&failure);
    assert!(told.contains("network is called enforced") && told.contains("nothing was started"), "{told}");
    assert_eq!(world.records().len(), 0);
    assert_nothing_is_left(&world);
}
