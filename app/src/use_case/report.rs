//! Derives the Promotion Report from a record's Change Set, line by line.

use crate::failure::{Failure, FailureKind};
use crate::use_case::diff;
use isobox_domain::change::ChangeLine;
use isobox_domain::content::ContentRef;
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
    let mut report = PromotionReport::default();
    diff::each_line(&diff::Ports { objects }, record, &mut |line| {
        let target = link_content(&line).map(|content| whole(objects, &content)).transpose()?;
        let findings = report.examine(&line, target.as_deref());
        each(&line, &findings)
    })?;
    Ok(report)
}

/// A content, whole: the caller knows how long it is.
pub(in crate::use_case) fn whole(objects: &dyn ObjectStore, content: &ContentRef) -> Result<Vec<u8>, Failure> {
    let gone = || Failure::new(FailureKind::Store, format!("object {} is not in the task store", content.id));
    let mut bytes = Vec::new();
    let opened = objects.open(&content.id)?.ok_or_else(gone)?;
    opened
        .take(content.length)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::new(FailureKind::Store, format!("read object {}", content.id)).because(error))?;
    Ok(bytes)
}
