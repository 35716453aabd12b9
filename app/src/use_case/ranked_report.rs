//! The report of a Task Result with what its content gained and lost, the paths to look at first being first.
//!
//! One pass reads the Change Set and the patch side by side. Of a path it keeps a level, of a finding a few numbers: no
//! path and no content. Then the Change Set is read once for each level, and beside it the patch where a manifest is to be compared
//! with what it was.

use crate::failure::{Failure, FailureKind};
use crate::use_case::dependencies::Comparison;
use crate::use_case::diff;
use crate::use_case::file_type;
use crate::use_case::report::{EachLine, whole};
use isobox_domain::change::{After, Change, ChangeLine, Mode};
use isobox_domain::promotion::Selection;
use isobox_domain::record::TaskRecord;
use isobox_domain::report::{
    ContentFinding, ExaminedPart, Finding, PatchScan, PromotionReport, RiskLevel, content_findings, examine_text,
    findings, level_of, link_content,
};
use isobox_ports::{Content, Manifests, ObjectStore};
use std::io::Read;

/// Longest text that is looked into without the patch, in bytes: as long as one that the patch has the lines of.
const LONGEST_TEXT: u64 = 2 << 20;

/// How much of a patch is read at once, in bytes.
const PIECE: usize = 64 << 10;

/// What a report is read from.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) objects: &'a dyn ObjectStore,
    pub(crate) manifests: &'a dyn Manifests,
}

/// What of a record is told, and as what.
pub(crate) trait Extract {
    /// A line as it is told; `None`: it was not asked for.
    fn told(&self, line: ChangeLine) -> Option<ChangeLine>;

    /// What was found in the content of a change that is told in part. `None`: what the patch has of it.
    fn part_of(&self, _: &Change) -> Option<ExaminedPart> {
        None
    }
}

/// Whole paths.
impl Extract for Selection {
    fn told(&self, line: ChangeLine) -> Option<ChangeLine> {
        diff::is_at(self, &line).then_some(line)
    }
}

/// Where a line of the Change Set stands in the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rank {
    /// It was not asked for.
    NotChosen,
    /// This is its level; `None` where there is nothing to look at.
    Level(Option<RiskLevel>),
}

/// A report that is ready to be told.
pub(crate) struct RankedReport<'a> {
    extract: &'a dyn Extract,
    /// Whether content was looked into.
    is_examined: bool,
    totals: PromotionReport,
    ranks: Vec<Rank>,
    /// What was found in content, each with the place of its line in the Change Set, in ascending order.
    found: Vec<(usize, ContentFinding)>,
}

/// Looks at everything that `extract` tells.
pub(crate) fn rank<'a>(
    objects: &dyn ObjectStore,
    record: &TaskRecord,
    extract: &'a dyn Extract,
) -> Result<RankedReport<'a>, Failure> {
    rank_with(Patch::open(objects, record)?, objects, record, extract)
}

/// The same where the patch cannot be read: then no content is looked into, and the report says so of each text.
pub(crate) fn rank_unexamined<'a>(
    objects: &dyn ObjectStore,
    record: &TaskRecord,
    extract: &'a dyn Extract,
) -> Result<RankedReport<'a>, Failure> {
    Ok(RankedReport { is_examined: false, ..rank_with(Patch::of(None), objects, record, extract)? })
}

fn rank_with<'a>(
    mut patch: Patch,
    objects: &dyn ObjectStore,
    record: &TaskRecord,
    extract: &'a dyn Extract,
) -> Result<RankedReport<'a>, Failure> {
    let totals = PromotionReport::default();
    let mut report = RankedReport { extract, is_examined: true, totals, ranks: Vec::new(), found: Vec::new() };
    diff::each_line(&diff::Ports { objects }, record, &mut |line| {
        let Some(line) = extract.told(line) else {
            report.ranks.push(Rank::NotChosen);
            return Ok(());
        };
        let content = match &line {
            ChangeLine::Change(change) => {
                let in_patch = patch.examined(objects, change)?;
                content_findings(change, extract.part_of(change).or(in_patch))
            }
            ChangeLine::NotCaptured(_) => Vec::new(),
        };
        let target = link_content(&line).map(|content| whole(objects, &content)).transpose()?;
        let level = level_of(&report.totals.examine_content(&line, target.as_deref(), &content));
        report.found.extend(content.into_iter().map(|found| (report.ranks.len(), found)));
        report.ranks.push(Rank::Level(level));
        Ok(())
    })?;
    Ok(report)
}

impl RankedReport<'_> {
    /// The totals.
    pub(crate) const fn totals(&self) -> &PromotionReport {
        &self.totals
    }

    /// Hands every line that deserves a look to `each`: by level, the highest first, then in the order of their paths.
    pub(crate) fn each_flagged(
        &self,
        ports: &Ports<'_>,
        record: &TaskRecord,
        each: EachLine<'_>,
    ) -> Result<(), Failure> {
        RiskLevel::ALL.into_iter().try_for_each(|level| self.each_of(Some(level), ports, record, each))
    }

    /// The same, and then every other line that was asked for.
    pub(crate) fn each(&self, ports: &Ports<'_>, record: &TaskRecord, each: EachLine<'_>) -> Result<(), Failure> {
        self.each_flagged(ports, record, each)?;
        self.each_of(None, ports, record, each)
    }

    /// The findings of `line`, which stands at `place` in the Change Set.
    pub(crate) fn findings_of(
        &self,
        objects: &dyn ObjectStore,
        place: usize,
        line: &ChangeLine,
    ) -> Result<Vec<Finding>, Failure> {
        self.findings(objects, place, line)
    }

    fn each_of(
        &self,
        level: Option<RiskLevel>,
        ports: &Ports<'_>,
        record: &TaskRecord,
        each: EachLine<'_>,
    ) -> Result<(), Failure> {
        let rank = Rank::Level(level);
        if !self.ranks.contains(&rank) {
            return Ok(());
        }
        let Ports { objects, manifests } = *ports;
        let mut dependencies = Comparison::new(objects, manifests, record);
        let mut place = 0;
        diff::each_line(&diff::Ports { objects }, record, &mut |line| {
            let at = place;
            place += 1;
            if self.ranks.get(at) != Some(&rank) {
                return Ok(());
            }
            let Some(line) = self.extract.told(line) else { return Ok(()) };
            let findings = self.findings(objects, at, &line)?;
            match self.is_examined {
                true => each(&line, &dependencies.complete(&line, findings)?),
                false => each(&line, &findings),
            }
        })
    }

    fn findings(&self, objects: &dyn ObjectStore, at: usize, line: &ChangeLine) -> Result<Vec<Finding>, Failure> {
        let first = self.found.partition_point(|(place, _)| *place < at);
        let content: Vec<_> =
            self.found[first..].iter().take_while(|(place, _)| *place == at).map(|(_, found)| *found).collect();
        let target = link_content(line).map(|content| whole(objects, &content)).transpose()?;
        let findings = findings(line, target.as_deref(), &content);
        Ok(match line {
            ChangeLine::Change(change) => file_type::named(objects, change, findings),
            ChangeLine::NotCaptured(_) => findings,
        })
    }
}

/// The patch of a record, read beside its Change Set: both are in the order of their paths.
pub(in crate::use_case) struct Patch {
    content: Option<Content>,
    scan: PatchScan,
    /// A part that was read before its line came.
    ahead: Option<ExaminedPart>,
    buffer: Vec<u8>,
}

impl Patch {
    pub(super) fn open(objects: &dyn ObjectStore, record: &TaskRecord) -> Result<Self, Failure> {
        let gone = |id| Failure::new(FailureKind::Store, format!("the patch ({id}) is not in the task store"));
        let open = |id| objects.open(&id)?.ok_or_else(|| gone(id).with_hint("it was pruned, or the store lost it"));
        let content = record.artifacts.patch.map(|patch| open(patch.id)).transpose()?;
        Ok(Self::of(content))
    }

    fn of(content: Option<Content>) -> Self {
        Self { content, scan: PatchScan::default(), ahead: None, buffer: vec![0; PIECE] }
    }

    /// What was found in the lines of a change. What was no text before has none in the patch: it is looked into as it is now.
    pub(super) fn examined(
        &mut self,
        objects: &dyn ObjectStore,
        change: &Change,
    ) -> Result<Option<ExaminedPart>, Failure> {
        let part = self.part_of(change)?;
        let after = change.after.as_ref().filter(|after| !after.binary && after.content.length <= LONGEST_TEXT);
        match (&part, after) {
            (
                Some(ExaminedPart { is_text: false, .. }),
                Some(After { mode: Mode::File | Mode::Executable, content, .. }),
            ) => Ok(examine_text(change.path.as_bytes(), &whole(objects, content)?).or(part)),
            _ => Ok(part),
        }
    }

    fn part_of(&mut self, change: &Change) -> Result<Option<ExaminedPart>, Failure> {
        loop {
            let Some(part) = self.next_part()? else { return Ok(None) };
            if part.path.as_slice() == change.path.as_bytes() {
                return Ok(Some(part));
            }
            if part.path.as_slice() > change.path.as_bytes() {
                self.ahead = Some(part);
                return Ok(None);
            }
        }
    }

    fn next_part(&mut self) -> Result<Option<ExaminedPart>, Failure> {
        if let Some(ahead) = self.ahead.take() {
            return Ok(Some(ahead));
        }
        loop {
            if let Some(part) = self.scan.next_part() {
                return Ok(Some(part));
            }
            let Some(content) = &mut self.content else { return Ok(None) };
            let unread = |error| Failure::new(FailureKind::Store, "read the patch").because(error);
            match content.read(&mut self.buffer).map_err(unread)? {
                0 => {
                    self.content = None;
                    self.scan.finish();
                }
                length => self.scan.push(&self.buffer[..length]),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobox_domain::content::{ContentId, ContentRef};
    use isobox_domain::repo_path::RepoPath;

    fn added(path: &str) -> Change {
        let content = ContentRef { id: ContentId::new([1; 32]), length: 1 };
        Change {
            path: RepoPath::parse(path).expect("a path"),
            before: None,
            after: Some(After { mode: Mode::File, content, binary: false }),
            renamed_from: None,
            submodule: None,
        }
    }

    #[test]
    fn a_path_that_the_patch_leaves_out_takes_nothing_from_its_neighbours() {
        let part = |path: &str| format!("diff --git a/{path} b/{path}\n@@ -0,0 +1,1 @@\n+x\n");
        let patch = ["a", "c", "d"].map(part).concat().into_bytes();
        let mut patch = Patch::of(Some(Box::new(std::io::Cursor::new(patch))));
        let found = ["b", "c", "e"].map(|path| patch.part_of(&added(path)).expect("a patch").map(|part| part.path));
        assert_eq!(found, [None, Some(b"c".to_vec()), None]);
    }
}
