//! Derives the Promotion Report from a record's Change Set, line by line.

use crate::failure::{Failure, FailureKind};
use crate::use_case::diff;
use isobox_domain::change::ChangeLine;
use isobox_domain::content::ContentRef;
use isobox_domain::promotion::Chosen;
use isobox_domain::record::TaskRecord;
use isobox_domain::report::{Finding, PromotionReport, link_content};
use isobox_ports::ObjectStore;
use std::io::Read;

/// Receives a line and its findings.
pub(crate) type EachLine<'a> = &'a mut dyn FnMut(&ChangeLine, &[Finding]) -> Result<(), Failure>;

/// Hands every line with its findings to `each`, until that fails; the totals.
pub(crate) fn report(
    objects: &dyn ObjectStore,
    record: &TaskRecord,
    each: EachLine<'_>,
) -> Result<PromotionReport, Failure> {
    report_chosen(objects, record, &Chosen::default(), each)
}

/// The same of the changed paths that were chosen. What was not captured belongs to the whole result alone.
pub(crate) fn report_chosen(
    objects: &dyn ObjectStore,
    record: &TaskRecord,
    chosen: &Chosen,
    each: EachLine<'_>,
) -> Result<PromotionReport, Failure> {
    let mut report = PromotionReport::default();
    let is_shown = |line: &ChangeLine| match line {
        ChangeLine::Change(change) => chosen.admits(&change.path),
        ChangeLine::NotCaptured(_) => *chosen == Chosen::default(),
    };
    diff::each_line(&diff::Ports { objects }, record, &mut |line| {
        if !is_shown(&line) {
            return Ok(());
        }
        let target = link_content(&line).map(|content| link_target(objects, &content)).transpose()?;
        let findings = report.examine(&line, target.as_deref());
        each(&line, &findings)
    })?;
    Ok(report)
}

fn link_target(objects: &dyn ObjectStore, content: &ContentRef) -> Result<Vec<u8>, Failure> {
    let gone = || Failure::new(FailureKind::Store, format!("object {} is not in the task store", content.id));
    let mut target = Vec::new();
    let opened = objects.open(&content.id)?.ok_or_else(gone)?;
    opened
        .take(content.length)
        .read_to_end(&mut target)
        .map_err(|error| Failure::new(FailureKind::Store, format!("read object {}", content.id)).because(error))?;
    Ok(target)
}
