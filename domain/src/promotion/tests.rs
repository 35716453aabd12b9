//! Tests of the rules.

use super::*;
use crate::change::ChangeSummary;
use crate::outcome::Outcome;
use crate::policy::{BackendName, EffectivePolicy, SandboxPolicy};
use crate::record::{OutputLoss, SandboxKind, TaskArtifacts, WorkspaceFate};
use crate::source::{DirtyEntry, DirtyState};

const ID: ContentId = ContentId::new([9; 32]);
const COMMIT: GitOid = GitOid::Sha1([5; 20]);

fn source() -> WorkspaceSource {
    WorkspaceSource {
        host_path: b"/home/ana/app".to_vec(),
        root_commit: Some(GitOid::Sha1([1; 20])),
        commit: COMMIT,
        branch: Some(b"refs/heads/main".to_vec()),
        working_directory: None,
    }
}

fn at() -> Timestamp {
    Timestamp::nearest(0)
}

pub(crate) fn record() -> TaskRecord {
    let summary = ChangeSummary { added: 2, ..Default::default() };
    let change_set = ChangeSetRef { id: ContentId::new([3; 32]), length: 40, summary };
    TaskRecord {
        task: TaskId::new([7; 8]),
        attempt: 1,
        kind: SandboxKind::ToolCall,
        created_at: at(),
        started_at: None,
        ended_at: at(),
        command: Vec::new(),
        source: source(),
        policy: EffectivePolicy {
            backend: BackendName::Bubblewrap,
            asked: SandboxPolicy::default(),
            controls: Vec::new(),
            limitations: Vec::new(),
            workspace: None,
            exposures: Vec::new(),
            why_this_backend: None,
            limits: Vec::new(),
        },
        outcome: Outcome::Success,
        outcome_detail: None,
        exit: None,
        usage: Default::default(),
        stdin: None,
        terminal: None,
        artifacts: TaskArtifacts { change_set: Some(change_set), ..Default::default() },
        output_loss: OutputLoss::None,
        workspace: WorkspaceFate::Disposed,
        warnings: Vec::new(),
        tools: Vec::new(),
        salt: [0; 16],
        parents: Vec::new(),
        probes: Vec::new(),
        exceeded: Vec::new(),
        extensions: Vec::new(),
    }
}

fn target() -> TargetFacts {
    TargetFacts { source: source(), cleanliness: Cleanliness::Clean, expected: None }
}

fn wish() -> Wish {
    Wish {
        repetition: Repetition::Refused,
        selection: Selection::default(),
        way: Way::WorkingTree,
        meeting: Meeting::Exact,
    }
}

fn plan(record: &TaskRecord, target: &TargetFacts) -> Result<PromotionPlan, PromotionRefusal> {
    PromotionPlan::make(&Candidate { record, id: ID, events: &[] }, target, &wish())
}

/// That this plan was performed, as the first event about the record.
fn performed(plan: &PromotionPlan, extent: Extent, made: Option<GitOid>) -> (ContentId, Event) {
    (
        ContentId::new([8; 32]),
        plan.event(Confirmation::Piped, Done { extent, made, merged: None, overridden: None, verified: None }, at()),
    )
}

const PART: Extent = Extent { paths: 1, left: 1 };

/// A plan for a part of the result.
fn part() -> PromotionPlan {
    let only = [crate::repo_path::RepoPath::parse("a").expect("a path")].into();
    let selection = Selection { only, ..Selection::default() };
    let (record, wish) = (record(), Wish { selection, ..wish() });
    PromotionPlan::make(&Candidate { record: &record, id: ID, events: &[] }, &target(), &wish).expect("a plan")
}

#[test]
fn a_whole_result_is_planned_for_the_repository_it_started_from() {
    let plan = plan(&record(), &target()).expect("a plan");
    assert_eq!((plan.record, plan.commit, plan.previous), (ID, COMMIT, None));
    assert_eq!(plan.confirm(&plan.clone()), Ok(()));
}

#[test]
fn outcomes_without_a_whole_result_are_refused() {
    for outcome in Outcome::ALL {
        let found = plan(&TaskRecord { outcome, ..record() }, &target()).err();
        assert_eq!(found, (!outcome.is_promotable()).then_some(PromotionRefusal::Outcome(outcome)));
    }
}

#[test]
fn an_empty_change_set_is_refused() {
    let mut empty = record();
    empty.artifacts.change_set = None;
    assert_eq!(plan(&empty, &target()), Err(PromotionRefusal::NothingToPromote));
    let mut only_left_out = record();
    if let Some(change_set) = &mut only_left_out.artifacts.change_set {
        change_set.summary = ChangeSummary { not_captured: 3, ..Default::default() };
    }
    assert_eq!(plan(&only_left_out, &target()), Err(PromotionRefusal::NothingToPromote));
}

#[test]
fn a_moved_head_is_refused_naming_both_commits() {
    let mut moved = target();
    moved.source.commit = GitOid::Sha1([6; 20]);
    let refusal = plan(&record(), &moved).expect_err("a refusal");
    assert_eq!(
        refusal.to_string(),
        "trusted repository /home/ana/app is at 06060606, but the task started from 05050505"
    );
    assert!(refusal.hint(&record(), "").contains("add --three-way"));
}

#[test]
fn nobody_is_sent_to_a_merge_that_a_task_from_uncommitted_changes_cannot_have() {
    let mut record = record();
    record.artifacts.source_snapshot = record.artifacts.change_set;
    let mut moved = target();
    moved.source.commit = GitOid::Sha1([6; 20]);
    let refusal = plan(&record, &moved).expect_err("a refusal");
    assert_eq!(
        refusal.hint(&record, ""),
        "check out 05050505 and bring back the uncommitted changes that it started from, then promote again; or `isobox rerun \
         --current --allow-dirty task-0707070707070707`, which starts from what is there now"
    );
}

#[test]
fn another_branch_at_the_same_commit_is_refused_naming_both() {
    let mut other = target();
    other.source.branch = None;
    let refusal = plan(&record(), &other).expect_err("a refusal");
    assert_eq!(
        refusal.to_string(),
        "trusted repository /home/ana/app is on no branch (detached at 05050505), but the task started from branch main"
    );
    assert_eq!(refusal.hint(&record(), ""), "check out branch main, then promote again");
}

#[test]
fn what_cannot_be_promoted_of_a_later_attempt_is_answered_with_the_one_before() {
    let later = TaskRecord { attempt: 3, ..record() };
    for refusal in [PromotionRefusal::NothingToPromote, PromotionRefusal::Outcome(Outcome::LaunchFailure)] {
        assert!(refusal.hint(&later, "").ends_with("; the attempt before this one is task-0707070707070707#2"));
        assert!(!refusal.hint(&record(), "").contains('#'));
    }
}

#[test]
fn a_repository_is_known_by_its_root_commit_or_else_by_its_place() {
    let mut elsewhere = target();
    elsewhere.source.host_path = b"/srv/app".to_vec();
    assert!(plan(&record(), &elsewhere).is_ok(), "a moved repository is the same");
    elsewhere.source.root_commit = None;
    let refusal = PromotionRefusal::OtherRepository { target: "/srv/app".into(), started_from: "/home/ana/app".into() };
    assert_eq!(plan(&record(), &elsewhere), Err(refusal.clone()));
    elsewhere.source.root_commit = Some(GitOid::Sha1([2; 20]));
    assert_eq!(plan(&record(), &elsewhere), Err(refusal));
}

#[test]
fn a_dirty_repository_is_refused_listing_what_is_dirty() {
    let first = vec![DirtyEntry { path: b"a\nb".to_vec(), state: DirtyState::Untracked }];
    let dirty = TargetFacts { cleanliness: Cleanliness::Dirty { first, count: 4 }, ..target() };
    let refusal = PromotionRefusal::Dirty { target: "/home/ana/app".into(), first: vec!["a\\nb".into()], count: 4 };
    assert_eq!(plan(&record(), &dirty), Err(refusal));
}

#[test]
fn a_promoted_result_is_promoted_again_only_when_asked() {
    let record = record();
    let events = [performed(&plan(&record, &target()).expect("a plan"), Extent { paths: 2, left: 0 }, None)];
    let candidate = Candidate { record: &record, id: ID, events: &events };
    let refusal = PromotionRefusal::PromotedBefore { host_path: "/home/ana/app".into(), at: at() };
    assert_eq!(PromotionPlan::make(&candidate, &target(), &wish()), Err(refusal));
    let again = Wish { repetition: Repetition::Allowed, ..wish() };
    let again = PromotionPlan::make(&candidate, &target(), &again).expect("a plan");
    assert_eq!(again.previous, Some(ContentId::new([8; 32])));
}

#[test]
fn a_plan_is_not_performed_when_something_approved_changed() {
    let approved = plan(&record(), &target()).expect("a plan");
    let changed = |now: PromotionPlan| match approved.confirm(&now) {
        Err(PromotionRefusal::PlanChanged { what }) => what,
        other => panic!("{other:?}"),
    };
    let commit = GitOid::Sha1([6; 20]);
    assert_eq!(changed(PromotionPlan { commit, ..approved.clone() }), "HEAD of the repository");
    assert_eq!(changed(PromotionPlan { previous: Some(ID), ..approved.clone() }), "what happened to the task");
    assert_eq!(changed(PromotionPlan { record: ContentId::new([0; 32]), ..approved.clone() }), "the task record");
}

#[test]
fn the_rest_of_a_result_is_promoted_without_the_part_that_was() {
    let record = record();
    let events = [performed(&part(), PART, None)];
    let candidate = Candidate { record: &record, id: ID, events: &events };
    let rest = PromotionPlan::make(&candidate, &target(), &wish()).expect("a plan").chosen;
    let path = |name: &str| crate::repo_path::RepoPath::parse(name).expect("a path");
    assert_eq!([rest.admits(&path("a")), rest.admits(&path("b"))], [false, true]);
    let undo = Event { kind: EventKind::Undone, ..events[0].1.clone() };
    let events = [events[0].clone(), (ContentId::new([10; 32]), undo)];
    let candidate = Candidate { record: &record, id: ID, events: &events };
    let whole = PromotionPlan::make(&candidate, &target(), &wish()).expect("a plan").chosen;
    assert_eq!([whole.admits(&path("a")), whole.admits(&path("b"))], [true, true]);
}

#[test]
fn the_rest_of_a_result_is_promoted_where_nothing_but_the_part_is_uncommitted() {
    let record = record();
    let events = [performed(&part(), PART, None)];
    let candidate = Candidate { record: &record, id: ID, events: &events };
    let first = vec![DirtyEntry { path: b"a".to_vec(), state: DirtyState::Unstaged }];
    let dirty = |expected| TargetFacts {
        cleanliness: Cleanliness::Dirty { first: first.clone(), count: 1 },
        expected: Some(expected),
        ..target()
    };
    assert!(PromotionPlan::make(&candidate, &dirty(SnapshotDifference::default()), &wish()).is_ok());
    let beside = SnapshotDifference { first: vec![b"c".to_vec()], count: 1 };
    let refusal =
        PromotionRefusal::BesidePromoted { target: "/home/ana/app".into(), first: vec!["c".into()], count: 1 };
    assert_eq!(PromotionPlan::make(&candidate, &dirty(beside), &wish()), Err(refusal));
}

#[test]
fn a_commit_of_what_began_with_uncommitted_changes_is_refused() {
    let mut record = record();
    record.artifacts.source_snapshot = record.artifacts.change_set;
    let candidate = Candidate { record: &record, id: ID, events: &[] };
    for way in [Way::Commit, Way::Branch(b"refs/heads/try".to_vec())] {
        let refused = PromotionPlan::make(&candidate, &target(), &Wish { way, ..wish() });
        assert_eq!(refused, Err(PromotionRefusal::NoCommit));
    }
}

#[test]
fn a_merge_asks_neither_for_head_nor_for_a_clean_tree_but_for_a_commit_to_start_from() {
    let mut record = record();
    let mut moved = TargetFacts { cleanliness: Cleanliness::Dirty { first: Vec::new(), count: 1 }, ..target() };
    moved.source.commit = GitOid::Sha1([6; 20]);
    moved.source.branch = None;
    let wish = Wish { meeting: Meeting::ThreeWay(OnConflict::Refuse), ..wish() };
    let candidate = Candidate { record: &record, id: ID, events: &[] };
    assert!(PromotionPlan::make(&candidate, &moved, &wish).is_ok());
    record.artifacts.source_snapshot = record.artifacts.change_set;
    let candidate = Candidate { record: &record, id: ID, events: &[] };
    assert_eq!(PromotionPlan::make(&candidate, &moved, &wish), Err(PromotionRefusal::NoMergeBase));
}

#[test]
fn a_branch_of_its_own_asks_neither_for_head_nor_for_a_clean_tree() {
    let record = record();
    let candidate = Candidate { record: &record, id: ID, events: &[] };
    let mut moved = TargetFacts { cleanliness: Cleanliness::Dirty { first: Vec::new(), count: 1 }, ..target() };
    moved.source.commit = GitOid::Sha1([6; 20]);
    let wish = Wish { way: Way::Branch(b"refs/heads/try".to_vec()), ..wish() };
    assert!(PromotionPlan::make(&candidate, &moved, &wish).is_ok());
    moved.source.root_commit = Some(GitOid::Sha1([2; 20]));
    assert!(PromotionPlan::make(&candidate, &moved, &wish).is_err(), "another repository");
}

#[test]
fn a_commit_says_which_task_and_record_it_comes_from() {
    let plan = plan(&record(), &target()).expect("a plan");
    let said =
        |message: Option<&str>| String::from_utf8(plan.commit_message(message.map(str::as_bytes))).expect("text");
    let trailers = format!("Isobox-Task: task-0707070707070707\nIsobox-Record: {ID}\n");
    assert_eq!(said(None), format!("Promote the result of task-0707070707070707\n\n{trailers}"));
    assert_eq!(said(Some("Fix it\n\nAs said: here.\n")), format!("Fix it\n\nAs said: here.\n\n{trailers}"));
    assert_eq!(said(Some("Fix it\n\nFixes: #1")), format!("Fix it\n\nFixes: #1\n{trailers}"));
    assert_eq!(said(Some("fix: it")), format!("fix: it\n\n{trailers}"));
}

#[test]
fn the_rest_of_a_result_is_promoted_onto_the_commit_that_its_part_became() {
    let record = record();
    let made = GitOid::Sha1([6; 20]);
    let events = [performed(&PromotionPlan { way: Way::Commit, ..part() }, PART, Some(made))];
    let candidate = Candidate { record: &record, id: ID, events: &events };
    let mut moved = target();
    assert!(PromotionPlan::make(&candidate, &moved, &wish()).is_err());
    moved.source.commit = made;
    assert!(PromotionPlan::make(&candidate, &moved, &wish()).is_ok());
}
