//! The Promotion Report: every changed path with what a reviewer should look at, derived from the Change Set.
//!
//! It informs and never decides. It is made line by line, so its memory does not grow with the Change Set.

mod link;
mod names;

use crate::change::{After, Change, ChangeKind, ChangeLine, ChangeSummary, Mode, NotCapturedReason, RuleOrigin};
use crate::content::ContentRef;
use crate::escape::{Escaped, is_deceptive};

/// From how many bytes on a file is called large: 1 MiB, the size from which a View leaves an artifact out.
pub const LARGE_FILE_BYTES: u64 = 1 << 20;

/// Longest target of a link that is examined, in bytes; a longer one can be followed on no Linux file system.
pub const MAX_LINK_TARGET_BYTES: u64 = 4095;

/// Why a changed path deserves a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RiskCategory {
    /// Runs when somebody calls it: shell scripts, build recipes, files below `scripts/`.
    Script,
    /// Runs by itself around Git commands.
    Hook,
    /// Decides which foreign code is fetched, or is fetched code.
    DependencyManifest,
    /// Runs on a build service, often with secrets.
    CiWorkflow,
    /// At least [`LARGE_FILE_BYTES`] long.
    LargeFile,
    /// Cannot be read as text.
    Binary,
    /// A file that was executable before has other content.
    ExecutableEdited,
    /// An executable file that was not there before.
    ExecutableAdded,
    /// The executable bit, or the kind of thing that the path names, changed.
    ModeChange,
    /// A symbolic link.
    Symlink,
    /// A submodule, or a path inside one.
    Submodule,
    /// A repository inside the Workspace; it was not captured.
    NestedRepository,
    /// Read by coding agents as instructions, settings or commands.
    AgentInstructions,
    /// Run or obeyed by an editor that opens the project.
    EditorTask,
    /// isobox's own policy.
    IsoboxPolicy,
    /// Steers what Git tracks, converts or fetches.
    GitControl,
    /// An ignore rule that the workload added keeps something out of the result.
    HidingRule,
    /// Its name says that it holds credentials.
    Secret,
    /// Its name has characters that are invisible or reorder others.
    DeceptiveName,
}

impl RiskCategory {
    /// Every category.
    pub const ALL: [Self; 19] = [
        Self::Script,
        Self::Hook,
        Self::DependencyManifest,
        Self::CiWorkflow,
        Self::LargeFile,
        Self::Binary,
        Self::ExecutableEdited,
        Self::ExecutableAdded,
        Self::ModeChange,
        Self::Symlink,
        Self::Submodule,
        Self::NestedRepository,
        Self::AgentInstructions,
        Self::EditorTask,
        Self::IsoboxPolicy,
        Self::GitControl,
        Self::HidingRule,
        Self::Secret,
        Self::DeceptiveName,
    ];

    /// The name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Script => "script",
            Self::Hook => "hook",
            Self::DependencyManifest => "dependency_manifest",
            Self::CiWorkflow => "ci_workflow",
            Self::LargeFile => "large_file",
            Self::Binary => "binary",
            Self::ExecutableEdited => "executable_edited",
            Self::ExecutableAdded => "executable_added",
            Self::ModeChange => "mode_change",
            Self::Symlink => "symlink",
            Self::Submodule => "submodule",
            Self::NestedRepository => "nested_repository",
            Self::AgentInstructions => "agent_instructions",
            Self::EditorTask => "editor_task",
            Self::IsoboxPolicy => "isobox_policy",
            Self::GitControl => "git_control",
            Self::HidingRule => "hiding_rule",
            Self::Secret => "secret",
            Self::DeceptiveName => "deceptive_name",
        }
    }

    /// Why a person should look, in a few words.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Script => "runs when somebody calls it",
            Self::Hook => "runs by itself around Git commands",
            Self::DependencyManifest => "decides which foreign code is fetched, or is fetched code",
            Self::CiWorkflow => "runs on a build service, often with secrets",
            Self::LargeFile => "is large",
            Self::Binary => "cannot be read as text",
            Self::ExecutableEdited => "was executable before, and has other content",
            Self::ExecutableAdded => "is executable, and was not there before",
            Self::ModeChange => "became executable, or another kind of thing, or is no more",
            Self::Symlink => "is a symbolic link",
            Self::Submodule => "is a submodule, or in one",
            Self::NestedRepository => "is a repository, which was not captured",
            Self::AgentInstructions => "is read by coding agents as instructions, settings or commands",
            Self::EditorTask => "is run or obeyed by an editor that opens the project",
            Self::IsoboxPolicy => "says what the next tasks may do; `isobox policy check` reads it",
            Self::GitControl => "steers what Git tracks, converts or fetches",
            Self::HidingRule => "keeps something out of the result",
            Self::Secret => "has a name that says it holds credentials",
            Self::DeceptiveName => "has a name with characters that cannot be seen or reorder others",
        }
    }

    fn index(self) -> usize {
        self as usize
    }
}

/// One reason to look at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The category.
    pub category: RiskCategory,
    /// What the category alone does not say, escaped for people.
    pub note: Option<String>,
}

impl Finding {
    fn plain(category: RiskCategory) -> Self {
        Self { category, note: None }
    }

    fn noted(category: RiskCategory, note: impl Into<String>) -> Self {
        Self { category, note: Some(note.into()) }
    }
}

/// The totals of a report that is being made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromotionReport {
    summary: ChangeSummary,
    flagged: u64,
    counts: [u64; RiskCategory::ALL.len()],
}

impl PromotionReport {
    /// Adds one line and says why a reviewer should look at it; in the order of [`RiskCategory::ALL`], each category once.
    ///
    /// `link_target` is the content that [`link_content`] names, if the caller could read it.
    pub fn examine(&mut self, line: &ChangeLine, link_target: Option<&[u8]>) -> Vec<Finding> {
        let findings = findings(line, link_target);
        self.summary.count(line);
        self.flagged += u64::from(!findings.is_empty());
        for finding in &findings {
            self.counts[finding.category.index()] += 1;
        }
        findings
    }

    /// Totals of the lines.
    pub fn summary(&self) -> ChangeSummary {
        self.summary
    }

    /// Lines with at least one finding.
    pub fn flagged(&self) -> u64 {
        self.flagged
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

fn findings(line: &ChangeLine, link_target: Option<&[u8]>) -> Vec<Finding> {
    let (path, mut findings) = match line {
        ChangeLine::Change(change) => (change.path.as_bytes(), change_findings(change, link_target)),
        ChangeLine::NotCaptured(left_out) => {
            (left_out.workspace_path.as_slice(), left_out_finding(&left_out.reason).into_iter().collect())
        }
    };
    if has_deceptive_name(path) {
        findings.push(Finding::plain(RiskCategory::DeceptiveName));
    }
    findings.sort_by_key(|finding| finding.category.index());
    findings
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
            findings.push(Finding::noted(RiskCategory::Symlink, link::describe(&change.path, link_target)));
        }
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
mod tests;
