//! What a Promotion would do now, or which rule stands in the way.

use super::pieces::Pieces;
use super::{Ports, PromotionRequest, extent};
use crate::failure::{Failure, FailureKind};
use isobox_domain::content::ContentId;
use isobox_domain::event::Event;
use isobox_domain::git_oid::GitOid;
use isobox_domain::promotion::{Candidate, Extent, Meeting, PromotionPlan, PromotionRefusal, TargetFacts};
use isobox_domain::source::{Cleanliness, SnapshotDifference};
use isobox_ports::{ChangeLines, RepositoryError};

/// A plan, and what it comes to.
pub(super) struct Planned {
    pub(super) plan: PromotionPlan,
    pub(super) extent: Extent,
    pub(super) pieces: Pieces,
    /// Whether the working tree has, beside its commit, what is expected there: the Dirty Source Snapshot that the Task
    /// started from, or what was promoted before.
    pub(super) is_beside_uncommitted: bool,
}

/// Looks at the record and the repository, and changes nothing.
pub(super) fn plan(ports: &Ports<'_>, request: &PromotionRequest) -> Result<Planned, Failure> {
    let events = ports.records.events(&request.digest)?;
    let events: Vec<(ContentId, Event)> = events.into_iter().map(|stored| (stored.id, stored.event)).collect();
    let candidate = Candidate { record: &request.record, id: request.digest, events: &events };
    let source = ports.repository.source()?;
    // A snapshot can be compared with at its own commit alone.
    let change_set = candidate.check(&source, &request.wish).map_err(|why| refusal(why, request))?;
    let chosen = candidate.chosen(&request.wish);
    let extent = extent::extent(ports.objects, &change_set, &chosen)?.map_err(|why| refusal(why, request))?;
    let cleanliness = ports.repository.cleanliness()?;
    let pieces = Pieces::of(ports, request, &chosen, &cleanliness)?;
    // A merge looks at each path by itself.
    let is_at_start = source.commit == request.record.source.commit && request.wish.meeting == Meeting::Exact;
    let snapshot = request.record.artifacts.source_snapshot.as_ref();
    let expected = match is_at_start {
        true => extent::expected_state(ports.objects, snapshot, &change_set, (&chosen, &pieces))?,
        false => None,
    };
    let is_beside_uncommitted = expected.is_some() && cleanliness != Cleanliness::Clean;
    let expected = expected.map(|lines| compare(ports, &source.commit, lines)).transpose()?.flatten();
    let target = TargetFacts { source, cleanliness, expected };
    let plan = PromotionPlan::make(&candidate, &target, &request.wish).map_err(|why| refusal(why, request))?;
    Ok(Planned { plan, extent, pieces, is_beside_uncommitted })
}

/// Where the repository is not in the state that `lines` make of `commit`.
fn compare(ports: &Ports<'_>, commit: &GitOid, lines: ChangeLines<'_>) -> Result<Option<SnapshotDifference>, Failure> {
    match ports.repository.compare_snapshot(commit, lines) {
        Err(RepositoryError::Refused { reason, .. }) => Err(no_snapshot(&reason)),
        compared => Ok(Some(compared?)),
    }
}

/// What no snapshot can hold is not in the one that the Task started from.
fn no_snapshot(reason: &str) -> Failure {
    let message = "the trusted repository is not in the state that the task started from";
    Failure::new(FailureKind::PromotionRefused, message)
        .because(reason)
        .with_hint("bring it back to that state, then promote again")
}

/// A rule that stands in the way, with what to do about it.
pub(super) fn refusal(refusal: PromotionRefusal, request: &PromotionRequest) -> Failure {
    let failure = Failure::new(FailureKind::PromotionRefused, refusal.to_string());
    let failure = failure.with_hint(refusal.hint(&request.record, &request.flags));
    match refusal {
        PromotionRefusal::Dirty { first, count, .. }
        | PromotionRefusal::OtherSnapshot { first, count, .. }
        | PromotionRefusal::BesidePromoted { first, count, .. } => {
            let rest = count.saturating_sub(first.len() as u64);
            let more = (rest > 0).then(|| format!("… and {rest} more"));
            failure.because(first.into_iter().chain(more).collect::<Vec<_>>().join("\n"))
        }
        _ => failure,
    }
}
