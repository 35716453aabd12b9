//! Brings a reviewed Task Result into its trusted repository: plan, report, confirm, re-check, perform, record.

mod choosing;
mod extent;
mod gate;
mod meeting;
mod pieces;
mod planning;
mod verifying;

pub(crate) use choosing::{Answered, Chooser, InHunks, Taken, choose};
pub(crate) use gate::{Gate, Policing};
pub(in crate::use_case) use pieces::splittable_part;
pub(crate) use verifying::Verifier;

use crate::failure::{Failure, one_line};
use crate::output::text;
use crate::use_case::attempt::{Progress, Tell};
use crate::use_case::list;
use crate::use_case::ranked_report::{self, rank, rank_unexamined};
use crate::use_case::settle::{self, OpenRecords, Receipt};
use crate::use_case::view;
use gate::{Brought, Watch};
use isobox_domain::change::ChangeLine;
use isobox_domain::content::ContentId;
use isobox_domain::event::Confirmation;
use isobox_domain::git_oid::GitOid;
use isobox_domain::policy::ViewLimit;
use isobox_domain::promotion::{Done, Extent, Overridden, PromotionPlan, PromotionRefusal, Way, Wish};
use isobox_domain::record::TaskRecord;
use isobox_domain::report::{Finding, PromotionReport};
use isobox_domain::task_state::Standing;
use isobox_ports::{
    Attempts, Clock, CommitText, Landing, Manifests, MergeTally, ObjectStore, Promotion, RecordLog, Route,
    TrustedRepository, Views,
};
use meeting::Across;
use pieces::Pieces;
use planning::{Planned, plan, refusal};
use verifying::Verified;

/// Room for the event of a Promotion and the lane that it goes to, in bytes: an event takes less than 1 MiB.
const EVENT_ROOM: u64 = 1 << 20;

/// What a Promotion touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) repository: &'a dyn TrustedRepository,
    pub(crate) attempts: &'a dyn Attempts,
    pub(crate) records: &'a dyn RecordLog,
    pub(crate) objects: &'a dyn ObjectStore,
    pub(crate) manifests: &'a dyn Manifests,
    pub(crate) views: &'a dyn Views,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) open_records: OpenRecords<'a>,
    pub(crate) policy: &'a dyn Policing,
    /// Who verifies what would be promoted; `None` where nobody asked for it.
    pub(crate) verifier: Option<&'a dyn Verifier>,
}

/// What is to be promoted, and how.
#[derive(Clone, Debug)]
pub(crate) struct PromotionRequest {
    pub(crate) digest: ContentId,
    pub(crate) record: TaskRecord,
    pub(crate) wish: Wish,
    pub(crate) goal: Goal,
    /// What the policy asks for.
    pub(crate) gate: Gate,
    /// What the commit says, if one is made; `None`: which Task it comes from.
    pub(crate) message: Option<Vec<u8>>,
    /// Absolute host path of the store's records directory, any bytes.
    pub(crate) records_directory: Vec<u8>,
    pub(crate) views: ViewLimit,
    /// What names the store in a further command, each flag after a blank.
    pub(crate) flags: String,
}

/// How far to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// Check and report; change nothing.
    Rehearse,
    /// All of it.
    Perform,
}

/// How a person takes part.
pub(crate) trait Reviewer {
    /// Shows what is about to be reported on.
    fn begin(&mut self, plan: &PromotionPlan) -> Result<(), Failure>;
    /// Shows one line of the Promotion Report.
    fn line(&mut self, line: &ChangeLine, findings: &[Finding]) -> Result<(), Failure>;
    /// Shows its totals, and how much of the result it is.
    fn end(&mut self, report: &PromotionReport, extent: Extent) -> Result<(), Failure>;
    /// Shows how its paths meet what the repository changed since.
    fn merged(&mut self, tally: &MergeTally) -> Result<(), Failure>;
    /// Hands over what was shown, before a verification shows its own.
    fn pause(&mut self) -> Result<(), Failure>;
    /// Shows what of the policy it goes past.
    fn overridden(&mut self, overridden: &Overridden) -> Result<(), Failure>;
    /// Asks whether to go on; a refusal is a failure.
    fn confirm(&mut self, plan: &PromotionPlan) -> Result<Confirmation, Failure>;
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Promoted {
    /// Everything could be promoted now; nothing was changed.
    Rehearsed(PromotionPlan),
    /// Everything was; the commit that was made.
    Performed(PromotionPlan, Option<GitOid>),
}

/// Promotes a Task Result, all of it or nothing.
pub(crate) fn promote(
    ports: &Ports<'_>,
    request: &PromotionRequest,
    reviewer: &mut dyn Reviewer,
    tell: Tell<'_>,
) -> Result<Promoted, Failure> {
    let refused = |failure: Failure| {
        failure.while_doing(format!("cannot promote {}", text::attempt(&request.record, Standing::Newest)))
    };
    let planned = plan(ports, request).map_err(refused)?;
    let Planned { plan, extent, pieces, .. } = &planned;
    let tally = rehearse(ports, request, plan, pieces).map_err(refused)?;
    reviewer.begin(plan)?;
    let watch = tell_report(ports, request, (plan, pieces), *extent, reviewer)?;
    tally.iter().try_for_each(|tally| reviewer.merged(tally))?;
    let is_verified = ports.verifier.is_some_and(Verifier::is_of_policy);
    let overridden = watch.end(request, is_verified).map_err(refused)?;
    overridden.iter().try_for_each(|overridden| reviewer.overridden(overridden))?;
    let verified = match ports.verifier {
        None => None,
        Some(verifier) => {
            reviewer.pause()?;
            Some(verifying::verify(ports, request, &planned, verifier).map_err(refused)?)
        }
    };
    if request.goal == Goal::Rehearse {
        return Ok(Promoted::Rehearsed(planned.plan));
    }
    let confirmation = reviewer.confirm(plan).map_err(refused)?;
    let agreed = Agreed { confirmation, overridden, verified };
    let made = perform(ports, request, plan, agreed, tell).map_err(refused)?;
    show_in_view(ports, request, tell);
    Ok(Promoted::Performed(planned.plan, made))
}

/// Shows what deserves a look, the most important first, and then the rest; what of it the policy keeps out.
fn tell_report<'a>(
    ports: &Ports<'_>,
    request: &'a PromotionRequest,
    (plan, pieces): (&PromotionPlan, &Pieces),
    extent: Extent,
    reviewer: &mut dyn Reviewer,
) -> Result<Watch<'a>, Failure> {
    let (objects, record) = (pieces.over(ports.objects), &request.record);
    let brought = Brought { plan, pieces };
    // The patch is a rendering: what it cannot say any more can still be promoted.
    let report = rank(&objects, record, &brought).or_else(|_| rank_unexamined(&objects, record, &brought))?;
    let mut watch = Watch::new(&request.gate);
    let reading = ranked_report::Ports { objects: &objects, manifests: ports.manifests };
    report.each(&reading, record, &mut |line, findings| {
        watch.look_at(line, findings);
        reviewer.line(line, findings)
    })?;
    reviewer.end(report.totals(), extent)?;
    Ok(watch)
}

/// Whether a Task Result could be promoted now: nothing is shown or changed.
pub(crate) fn check(ports: &Ports<'_>, request: &PromotionRequest) -> Result<(), Failure> {
    let checked =
        plan(ports, request).and_then(|planned| rehearse(ports, request, &planned.plan, &planned.pieces).map(drop));
    checked.map_err(|failure| failure.while_doing(format!("cannot promote {}", request.record.task)))
}

fn rehearse(
    ports: &Ports<'_>,
    request: &PromotionRequest,
    plan: &PromotionPlan,
    pieces: &Pieces,
) -> Result<Option<MergeTally>, Failure> {
    let mut promotion = begin(ports)?;
    let objects = pieces.over(ports.objects);
    let across = Across::of(&objects, &mut *promotion, request, (plan, pieces))?;
    promotion.rehearse(across.lines()?, &route(request, plan))?;
    Ok(across.tally().cloned())
}

fn route(request: &PromotionRequest, plan: &PromotionPlan) -> Route {
    match &plan.way {
        Way::WorkingTree => Route::Files,
        Way::Index => Route::Index,
        Way::Commit => Route::Commit,
        Way::Branch(name) => Route::Branch { name: name.clone(), parent: request.record.source.commit },
    }
}

fn begin<'a>(ports: &Ports<'a>) -> Result<Box<dyn Promotion + 'a>, Failure> {
    let mut promotion = ports.repository.begin_promotion()?;
    settle::record_unfinished(&mut *promotion, ports.open_records)?;
    Ok(promotion)
}

/// What came before a Promotion that goes on.
struct Agreed {
    confirmation: Confirmation,
    overridden: Option<Overridden>,
    verified: Option<Verified>,
}

/// Takes the lock, looks at everything once more, writes, and records what was done.
fn perform(
    ports: &Ports<'_>,
    request: &PromotionRequest,
    approved: &PromotionPlan,
    agreed: Agreed,
    tell: Tell<'_>,
) -> Result<Option<GitOid>, Failure> {
    let mut promotion = begin(ports)?;
    // What cannot be put on record is not done.
    ports.attempts.probe(EVENT_ROOM)?;
    let Planned { plan: now, extent, pieces, is_beside_uncommitted } = plan(ports, request)?;
    approved.confirm(&now).map_err(|why| refusal(why, request))?;
    if ports.policy.gate()? != request.gate.asked {
        return Err(refusal(PromotionRefusal::PlanChanged { what: "what the policy asks for" }, request));
    }
    if agreed.verified.is_some_and(|verified| verified.is_beside_uncommitted != is_beside_uncommitted) {
        let why = PromotionRefusal::PlanChanged { what: "what is not committed of the repository" };
        return Err(refusal(why, request));
    }
    let at = ports.clock.now();
    let route = route(request, &now);
    let objects = pieces.over(ports.objects);
    let across = Across::of(&objects, &mut *promotion, request, (&now, &pieces))?;
    let made = match route {
        Route::Files | Route::Index => None,
        Route::Commit | Route::Branch { .. } => {
            let text = CommitText { message: now.commit_message(request.message.as_deref()), at };
            Some(promotion.commit(across.lines()?, across.objects(), &route, &text)?)
        }
    };
    let verified = agreed.verified.map(|verified| verified.record);
    let done = Done { extent, made, merged: across.merged(), overridden: agreed.overridden, verified };
    let event = now.event(agreed.confirmation, done, at);
    let receipt = Receipt { records_directory: request.records_directory.clone(), event: event.clone() }.encode()?;
    let landing = Landing { route: &route, made: made.as_ref(), head: Some(&now.commit) };
    promotion.apply(across.lines()?, across.objects(), landing, &receipt)?;
    // From here on the journal stands for the event: whoever finds it appends the event.
    if let Err(error) = ports.records.append(&event) {
        let failure = Failure::from(error).while_doing("the repository was changed, but that is not on record yet");
        return Err(failure.with_hint("the next `isobox run`, `tool` or `promote` in this repository records it"));
    }
    if let Err(error) = promotion.finish() {
        tell(Progress::Warning(&one_line(&error)));
    }
    Ok(made)
}

fn show_in_view(ports: &Ports<'_>, request: &PromotionRequest, tell: Tell<'_>) {
    let written = list::events(ports.records, &request.digest).map_err(Failure::from).and_then(|events| {
        view::write(ports.views, ports.objects, &request.record, &request.digest, &events, request.views)
    });
    if let Err(error) = written {
        tell(Progress::Warning(&format!("the view of the record was not written: {}", one_line(&error))));
    }
}
