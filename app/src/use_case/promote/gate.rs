//! What a policy and a person see of a Promotion before it is made: its report, and what of it the policy keeps out.

use super::PromotionRequest;
use super::pieces::Pieces;
use crate::failure::{Failure, FailureKind};
use crate::use_case::ranked_report::Extract;
use isobox_domain::change::{Change, ChangeLine};
use isobox_domain::escape::Escaped;
use isobox_domain::outcome::Outcome;
use isobox_domain::promotion::{
    BlockedRisk, Chosen, Overridden, PromotionGate, PromotionPlan, PromotionRefusal, PromotionRequirement,
};
use isobox_domain::report::{ExaminedPart, Finding};

/// How many of the findings that keep something out are told one by one.
const MOST_TOLD: usize = 10;

/// Whoever knows what the policy asks of every Promotion now.
pub(crate) trait Policing {
    /// It may be asked for more than before by the time that a person has agreed.
    fn gate(&self) -> Result<PromotionGate, Failure>;
}

/// What a policy asks for, and what is said to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gate {
    /// What is asked for.
    pub(crate) asked: PromotionGate,
    /// Whether nothing is brought across but what was accepted in a review.
    pub(crate) is_reviewed: bool,
    /// Why to promote whatever is asked for.
    pub(crate) override_reason: Option<String>,
}

/// The lines that a Promotion brings across, as it does.
pub(super) struct Brought<'a> {
    pub(super) plan: &'a PromotionPlan,
    pub(super) pieces: &'a Pieces,
}

impl Extract for Brought<'_> {
    fn told(&self, line: ChangeLine) -> Option<ChangeLine> {
        match line {
            _ if self.plan.chosen == Chosen::default() => Some(line),
            ChangeLine::Change(change) if self.plan.chosen.admits(&change.path) => {
                Some(ChangeLine::Change(self.pieces.across(change)))
            }
            // What was not captured belongs to the whole result alone.
            _ => None,
        }
    }

    fn part_of(&self, change: &Change) -> Option<ExaminedPart> {
        self.pieces.examined(&change.path)
    }
}

/// What keeps lines of a report out, as they pass by.
pub(super) struct Watch<'a> {
    gate: &'a Gate,
    /// Entries of `promotion.block` that kept something out.
    hit: Vec<BlockedRisk>,
    /// How many paths they kept out.
    paths: u64,
    /// The first reasons, for people.
    first: Vec<String>,
}

impl<'a> Watch<'a> {
    pub(super) const fn new(gate: &'a Gate) -> Self {
        Self { gate, hit: Vec::new(), paths: 0, first: Vec::new() }
    }

    pub(super) fn look_at(&mut self, line: &ChangeLine, findings: &[Finding]) {
        let block = self.gate.asked.block();
        let blocked: Vec<&Finding> =
            findings.iter().filter(|finding| block.iter().any(|risk| risk.blocks(finding))).collect();
        for risk in block.iter().filter(|risk| blocked.iter().any(|finding| risk.blocks(finding))) {
            if !self.hit.contains(risk) {
                self.hit.push(*risk);
            }
        }
        self.paths += u64::from(!blocked.is_empty());
        let room = MOST_TOLD.saturating_sub(self.first.len());
        let told = blocked
            .iter()
            .take(room)
            .map(|finding| format!("{}: {} ({})", Escaped(line.path()), finding.category.name(), finding.level.name()));
        self.first.extend(told);
    }

    /// What the Promotion is made in spite of, if that was wished, or why it is not made. `is_verified` is whether a verification with
    /// what the policy says comes first, which refuses it unless it succeeds.
    pub(super) fn end(self, request: &PromotionRequest, is_verified: bool) -> Result<Option<Overridden>, Failure> {
        let holds = |required: &PromotionRequirement| match required {
            PromotionRequirement::Success => request.record.outcome == Outcome::Success,
            PromotionRequirement::Review => self.gate.is_reviewed,
            PromotionRequirement::Verification => is_verified,
        };
        let require: Vec<PromotionRequirement> =
            self.gate.asked.require().iter().copied().filter(|required| !holds(required)).collect();
        let block: Vec<BlockedRisk> =
            self.gate.asked.block().iter().copied().filter(|risk| self.hit.contains(risk)).collect();
        if require.is_empty() && block.is_empty() {
            return Ok(None);
        }
        match &self.gate.override_reason {
            Some(reason) => Ok(Some(Overridden { reason: reason.clone(), require, block })),
            None => Err(self.refusal(request, require, block)),
        }
    }

    fn refusal(
        &self,
        request: &PromotionRequest,
        require: Vec<PromotionRequirement>,
        block: Vec<BlockedRisk>,
    ) -> Failure {
        let complaints: Vec<String> =
            require.iter().map(|required| format!("{}: {}", required.name(), required.complaint())).collect();
        let told = complaints.into_iter().chain(self.first.clone()).collect::<Vec<_>>().join("\n");
        let refusal = PromotionRefusal::KeptOut { require, block, paths: self.paths };
        Failure::new(FailureKind::PromotionRefused, refusal.to_string())
            .because(told)
            .with_hint(refusal.hint(&request.record, &request.flags))
    }
}
