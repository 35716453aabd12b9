//! The Promotion Report: every changed path with what a reviewer should look at, derived from the Change Set.
//!
//! It informs and never decides. It is made line by line, so its memory does not grow with the Change Set.

mod category;
mod content;
mod dependency;
mod level;
mod link;
mod marks;
mod names;
mod patch;

pub use category::RiskCategory;
pub use content::ContentFinding;
pub use dependency::{Dependencies, DependencyChange, DependencyChanges, DependencyKey, Manifest};
pub use level::RiskLevel;
pub use names::is_test;
pub use patch::{ExaminedPart, PatchScan, content_findings, examine_hunks, examine_text};

use crate::change::{After, Change, ChangeKind, ChangeLine, ChangeSummary, Mode, NotCapturedReason, RuleOrigin};
use crate::content::ContentRef;
use crate::escape::{Escaped, is_deceptive};

/// From how many bytes on a file is called large: 1 MiB, the size from which a View leaves an artifact out.
pub const LARGE_FILE_BYTES: u64 = 1 << 20;

/// Longest target of a link that is examined, in bytes; a longer one can be followed on no Linux file system.
pub const MAX_LINK_TARGET_BYTES: u64 = 4095;

/// One reason to look at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The category.
    pub category: RiskCategory,
    /// How much: that of the category, unless the finding is known to be worse or harmless.
    pub level: RiskLevel,
    /// The line of the file as it is now that it is about, counted from 1.
    pub line: Option<u32>,
    /// What the category alone does not say, escaped for people.
    pub note: Option<String>,
    /// What became of the dependencies, if it is about a manifest that was compared with what it was.
    pub dependencies: Option<DependencyChanges>,
}

impl Finding {
    fn plain(category: RiskCategory) -> Self {
        Self { category, level: category.level(), line: None, note: None, dependencies: None }
    }

    fn noted(category: RiskCategory, note: impl Into<String>) -> Self {
        Self { note: Some(note.into()), ..Self::plain(category) }
    }
}

/// The level of a path: the highest of its findings.
pub fn level_of(findings: &[Finding]) -> Option<RiskLevel> {
    findings.iter().map(|finding| finding.level).max()
}

/// The totals of a report that is being made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromotionReport {
    summary: ChangeSummary,
    levels: [u64; RiskLevel::ALL.len()],
    counts: [u64; RiskCategory::ALL.len()],
}

impl PromotionReport {
    /// Adds one line and says why a reviewer should look at it, judged without its content; in the order of
    /// [`RiskCategory::ALL`].
    ///
    /// `link_target` is the content that [`link_content`] names, if the caller could read it.
    pub fn examine(&mut self, line: &ChangeLine, link_target: Option<&[u8]>) -> Vec<Finding> {
        self.examine_content(line, link_target, &[])
    }

    /// The same with what its content gained and lost.
    pub fn examine_content(
        &mut self,
        line: &ChangeLine,
        link_target: Option<&[u8]>,
        content: &[ContentFinding],
    ) -> Vec<Finding> {
        let findings = findings(line, link_target, content);
        self.summary.count(line);
        if let Some(level) = level_of(&findings) {
            self.levels[level.index()] += 1;
        }
        for (position, finding) in findings.iter().enumerate() {
            let is_first = findings[..position].iter().all(|earlier| earlier.category != finding.category);
            self.counts[finding.category.index()] += u64::from(is_first);
        }
        findings
    }

    /// Totals of the lines.
    pub fn summary(&self) -> ChangeSummary {
        self.summary
    }

    /// Lines with at least one finding.
    pub fn flagged(&self) -> u64 {
        self.levels.iter().sum()
    }

    /// Lines whose level this is, the highest level first.
    pub fn levels(&self) -> [(RiskLevel, u64); RiskLevel::ALL.len()] {
        RiskLevel::ALL.map(|level| (level, self.levels[level.index()]))
    }

    /// Lines with a finding of this category.
    pub fn count(&self, category: RiskCategory) -> u64 {
        self.counts[category.index()]
    }

    /// The categories that were found, each with its number of lines.
    pub fn categories(&self) -> impl Iterator<Item = (RiskCategory, u64)> {
        RiskCategory::ALL.into_iter().map(|category| (category, self.count(category))).filter(|&(_, count)| count > 0)
    }
}

/// The content to hand to [`PromotionReport::examine`]: the target of a link, unless no link could have it.
pub fn link_content(line: &ChangeLine) -> Option<ContentRef> {
    match line {
        ChangeLine::Change(Change { after: Some(After { mode: Mode::Symlink, content, .. }), .. }) => {
            (content.length <= MAX_LINK_TARGET_BYTES).then_some(*content)
        }
        _ => None,
    }
}

/// Why a reviewer should look at a line; in the order of [`RiskCategory::ALL`].
pub fn findings(line: &ChangeLine, link_target: Option<&[u8]>, content: &[ContentFinding]) -> Vec<Finding> {
    let (path, mut findings) = match line {
        ChangeLine::Change(change) => (change.path.as_bytes(), change_findings(change, link_target)),
        ChangeLine::NotCaptured(left_out) => {
            (left_out.workspace_path.as_slice(), left_out_finding(&left_out.reason).into_iter().collect())
        }
    };
    if has_deceptive_name(path) {
        findings.push(Finding::plain(RiskCategory::DeceptiveName));
    }
    findings.extend(content.iter().filter(|found| !is_of_deleted(line, found)).map(ContentFinding::told));
    findings.sort_by_key(|finding| finding.category.index());
    findings
}

/// What a file lost goes without saying where the whole of it is no more.
fn is_of_deleted(line: &ChangeLine, found: &ContentFinding) -> bool {
    matches!(line, ChangeLine::Change(Change { after: None, .. })) && found.category.is_about_loss()
}

fn change_findings(change: &Change, link_target: Option<&[u8]>) -> Vec<Finding> {
    let mut findings: Vec<_> = names::categories(&change.path).map(Finding::plain).collect();
    if let Some(after) = &change.after {
        if after.content.length >= LARGE_FILE_BYTES {
            findings.push(Finding::noted(RiskCategory::LargeFile, format!("{} bytes", after.content.length)));
        }
        if after.binary && after.mode != Mode::Symlink {
            findings.push(Finding::plain(RiskCategory::Binary));
        }
        if after.mode == Mode::Symlink {
            findings.push(link::finding(&change.path, link_target));
        }
    }
    if change.after.is_none() && names::is_test(&change.path) {
        findings.push(Finding::noted(RiskCategory::TestRemoved, "the whole file is no more"));
    }
    if change.after.is_none() && names::is_licence(&change.path) {
        findings.push(Finding::noted(RiskCategory::LicenceRemoved, "the whole file is no more"));
    }
    findings.extend(executable_finding(change));
    findings.extend(mode_finding(change));
    findings.extend(submodule_finding(change));
    findings
}

fn executable_finding(change: &Change) -> Option<Finding> {
    let before = change.before.as_ref().map(|before| before.mode);
    let after = change.after.as_ref()?;
    match (before, after.mode) {
        (Some(Mode::Executable), Mode::File | Mode::Executable) => {
            let same = change.before.as_ref().and_then(|before| before.content) == Some(after.content);
            (!same).then(|| Finding::plain(RiskCategory::ExecutableEdited))
        }
        (Some(Mode::Executable), _) => Some(Finding::plain(RiskCategory::ExecutableEdited)),
        (None | Some(Mode::Symlink | Mode::Submodule), Mode::Executable) => {
            Some(Finding::plain(RiskCategory::ExecutableAdded))
        }
        _ => None,
    }
}

fn mode_finding(change: &Change) -> Option<Finding> {
    let (before, after) = (change.before.as_ref()?.mode, change.after.as_ref()?.mode);
    let note = match (before, after) {
        (Mode::File, Mode::Executable) => "became executable".to_owned(),
        (Mode::Executable, Mode::File) => "is executable no more".to_owned(),
        _ if change.kind() == ChangeKind::TypeChanged => {
            format!("{} became {}", mode_words(before), mode_words(after))
        }
        _ => return None,
    };
    Some(Finding::noted(RiskCategory::ModeChange, note))
}

fn mode_words(mode: Mode) -> &'static str {
    match mode {
        Mode::File => "a file",
        Mode::Executable => "an executable file",
        Mode::Symlink => "a symbolic link",
        Mode::Submodule => "a submodule",
    }
}

fn submodule_finding(change: &Change) -> Option<Finding> {
    if let Some(submodule) = &change.submodule {
        return Some(Finding::noted(RiskCategory::Submodule, format!("inside submodule {submodule}")));
    }
    let was_submodule = change.before.as_ref().is_some_and(|before| before.mode == Mode::Submodule);
    was_submodule.then(|| Finding::plain(RiskCategory::Submodule))
}

fn left_out_finding(reason: &NotCapturedReason) -> Option<Finding> {
    match reason {
        NotCapturedReason::NestedRepository => Some(Finding::plain(RiskCategory::NestedRepository)),
        NotCapturedReason::Ignored { rule, rule_file, origin: RuleOrigin::Workload } => {
            let note = format!("rule `{}` in {rule_file} was added by the workload", Escaped(rule));
            Some(Finding::noted(RiskCategory::HidingRule, note))
        }
        NotCapturedReason::SpecialModeBits(bits) => {
            Some(Finding::noted(RiskCategory::ModeChange, format!("mode bits {bits:04o} are not captured")))
        }
        _ => None,
    }
}

/// Invisible characters, and bytes that are no UTF-8, which no tool shows alike.
fn has_deceptive_name(path: &[u8]) -> bool {
    path.utf8_chunks()
        .any(|chunk| !chunk.invalid().is_empty() || chunk.valid().chars().any(|c| is_deceptive(c) || c.is_control()))
}

#[cfg(test)]
mod content_tests;
#[cfg(test)]
mod tests;
