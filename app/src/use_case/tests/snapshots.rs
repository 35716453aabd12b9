//! Attempts that take along what is not committed, and what may be done with their results.

use super::attempts::{request, tried_with};
use super::promotions::promoted_newest;
use crate::failure::{Failure, FailureKind};
use crate::use_case::attempt::{Attempted, Caller, TaskRequest, Uncommitted};
use crate::use_case::disposal::{Launched, PLACE};
use crate::use_case::fixture::{World, clock, edit, path, source};
use isobox_domain::change::{ChangeLine, ChangeSetRef, Mode};
use isobox_domain::git_oid::GitOid;
use isobox_domain::outcome::Outcome;
use isobox_domain::record::{TaskArtifacts, TaskRecord, WorkspaceFate};
use isobox_domain::source::WorkspaceSource;
use isobox_ports::{Attempts, Clock, ObjectStore, WorkspaceForm, WorkspaceRequest, Workspaces};
use std::io;

/// A world with a changed and a new file that are not committed.
fn dirty() -> World {
    let world = World::new(edit);
    let file = |content: &[u8]| (Mode::File, content.to_vec());
    let readme = (path("README.md"), file(b"hello\nnot committed\n"));
    world.edit_source([readme, (path("new"), file(b"new\n"))].into());
    world
}

fn take_along(world: &World) -> Result<Attempted, Failure> {
    let request = TaskRequest { uncommitted: Uncommitted::TakenAlong, ..request() };
    let caller = Caller { stdin: None, stdout: Box::new(io::sink()), stderr: Box::new(io::sink()), terminal: None };
    tried_with(world, &request, caller)
}

fn paths(world: &World, set: Option<ChangeSetRef>) -> Vec<String> {
    let set = set.expect("a change set");
    let lines = world.store.inner.changes(&set).expect("it is there");
    let path = |line| match line {
        Ok(ChangeLine::Change(change)) => change.path.to_string(),
        other => panic!("{other:?}"),
    };
    lines.map(path).collect()
}

#[test]
fn a_record_tells_what_was_taken_along_from_what_the_workload_did() {
    let world = dirty();
    let record = take_along(&world).expect("an attempt").record;
    assert_eq!(record.outcome, Outcome::Success);
    assert_eq!(paths(&world, record.artifacts.source_snapshot), ["README.md", "new"]);
    assert_eq!(paths(&world, record.artifacts.change_set), ["README.md"]);
    assert_eq!(world.standing(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn without_the_choice_the_source_has_to_be_clean() {
    let world = dirty();
    let caller = Caller { stdin: None, stdout: Box::new(io::sink()), stderr: Box::new(io::sink()), terminal: None };
    let refused = tried_with(&world, &request(), caller).expect_err("a refusal");
    assert!(refused.hint.as_deref().is_some_and(|hint| hint.contains("--allow-dirty")), "{refused:?}");
    assert_eq!(world.records(), []);
}

#[test]
fn nothing_is_started_where_it_cannot_be_taken_along_or_kept() {
    for operation in ["add_snapshot", "snapshot"] {
        let world = dirty();
        world.break_down(operation);
        let record = take_along(&world).expect("an attempt").record;
        assert_eq!((record.outcome, record.started_at), (Outcome::PreparationFailure, None), "{operation}");
        assert_eq!(record.artifacts.source_snapshot, None);
        assert_eq!((world.standing().len(), world.unfinished()), (0, 0));
    }
}

#[test]
fn what_no_snapshot_can_hold_is_refused_before_anybody_is_told_of_a_task() {
    let world = dirty();
    world.break_down("unfit for a snapshot");
    let refused = take_along(&world).expect_err("a refusal");
    assert_eq!(refused.chain(), ["isobox tool preflight", "a path is unfit"]);
    assert!(!world.told_of_start.get());
    assert_eq!((world.records(), world.standing().len(), world.unfinished()), (vec![], 0, 0));
    world.repair();
    take_along(&world).expect("an attempt");
    assert!(world.told_of_start.get());
}

#[test]
fn a_result_goes_onto_the_very_state_that_it_started_from_and_no_other() {
    let world = dirty();
    take_along(&world).expect("an attempt");
    let new = path("new");
    for other in [Some((Mode::File, b"other\n".to_vec())), Some((Mode::Executable, b"new\n".to_vec())), None] {
        world.repository.edit(&new, other);
        let before = world.repository.files();
        let failure = promoted_newest(&world).expect_err("a refusal");
        assert_eq!(failure.kind, FailureKind::PromotionRefused);
        let chain = failure.chain();
        assert!(chain.iter().any(|message| message.ends_with("the task started from: 1 path")), "{chain:?}");
        assert_eq!(chain.last().map(String::as_str), Some("new"));
        assert_eq!(world.repository.files(), before);
    }
    world.repository.edit(&new, Some((Mode::File, b"new\n".to_vec())));
    promoted_newest(&world).expect("a promotion");
    let expected = (Mode::File, b"hello\nchange\n".to_vec());
    assert_eq!(world.repository.files().get(&path("README.md")), Some(&expected));
    assert_eq!(world.repository.files().get(&new), Some(&(Mode::File, b"new\n".to_vec())));
}

#[test]
fn what_has_no_such_state_at_all_is_refused_as_any_other() {
    type Change = fn(&World);
    let moved: Change = |world| world.repository.move_head(source(2));
    let elsewhere: Change = |world| {
        world.repository.move_head(WorkspaceSource { root_commit: Some(GitOid::Sha1([8; 20])), ..source(2) });
    };
    let unfit: Change = |world| world.repository.edit(&path("nested"), Some((Mode::Submodule, Vec::new())));
    let cases = [
        (moved, "trusted repository /home/ana/app is at 02020202, but the task started from 01010101"),
        (elsewhere, "/home/ana/app is not the repository that the task started from, /home/ana/app"),
        (unfit, "nested cannot be part of a snapshot: it is a repository of its own"),
    ];
    for (change, expected) in cases {
        let world = dirty();
        take_along(&world).expect("an attempt");
        change(&world);
        let failure = promoted_newest(&world).expect_err("a refusal");
        assert_eq!(failure.kind, FailureKind::PromotionRefused);
        assert_eq!(failure.chain().last().map(String::as_str), Some(expected));
    }
}

/// What a killed isobox leaves whose workload ran in a Workspace with a snapshot.
fn killed(world: &World) {
    let done = take_along(&dirty()).expect("an attempt").record;
    let (outcome, artifacts) = (Outcome::Interruption, TaskArtifacts::default());
    let draft = TaskRecord { outcome, artifacts, exit: None, ..done };
    let mut attempt = world.store.inner.begin(&draft).expect("begun");
    let wanted = WorkspaceRequest { source: &draft.source, form: WorkspaceForm::Copy };
    let place = world.workspaces.reserve(&wanted).expect("a place");
    attempt.note(PLACE, &place).expect("noted");
    let workspace = world.workspaces.create(&place, &wanted).expect("a workspace");
    world.workspaces.add_snapshot(&place, &wanted).expect("a snapshot");
    std::fs::write(workspace.mount.host_path().join("by-the-workload"), "x").expect("written");
    let launched = Launched { started_at: clock().now(), mount: workspace.mount };
    launched.note(&mut *attempt).expect("noted");
}

#[test]
fn what_a_killed_attempt_took_along_is_recovered_before_its_result() {
    let world = dirty();
    killed(&world);
    world.recover();
    let record = &world.records()[0];
    assert_eq!(paths(&world, record.artifacts.source_snapshot), ["README.md", "new"]);
    assert_eq!(paths(&world, record.artifacts.change_set), ["by-the-workload"]);
    assert_eq!((world.standing().len(), world.unfinished()), (0, 0));
}

#[test]
fn without_its_snapshot_no_result_is_recorded_and_the_workspace_stays() {
    let world = dirty();
    killed(&world);
    world.break_down("snapshot");
    world.recover();
    let record = &world.records()[0];
    assert_eq!((record.artifacts.source_snapshot, record.artifacts.change_set), (None, None));
    assert!(matches!(record.workspace, WorkspaceFate::Retained { .. }), "{:?}", record.workspace);
}
