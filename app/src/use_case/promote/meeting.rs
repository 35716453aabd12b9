//! What a Promotion brings across: the chosen lines as the record has them, or merged into what the repository has by now.

use super::pieces::Pieces;
use super::{PromotionRequest, extent};
use crate::failure::{Failure, FailureKind};
use isobox_domain::event::Merged as MergedEvent;
use isobox_domain::promotion::{Meeting, OnConflict, PromotionPlan, Way};
use isobox_ports::{ApplyError, ChangeLines, MergeRequest, MergeTally, Merged, ObjectStore, Promotion};

/// What is brought across, and where its contents are.
pub(super) struct Across<'a> {
    plan: &'a PromotionPlan,
    pieces: &'a Pieces,
    objects: &'a dyn ObjectStore,
    merged: Option<Box<dyn Merged + 'a>>,
}

impl<'a> Across<'a> {
    /// What `plan` brings across, merged if that was asked for.
    pub(super) fn of(
        objects: &'a dyn ObjectStore,
        promotion: &mut dyn Promotion,
        request: &PromotionRequest,
        (plan, pieces): (&'a PromotionPlan, &'a Pieces),
    ) -> Result<Self, Failure> {
        let Meeting::ThreeWay(on_conflict) = plan.meeting else {
            return Ok(Self { plan, pieces, objects, merged: None });
        };
        let label = plan.task.to_string();
        let merge = MergeRequest { base: &request.record.source.commit, on_conflict, label: &label };
        let lines = extent::chosen_lines(objects, plan, pieces)?;
        let merged = promotion.merge(lines, objects, &merge).map_err(|error| not_merged(error, request))?;
        let MergeTally { untouched, present, merged: both, marked } = merged.tally();
        if *present > 0 && untouched + both + marked.len() as u64 == 0 {
            let message = "there is nothing to promote: the repository has every change already";
            return Err(Failure::new(FailureKind::PromotionRefused, message)
                .with_hint(format!("`isobox reject{} {}` takes it off the list", request.flags, plan.task)));
        }
        Ok(Self { plan, pieces, objects, merged: Some(merged) })
    }

    pub(super) fn lines(&self) -> Result<ChangeLines<'_>, Failure> {
        match &self.merged {
            Some(merged) => Ok(merged.lines()),
            None => extent::chosen_lines(self.objects, self.plan, self.pieces),
        }
    }

    pub(super) fn objects(&self) -> &dyn ObjectStore {
        self.merged.as_ref().map_or(self.objects, |merged| &**merged as &dyn ObjectStore)
    }

    pub(super) fn tally(&self) -> Option<&MergeTally> {
        self.merged.as_ref().map(|merged| merged.tally())
    }

    /// What the event says of the merge.
    pub(super) fn merged(&self) -> Option<MergedEvent> {
        self.tally().map(|tally| MergedEvent { conflicts: tally.marked.len() as u64 })
    }
}

/// A failure to merge. What to do about conflicts helps with nothing else.
fn not_merged(error: ApplyError, request: &PromotionRequest) -> Failure {
    let is_conflict = matches!(error, ApplyError::Conflicts { .. });
    let failure = Failure::from(error);
    if !is_conflict {
        return failure;
    }
    // Markers are for files that nobody commits before they are looked at.
    let markers = match (&request.wish.way, request.wish.meeting) {
        (Way::WorkingTree, Meeting::ThreeWay(OnConflict::Refuse)) => "write both with --conflict markers, ",
        _ => "",
    };
    failure.with_hint(format!(
        "leave them out with --except PATH, {markers}or attempt it once more from here: `isobox rerun --current{} {}`",
        request.flags, request.record.task
    ))
}
