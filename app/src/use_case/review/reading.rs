//! Reads for a review what its screen shows: the lines of one path at a time, and what content is to be looked at.

use super::Ports;
use super::page::Page;
use super::state::Review;
use crate::failure::Failure;
use crate::use_case::file_type;
use crate::use_case::patch_reader::{Part, PatchReader};
use crate::use_case::promote::splittable_part;
use crate::use_case::ranked_report;
use crate::use_case::report::whole;
use crate::use_case::sides::open_patch;
use isobox_domain::change::{Change, ChangeLine};
use isobox_domain::record::TaskRecord;
use isobox_domain::repo_path::RepoPath;
use isobox_domain::report::{ContentFinding, Finding, content_findings, findings, level_of, link_content};
use isobox_ports::ObjectStore;

/// How much of what a patch says of one path is shown, in bytes. A longer one is decided as a whole.
const LONGEST_PART: usize = 256 << 10;
/// Longest side of a file that has hunks here, in bytes.
const LONGEST_SIDE: u64 = 512 << 10;
/// How many paths are looked into between two keys.
const STEP: usize = 16;

/// What is read of the record of a review.
pub(crate) struct Reading<'a> {
    objects: &'a dyn ObjectStore,
    record: &'a TaskRecord,
    /// Where the patch is read, and the last path that was read there.
    patch: Option<(PatchReader, RepoPath)>,
    /// The patch as it is looked into, and the next entry that is. `None`: that is over.
    examined: Option<(ranked_report::Patch, usize)>,
}

impl<'a> Reading<'a> {
    /// Nothing is read yet.
    pub(crate) fn new(ports: &Ports<'a>, record: &'a TaskRecord) -> Result<Self, Failure> {
        let examined = Some((ranked_report::Patch::open(ports.objects, record)?, 0));
        Ok(Self { objects: ports.objects, record, patch: None, examined })
    }

    /// Whether there are contents that were not looked into yet.
    pub(crate) const fn is_examining(&self) -> bool {
        self.examined.is_some()
    }

    /// Looks into the contents of some more paths; ranks all of them once it has looked into the last.
    pub(crate) fn examine(&mut self, review: &mut Review) -> Result<(), Failure> {
        let Some((mut patch, from)) = self.examined.take() else { return Ok(()) };
        let end = (from + STEP).min(review.entries.len());
        for at in from..end {
            let change = review.entries[at].change.clone();
            let content = content_findings(&change, patch.examined(self.objects, &change)?);
            review.found(at, level_of(&self.findings(change, &content)?), content);
        }
        match end == review.entries.len() {
            true => review.rank(),
            false => self.examined = Some((patch, end)),
        }
        Ok(())
    }

    fn findings(&self, change: Change, content: &[ContentFinding]) -> Result<Vec<Finding>, Failure> {
        let line = ChangeLine::Change(change);
        let target = link_content(&line).map(|content| whole(self.objects, &content)).transpose()?;
        Ok(findings(&line, target.as_deref(), content))
    }

    /// Reads the path that the review is at, unless that was read before.
    pub(crate) fn open(&mut self, review: &mut Review) -> Result<(), Failure> {
        let Some(at) = review.unread() else { return Ok(()) };
        let change = review.entries[at].change.clone();
        let page = self.page(&change)?;
        let content = review.found_in(at);
        let findings = self.findings(change.clone(), &content)?;
        let findings = file_type::named(self.objects, &change, findings);
        review.show(at, page, findings);
        Ok(())
    }

    /// What is shown of a change.
    pub(super) fn page(&mut self, change: &Change) -> Result<Page, Failure> {
        let Some(part) = self.part(&change.path)? else {
            return Ok(Page::default().with_remark("The patch has no lines about this path."));
        };
        let is_short = |length: Option<u64>| length.is_none_or(|length| length <= LONGEST_SIDE);
        let before = change.before.as_ref().and_then(|before| before.content);
        let lengths = [before, change.after.as_ref().map(|after| after.content)];
        let is_short = lengths.into_iter().all(|content| is_short(content.map(|content| content.length)));
        let file = match part.is_whole() && is_short {
            true => splittable_part(self.objects, part.bytes.clone(), change)?,
            false => None,
        };
        let left_out = part.length - part.bytes.len() as u64;
        Ok(match file {
            Some(file) => Page::of_hunks(change, &file.header, &file.hunks),
            None if left_out > 0 => {
                let remark = format!("{left_out} more bytes are not shown here: see isobox diff, with this path.");
                Page::of_text(&part.bytes).with_remark(&remark)
            }
            None => Page::of_text(&part.bytes),
        })
    }

    /// What the patch says of a path. It is read from its beginning again for one that was passed by.
    fn part(&mut self, path: &RepoPath) -> Result<Option<Part>, Failure> {
        let (mut patch, _) = match self.patch.take().filter(|(_, last)| last < path) {
            Some(open) => open,
            None => (PatchReader::keeping(open_patch(self.objects, self.record)?, LONGEST_PART), path.clone()),
        };
        let part = patch.find_part(path)?;
        self.patch = Some((patch, path.clone()));
        Ok(part)
    }
}
