//! The rules of a Promotion, each looked at by itself.

use super::{PromotionRefusal, Repetition, TargetFacts};
use crate::change::ChangeSetRef;
use crate::content::ContentId;
use crate::escape::Escaped;
use crate::event::{Event, EventKind, decision};
use crate::record::{SandboxKind, TaskRecord};
use crate::source::{Cleanliness, SnapshotDifference, WorkspaceSource};

pub(super) fn check_record(record: &TaskRecord) -> Result<ChangeSetRef, PromotionRefusal> {
    if record.kind == SandboxKind::Verification {
        return Err(PromotionRefusal::Verification);
    }
    if !record.outcome.is_promotable() {
        return Err(PromotionRefusal::Outcome(record.outcome));
    }
    if record.artifacts.v1_record.is_some() {
        return Err(PromotionRefusal::Imported);
    }
    let changed = record.artifacts.change_set.filter(|change_set| change_set.summary.changed() > 0);
    changed.ok_or(PromotionRefusal::NothingToPromote)
}

pub(super) fn check_events(events: &[(ContentId, Event)], repetition: Repetition) -> Result<(), PromotionRefusal> {
    let events: Vec<Event> = events.iter().map(|(_, event)| event.clone()).collect();
    match (decision(&events), repetition) {
        (None, _) | (_, Repetition::Allowed) => Ok(()),
        (Some(event), Repetition::Refused) => match &event.kind {
            EventKind::Promoted(promoted) if promoted.part.is_some() => Ok(()),
            EventKind::Promoted(promoted) => {
                Err(PromotionRefusal::PromotedBefore { host_path: shown(&promoted.host_path), at: event.at })
            }
            _ => Err(PromotionRefusal::Rejected { at: event.at }),
        },
    }
}

/// A repository that was moved is still the same; where its history is cut off, its place has to tell.
pub(super) fn check_repository(
    started_from: &WorkspaceSource,
    target: &WorkspaceSource,
) -> Result<(), PromotionRefusal> {
    let is_same = match (started_from.root_commit, target.root_commit) {
        (Some(expected), Some(found)) => expected == found,
        _ => started_from.host_path == target.host_path,
    };
    is_same.then_some(()).ok_or_else(|| PromotionRefusal::OtherRepository {
        target: shown(&target.host_path),
        started_from: shown(&started_from.host_path),
    })
}

/// Looks whether HEAD of the same repository is still where a result started from.
pub fn check_head(started_from: &WorkspaceSource, target: &WorkspaceSource) -> Result<(), PromotionRefusal> {
    if started_from.commit != target.commit {
        return Err(PromotionRefusal::HeadMoved {
            target: shown(&target.host_path),
            expected: started_from.commit,
            found: target.commit,
        });
    }
    if started_from.branch != target.branch {
        return Err(PromotionRefusal::OtherBranch {
            target: shown(&target.host_path),
            expected: place(started_from),
            found: place(target),
        });
    }
    Ok(())
}

/// Where HEAD of a source is, in words.
fn place(source: &WorkspaceSource) -> String {
    match &source.branch {
        Some(branch) => format!("branch {}", Escaped(branch.strip_prefix(b"refs/heads/").unwrap_or(branch))),
        None => format!("no branch (detached at {})", source.commit.short()),
    }
}

fn check_clean(target: &TargetFacts) -> Result<(), PromotionRefusal> {
    match &target.cleanliness {
        Cleanliness::Clean => Ok(()),
        Cleanliness::Dirty { first, count } => Err(PromotionRefusal::Dirty {
            target: shown(&target.source.host_path),
            first: first.iter().map(|entry| shown(&entry.path)).collect(),
            count: *count,
        }),
    }
}

/// What began with uncommitted changes is of use where the very same are; the rest of a result, where nothing but the part
/// that was promoted before is uncommitted.
pub(super) fn check_state(record: &TaskRecord, facts: &TargetFacts) -> Result<(), PromotionRefusal> {
    if record.artifacts.source_snapshot.is_none() && facts.cleanliness == Cleanliness::Clean {
        return Ok(());
    }
    let target = shown(&facts.source.host_path);
    let (first, count) = match &facts.expected {
        Some(SnapshotDifference { count: 0, .. }) => return Ok(()),
        None if record.artifacts.source_snapshot.is_none() => return check_clean(facts),
        difference => {
            let SnapshotDifference { first, count } = difference.clone().unwrap_or_default();
            (first.iter().map(|path| shown(path)).collect(), count)
        }
    };
    Err(match record.artifacts.source_snapshot {
        Some(_) => PromotionRefusal::OtherSnapshot { target, first, count },
        None => PromotionRefusal::BesidePromoted { target, first, count },
    })
}

fn shown(path: &[u8]) -> String {
    Escaped(path).to_string()
}
