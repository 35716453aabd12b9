//! Recoveries: what a killed isobox left at any moment is finished by the next start, once.

use super::attempts::tried;
use crate::use_case::disposal::{COPIES, Launched, PLACE};
use crate::use_case::fixture::{World, clock, edit};
use isobox_domain::outcome::Outcome;
use isobox_domain::record::{TaskRecord, WorkspaceFate};
use isobox_domain::source::WorkspaceSource;
use isobox_ports::fake::Performance;
use isobox_ports::{
    Attempt, Attempts, Clock, Exposed, PrivateCopies, RecordLog, Role, Workspace, WorkspaceForm, WorkspaceRequest,
    Workspaces,
};
use std::fs;
use std::path::PathBuf;

/// A record of another world, as a draft.
fn draft() -> TaskRecord {
    let world = World::new(|_| Performance::exiting(0));
    tried(&world).expect("an attempt");
    TaskRecord {
        outcome: Outcome::Interruption,
        outcome_detail: None,
        exit: None,
        artifacts: isobox_domain::record::TaskArtifacts::default(),
        ..world.records()[0].clone()
    }
}

fn copy_of(source: &WorkspaceSource) -> WorkspaceRequest<'_> {
    WorkspaceRequest { source, form: WorkspaceForm::Copy }
}

/// An attempt whose Workspace is made.
fn begun(world: &World) -> (TaskRecord, Box<dyn Attempt>, Workspace) {
    let draft = draft();
    let mut attempt = world.store.inner.begin(&draft).expect("begun");
    let place = world.workspaces.reserve(&copy_of(&draft.source)).expect("a place");
    attempt.note(PLACE, &place).expect("noted");
    let workspace = world.workspaces.create(&place, &copy_of(&draft.source)).expect("made");
    (draft, attempt, workspace)
}

fn assert_nothing_is_left(world: &World) {
    assert_eq!(world.standing(), Vec::<std::path::PathBuf>::new());
    assert_eq!(world.unfinished(), 0);
}

#[test]
fn an_attempt_that_was_killed_while_it_ran_becomes_an_interruption_with_what_it_left() {
    let world = World::new(edit);
    let (draft, mut attempt, workspace) = begun(&world);
    let launched = Launched { started_at: clock().now(), mount: workspace.mount.clone() };
    launched.note(&mut *attempt).expect("noted");
    fs::write(workspace.mount.host_path().join("README.md"), "half").expect("write");
    let mut output = attempt.stage(Role::Stdout).expect("staged");
    std::io::Write::write_all(&mut output, b"said").expect("written");
    let mut timeline = attempt.stage(Role::Timeline).expect("staged");
    std::io::Write::write_all(&mut timeline, b"when").expect("written");
    drop((output, timeline, attempt));
    world.recover();
    let record = &world.records()[0];
    assert_eq!(world.content(record.artifacts.timeline.expect("a timeline").id), b"when");
    assert_eq!((record.task, record.outcome), (draft.task, Outcome::Interruption));
    assert_eq!(record.started_at, Some(clock().now()));
    assert_eq!(world.content(record.artifacts.stdout.expect("output").id), b"said");
    assert_eq!(record.artifacts.change_set.expect("changes").summary.modified, 1);
    assert_eq!(record.workspace, WorkspaceFate::Disposed);
    assert_nothing_is_left(&world);
}

#[test]
fn an_attempt_that_was_killed_before_its_workspace_was_whole_leaves_a_record_and_nothing_else() {
    let world = World::new(edit);
    let mut attempt = world.store.inner.begin(&draft()).expect("begun");
    let place = world.workspaces.reserve(&copy_of(&draft().source)).expect("a place");
    attempt.note(PLACE, &place).expect("noted");
    let copies = world.copies.reserve().expect("a place");
    attempt.note(COPIES, &copies).expect("noted");
    world.copies.make(&copies, &mut Exposed::default()).expect("made");
    fs::create_dir(std::path::Path::new(std::str::from_utf8(&place).expect("text"))).expect("half a workspace");
    drop(attempt);
    world.recover();
    let record = &world.records()[0];
    assert_eq!((record.outcome, record.started_at), (Outcome::Interruption, None));
    assert_eq!(record.workspace, WorkspaceFate::NeverCreated);
    assert_eq!(world.copies.made(), Vec::<Vec<u8>>::new());
    assert_nothing_is_left(&world);
}

#[test]
fn a_kill_right_after_the_record_was_published_leaves_one_record_and_no_workspace() {
    let world = World::new(edit);
    let (record, _) = published_and_killed(&world, |_| WorkspaceFate::Disposed);
    world.recover();
    assert_eq!(world.records(), [record]);
    assert_nothing_is_left(&world);
}

#[test]
fn a_kill_right_after_the_record_was_published_leaves_a_kept_workspace_alone() {
    let world = World::new(edit);
    let retained = |root: PathBuf| WorkspaceFate::Retained { host_path: root.into_os_string().into_encoded_bytes() };
    let (record, root) = published_and_killed(&world, retained);
    world.recover();
    assert_eq!((world.records(), world.unfinished()), (vec![record], 0));
    assert!(root.exists());
}

/// What a process leaves that was killed between the publication of its record and the end of its attempt.
fn published_and_killed(world: &World, fate: impl FnOnce(PathBuf) -> WorkspaceFate) -> (TaskRecord, PathBuf) {
    let (draft, attempt, made) = begun(world);
    let host_path = made.mount.host_path().to_owned();
    let record = TaskRecord { workspace: fate(host_path.clone()), ..draft };
    drop(world.store.inner.publish_keeping(attempt, &record).expect("published"));
    (record, host_path)
}

#[test]
fn a_recovery_that_cannot_have_what_it_compares_with_is_told_and_tried_again() {
    let world = World::new(edit);
    let (_, mut attempt, workspace) = begun(&world);
    Launched { started_at: clock().now(), mount: workspace.mount.clone() }.note(&mut *attempt).expect("noted");
    fs::write(workspace.mount.host_path().join("README.md"), "half").expect("write");
    drop(attempt);
    world.break_down("what capture needs");
    for tries in 1..3 {
        world.recover();
        let warning = world.warnings.borrow().last().cloned().expect("a warning");
        assert!(warning.contains("left is not finished yet: capture: the cache is away"), "{warning}");
        assert_eq!((world.records(), world.unfinished()), (vec![], 1), "try {tries}");
        assert!(workspace.mount.host_path().exists());
    }
    world.repair();
    world.recover();
    let record = &world.records()[0];
    assert_eq!(record.artifacts.change_set.expect("changes").summary.modified, 1);
    assert_eq!((record.workspace.clone(), world.records().len()), (WorkspaceFate::Disposed, 1));
    assert_nothing_is_left(&world);
}

#[test]
fn a_recovery_that_cannot_publish_is_told_and_tried_again() {
    let world = World::new(edit);
    drop(world.store.inner.begin(&draft()).expect("begun"));
    world.break_down("publish");
    world.recover();
    assert!(world.warnings.borrow()[0].contains("left is not finished yet"));
    world.repair();
    world.recover();
    assert_eq!(world.records().len(), 1);
    assert_nothing_is_left(&world);
}
