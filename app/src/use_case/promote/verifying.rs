//! What would be there after a Promotion, handed to whoever verifies it before anybody is asked about it.

use super::meeting::Across;
use super::planning::Planned;
use super::{Ports, PromotionRequest, begin, extent};
use crate::failure::{Failure, FailureKind};
use crate::output::text;
use crate::use_case::attempt::{State, Verifies};
use isobox_domain::content::ContentId;
use isobox_domain::promotion::Way;
use isobox_domain::source::WorkspaceSource;
use isobox_ports::{ChangeLines, ObjectStore};

/// Verifies what a Promotion would bring about.
pub(crate) trait Verifier {
    /// Whether it does all that the policy has a result verified with.
    fn is_of_policy(&self) -> bool;

    /// The digest of the record of a verification that succeeded; anything else is a failure.
    fn verify(&self, result: Verifies<'_>) -> Result<ContentId, Failure>;
}

/// A verification that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verified {
    /// Its record.
    pub(super) record: ContentId,
    /// Whether it was of a working tree with what was not committed; see [`Planned::is_beside_uncommitted`].
    pub(super) is_beside_uncommitted: bool,
}

/// Has the result of `planned` verified. No lock on the repository is held meanwhile.
pub(super) fn verify(
    ports: &Ports<'_>,
    request: &PromotionRequest,
    planned: &Planned,
    verifier: &dyn Verifier,
) -> Result<Verified, Failure> {
    let Planned { plan, pieces, is_beside_uncommitted, .. } = planned;
    let objects = pieces.over(ports.objects);
    let across = {
        let mut promotion = begin(ports)?;
        Across::of(&objects, &mut *promotion, request, (plan, pieces))?
    };
    if let Some(marked) = across.tally().map(|tally| tally.marked.len() as u64).filter(|marked| *marked > 0) {
        let message =
            format!("{} would have conflict markers, which cannot be verified", text::counted(marked, "path"));
        return Err(Failure::new(FailureKind::PromotionRefused, message).with_hint(
            "leave them out with --except PATH, or promote without --verify and verify what you make of them",
        ));
    }
    let commit = match &plan.way {
        Way::Branch(_) => request.record.source.commit,
        Way::WorkingTree | Way::Index | Way::Commit => plan.commit,
    };
    let source = WorkspaceSource {
        host_path: plan.host_path.clone(),
        root_commit: request.record.source.root_commit,
        commit,
        branch: plan.branch.clone(),
        working_directory: None,
    };
    let state = After { request, planned, objects: &objects, across };
    let record = verifier.verify(Verifies { record: request.digest, source, state: &state })?;
    Ok(Verified { record, is_beside_uncommitted: *is_beside_uncommitted })
}

/// What would be in the working tree, or in the commit that is made, after a Promotion.
struct After<'a> {
    request: &'a PromotionRequest,
    planned: &'a Planned,
    objects: &'a dyn ObjectStore,
    across: Across<'a>,
}

impl State for After<'_> {
    fn lines(&self) -> Result<ChangeLines<'_>, Failure> {
        let Planned { plan, pieces, is_beside_uncommitted, .. } = self.planned;
        let across = self.across.lines()?;
        // A commit holds what is brought across, and nothing of what is not committed.
        let has_rest = *is_beside_uncommitted && matches!(plan.way, Way::WorkingTree | Way::Index);
        let before = match has_rest {
            true => {
                let snapshot = self.request.record.artifacts.source_snapshot.as_ref();
                extent::expected_state(self.objects, snapshot, &plan.change_set, (&plan.chosen, pieces))?
            }
            false => None,
        };
        Ok(extent::on(before, across))
    }

    fn objects(&self) -> &dyn ObjectStore {
        self.across.objects()
    }
}
