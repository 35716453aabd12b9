//! Promotions: nothing is written that was not approved, and what was written is on record.

use super::attempts::tried;
use crate::failure::{Failure, FailureKind};
use crate::use_case::fixture::{FragileStore, World, clock, edit, path, source};
use crate::use_case::promote::{Gate, Goal, Policing, Ports, Promoted, PromotionRequest, Reviewer, promote};
use crate::use_case::settle::{self, Receipt, settle};
use isobox_domain::change::{ChangeLine, Mode};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::event::{Confirmation, Event, EventKind};
use isobox_domain::policy::ViewLimit;
use isobox_domain::promotion::{
    Extent, Meeting, Overridden, PromotionGate, PromotionPlan, Repetition, Selection, Way, Wish,
};
use isobox_domain::report::{Dependencies, Finding, Manifest, PromotionReport, RiskCategory};
use isobox_ports::{Manifests, MergeTally, RecordLog, TrustedRepository};

const CHANGED: &[u8] = b"hello\nchange\n";

/// What reads no manifest.
struct NoManifests;

impl Manifests for NoManifests {
    fn dependencies(&self, _: Manifest, _: &[u8]) -> Option<Dependencies> {
        None
    }
}

/// A policy that asks for nothing.
struct Open;

impl Policing for Open {
    fn gate(&self) -> Result<PromotionGate, Failure> {
        Ok(PromotionGate::default())
    }
}

/// A person who answers as told, after something happened.
struct Person<'a> {
    answer: Result<Confirmation, FailureKind>,
    meanwhile: &'a dyn Fn(),
    lines: u64,
    found: Vec<RiskCategory>,
}

impl Reviewer for Person<'_> {
    fn begin(&mut self, _: &PromotionPlan) -> Result<(), Failure> {
        Ok(())
    }

    fn line(&mut self, _: &ChangeLine, findings: &[Finding]) -> Result<(), Failure> {
        self.lines += 1;
        self.found.extend(findings.iter().map(|finding| finding.category));
        Ok(())
    }

    fn end(&mut self, report: &PromotionReport, _: Extent) -> Result<(), Failure> {
        assert_eq!(report.summary().changed(), self.lines);
        Ok(())
    }

    fn merged(&mut self, _: &MergeTally) -> Result<(), Failure> {
        Ok(())
    }

    fn pause(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn overridden(&mut self, _: &Overridden) -> Result<(), Failure> {
        Ok(())
    }

    fn confirm(&mut self, _: &PromotionPlan) -> Result<Confirmation, Failure> {
        (self.meanwhile)();
        self.answer.map_err(|kind| Failure::new(kind, "no"))
    }
}

fn world() -> World {
    let world = World::new(edit);
    tried(&world).expect("an attempt");
    world
}

fn request(world: &World) -> PromotionRequest {
    PromotionRequest {
        digest: world.newest(),
        record: world.records()[0].clone(),
        wish: Wish {
            repetition: Repetition::Refused,
            selection: Selection::default(),
            way: Way::WorkingTree,
            meeting: Meeting::Exact,
        },
        goal: Goal::Perform,
        gate: Gate::default(),
        message: None,
        records_directory: b"/records".to_vec(),
        views: ViewLimit::default(),
        flags: String::new(),
    }
}

/// What comes of promoting the newest record, as somebody who agrees.
pub(super) fn promoted_newest(world: &World) -> Result<Promoted, Failure> {
    promoted(world, &request(world), &mut agreeing())
}

fn agreeing() -> Person<'static> {
    Person { answer: Ok(Confirmation::Flag), meanwhile: &|| {}, lines: 0, found: Vec::new() }
}

fn promoted(world: &World, request: &PromotionRequest, person: &mut Person<'_>) -> Result<Promoted, Failure> {
    let open = opener(&world.store);
    let ports = Ports {
        repository: &world.repository,
        attempts: &world.store,
        records: &world.store,
        objects: &world.store.inner,
        manifests: &NoManifests,
        policy: &Open,
        views: &world.store.inner,
        clock: &clock(),
        open_records: &open,
        verifier: None,
    };
    promote(&ports, request, person, &|progress| world.hear(progress))
}

fn opener(store: &FragileStore) -> impl Fn(&[u8]) -> Result<Box<dyn RecordLog>, Failure> {
    let store = store.clone();
    move |directory| {
        assert_eq!(directory, b"/records");
        Ok(Box::new(store.clone()))
    }
}

fn readme(world: &World) -> Vec<u8> {
    world.repository.files()[&path("README.md")].1.clone()
}

fn events(world: &World) -> Vec<Event> {
    let stored = world.store.inner.events(&world.newest()).expect("whole");
    stored.into_iter().map(|stored| stored.event).collect()
}

/// An event about the newest record that follows no other.
fn rejection(world: &World) -> Event {
    Event {
        task: world.records()[0].task,
        subject: world.newest(),
        previous: None,
        at: isobox_ports::Clock::now(&clock()),
        kind: EventKind::Rejected { reason: String::new() },
    }
}

#[test]
fn an_approved_result_is_written_and_the_event_says_how_it_was_approved() {
    let world = world();
    promoted(&world, &request(&world), &mut agreeing()).expect("a promotion");
    assert_eq!(readme(&world), CHANGED);
    let [Event { kind: EventKind::Promoted(what), .. }] = &events(&world)[..] else { panic!("one promotion") };
    assert_eq!((what.confirmation, what.paths, what.commit), (Confirmation::Flag, 1, source(1).commit));
    let views = world.store.inner.views();
    let record = views.iter().find(|(name, _)| name.ends_with("record.json")).expect("a view").1;
    assert!(String::from_utf8_lossy(record).contains("\"state\": \"promoted\""));
}

#[test]
fn a_rehearsal_and_a_refusal_change_nothing() {
    let world = world();
    let rehearsal = PromotionRequest { goal: Goal::Rehearse, ..request(&world) };
    assert!(matches!(promoted(&world, &rehearsal, &mut agreeing()), Ok(Promoted::Rehearsed(_))));
    let mut unwilling = Person { answer: Err(FailureKind::PromotionRefused), ..agreeing() };
    let refused = promoted(&world, &request(&world), &mut unwilling).expect_err("a refusal");
    assert_eq!(refused.kind, FailureKind::PromotionRefused);
    assert_eq!((readme(&world), events(&world)), (b"hello\n".to_vec(), vec![]));
}

#[test]
fn what_moves_while_a_person_thinks_is_refused() {
    for move_it in [&|world: &World| world.repository.move_head(source(2)) as (), &|world: &World| {
        world.repository.edit(&path("new"), Some((Mode::File, Vec::new())))
    }] as [&dyn Fn(&World); 2]
    {
        let world = world();
        let mut person = Person { meanwhile: &|| move_it(&world), ..agreeing() };
        let refused = promoted(&world, &request(&world), &mut person).expect_err("a refusal");
        assert_eq!(refused.kind, FailureKind::PromotionRefused);
        assert_eq!((readme(&world), events(&world)), (b"hello\n".to_vec(), vec![]));
    }
}

#[test]
fn another_promotion_of_the_same_result_in_between_wins_alone() {
    let world = world();
    let first = || drop(promoted(&world, &request(&world), &mut agreeing()).expect("a promotion"));
    let mut person = Person { meanwhile: &first, ..agreeing() };
    let refused = promoted(&world, &request(&world), &mut person).expect_err("a refusal");
    assert_eq!(refused.kind, FailureKind::PromotionRefused);
    assert_eq!(events(&world).len(), 1);
}

#[test]
fn what_happens_to_a_task_while_a_person_thinks_asks_for_another_look() {
    let world = world();
    let reject = || {
        world.store.inner.append(&rejection(&world)).expect("appended");
    };
    let mut again = request(&world);
    again.wish.repetition = Repetition::Allowed;
    let refused = promoted(&world, &again, &mut Person { meanwhile: &reject, ..agreeing() }).expect_err("a refusal");
    assert_eq!(refused.chain()[1], "what happened to the task changed after the promotion was shown");
    assert_eq!(readme(&world), b"hello\n");
}

#[test]
fn a_promotion_whose_event_was_not_stored_is_recorded_by_the_next_start_once() {
    let world = world();
    world.break_down("append");
    let failure = promoted(&world, &request(&world), &mut agreeing()).expect_err("a failure");
    assert!(failure.chain()[1].starts_with("the repository was changed, but that is not on record yet"));
    assert_eq!((readme(&world), events(&world)), (CHANGED.to_vec(), vec![]));
    world.repair();
    let event = rejection(&world);
    let receipt = Receipt { records_directory: b"/records".to_vec(), event: event.clone() }.encode().expect("bytes");
    for _ in 0..2 {
        world.repository.leave_unfinished(&receipt);
        let open = opener(&world.store);
        settle(&settle::Ports { repository: &world.repository, open_records: &open }).expect("settled");
        assert_eq!(events(&world), std::slice::from_ref(&event));
    }
}

#[test]
fn a_promotion_in_progress_is_left_to_itself() {
    let world = world();
    let _held = world.repository.begin_promotion().expect("the lock");
    let open = opener(&world.store);
    settle(&settle::Ports { repository: &world.repository, open_records: &open }).expect("nothing to do");
    let refused = promoted(&world, &request(&world), &mut agreeing()).expect_err("a refusal");
    assert_eq!(refused.kind, FailureKind::PromotionRefused);
}

#[test]
fn a_patch_that_was_lost_keeps_nothing_out_and_what_it_cannot_say_is_told() {
    let world = world();
    let mut request = request(&world);
    request.record.artifacts.patch = Some(ContentRef { id: ContentId::new([7; 32]), length: 1 });
    let mut person = agreeing();
    promoted(&world, &request, &mut person).expect("promoted");
    assert_eq!(readme(&world), CHANGED);
    assert_eq!(person.found, [RiskCategory::Unexamined]);
}
