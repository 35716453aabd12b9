//! The View of a record, as it is after the events so far.

use crate::failure::Failure;
use crate::output::{record_json, report_json};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::event::Event;
use isobox_domain::policy::ViewLimit;
use isobox_domain::record::TaskRecord;
use isobox_ports::{ObjectStore, View, Views};

/// Writes the View of a record, in place of an earlier one. Nothing is written where no View is wanted.
pub(super) fn write(
    views: &dyn Views,
    objects: &dyn ObjectStore,
    record: &TaskRecord,
    digest: &ContentId,
    events: &[Event],
    limit: ViewLimit,
) -> Result<(), Failure> {
    if limit == ViewLimit::Newest(0) {
        return Ok(());
    }
    let report = report_json::document(objects, record)?;
    let record_json = record_json::view_document(record, digest, events, report, None);
    let artifacts = &record.artifacts;
    let named = [("stdout.txt", artifacts.stdout), ("stderr.txt", artifacts.stderr), ("diff.patch", artifacts.patch)];
    let named: Vec<(&'static str, ContentRef)> =
        named.into_iter().filter_map(|(name, artifact)| Some((name, artifact?))).collect();
    Ok(views.write(&View { task: record.task, record_json: &record_json, artifacts: &named }, objects, limit)?)
}
