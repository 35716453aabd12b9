//! The end of an attempt: its record becomes durable, its View is written, its Workspace goes.

use super::carry_out::{Performed, Standing};
use super::{Attempted, Ports, Progress, Retention, TaskRequest, Tell, Timekeeping};
use crate::failure::{Failure, one_line};
use crate::use_case::disposal::{dispose, dispose_copies, retain};
use crate::use_case::view;
use isobox_domain::content::ContentId;
use isobox_domain::escape::Escaped;
use isobox_domain::record::{TaskRecord, WorkspaceFate};
use isobox_domain::timings::{Phase, Timings};
use isobox_ports::Attempt;

/// Forgets an attempt in which nothing was made.
pub(super) fn give_up(attempt: Box<dyn Attempt>, failure: Failure) -> Failure {
    match attempt.discard() {
        Ok(()) => failure,
        Err(_) => failure.with_hint("a later start removes what is left of the attempt"),
    }
}

/// Forgets an attempt whose Workspace was never made, and its empty place.
pub(super) fn take_back(ports: &Ports<'_>, attempt: Box<dyn Attempt>, place: &[u8], refused: Failure) -> Failure {
    let copies = dispose_copies(ports.copies, &*attempt);
    match (ports.workspaces.dispose(place), copies) {
        (Ok(()), Ok(())) => give_up(attempt, refused),
        // The attempt names the places: a later start tries again.
        _ => refused,
    }
}

/// Publishes `record`, then writes its View and removes or keeps the Workspace.
pub(super) fn publish(
    ports: &Ports<'_>,
    request: &TaskRequest<'_>,
    attempt: Box<dyn Attempt>,
    mut record: TaskRecord,
    place: &[u8],
    performed: Performed,
    tell: Tell<'_>,
) -> Result<Attempted, Failure> {
    settle_fate(ports, request, &mut record, place, &performed.workspace);
    keep_timings(ports, request, &mut record);
    record.warnings.iter().chain(&performed.remarks).for_each(|warning| tell(Progress::Warning(warning)));
    let published = match ports.records.publish_keeping(attempt, &record) {
        Ok((digest, attempt)) => Published { record: &record, digest, attempt, place },
        Err(error) => return Err(unpublished(Failure::from(error), &record, performed.workspace)),
    };
    let digest = published.digest;
    ports.laps.end(Phase::Publish);
    finish(ports, request, published, tell);
    // Its last processes, which do nothing more, have ended meanwhile.
    drop(performed.sandbox);
    ports.laps.end(Phase::Dispose);
    Ok(Attempted { record, digest, code: performed.code })
}

// What comes from here on cannot be in what is published now.
fn keep_timings(ports: &Ports<'_>, request: &TaskRequest<'_>, record: &mut TaskRecord) {
    if request.timekeeping == Timekeeping::Recorded {
        let timings = ports.laps.timings().to_string().into_bytes();
        record.extensions.push((Timings::EXTENSION.to_owned(), timings));
    }
}

/// An attempt whose record is durable.
struct Published<'a> {
    record: &'a TaskRecord,
    digest: ContentId,
    attempt: Box<dyn Attempt>,
    /// Where its Workspace is.
    place: &'a [u8],
}

/// Writes the View and removes the Workspace, at the same time: neither needs the other, and the caller waits for both.
fn finish(ports: &Ports<'_>, request: &TaskRequest<'_>, published: Published<'_>, tell: Tell<'_>) {
    let Published { record, digest, attempt, place } = published;
    let (view, disposed) = std::thread::scope(|scope| {
        let disposed = scope.spawn(|| dispose((ports.workspaces, ports.copies), attempt, record, Some(place)));
        let view = view::write(ports.views, ports.objects, record, &digest, &[], request.policy.views);
        (view, disposed.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    if let Err(error) = view {
        tell(Progress::Warning(&format!("the view of the record was not written: {}", one_line(&error))));
    }
    if let Err(error) = disposed {
        let error = one_line(&error);
        tell(Progress::Warning(&format!("the workspace was not removed, a later start tries again: {error}")));
    }
}

// A Workspace is kept where the user asked for it, and where it alone holds what the workload did.
fn settle_fate(
    ports: &Ports<'_>,
    request: &TaskRequest<'_>,
    record: &mut TaskRecord,
    place: &[u8],
    standing: &Standing,
) {
    match standing {
        Standing::Incomplete => {}
        Standing::Captured(_) if request.retention == Retention::Dispose => record.workspace = WorkspaceFate::Disposed,
        Standing::Captured(mount) | Standing::Needed(mount) => retain(ports.workspaces, record, place, mount),
    }
}

// The attempt itself is left for a later start, and so must be the Workspace: its capture may not be durable.
fn unpublished(failure: Failure, record: &TaskRecord, standing: Standing) -> Failure {
    let kept = match standing {
        Standing::Incomplete => String::new(),
        Standing::Captured(mount) | Standing::Needed(mount) => {
            format!("; the workspace was kept at {}", Escaped::path(mount.host_path()))
        }
    };
    let what = format!("the record of {} could not be published{kept}; a later start does it", record.task);
    failure.while_doing(what)
}
