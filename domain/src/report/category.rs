//! Why a changed path deserves a look.

use super::level::RiskLevel;

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
    /// At least [`LARGE_FILE_BYTES`](super::LARGE_FILE_BYTES) long.
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
    /// Its content gained what looks like a key or a token.
    SecretContent,
    /// Its content gained characters that cannot be seen or reorder others.
    HiddenUnicode,
    /// Runs when the project is built or installed.
    BuildExecution,
    /// It has fewer tests than before, or was one.
    TestRemoved,
    /// Tests are left out that were not before.
    TestSkipped,
    /// The licence or the copyright in its head is no more.
    LicenceRemoved,
    /// It says that a program made it.
    Generated,
    /// It is text whose content was not looked at.
    Unexamined,
}

impl RiskCategory {
    /// Every category.
    pub const ALL: [Self; 27] = [
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
        Self::SecretContent,
        Self::HiddenUnicode,
        Self::BuildExecution,
        Self::TestRemoved,
        Self::TestSkipped,
        Self::LicenceRemoved,
        Self::Generated,
        Self::Unexamined,
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
            Self::SecretContent => "secret_content",
            Self::HiddenUnicode => "hidden_unicode",
            Self::BuildExecution => "build_execution",
            Self::TestRemoved => "test_removed",
            Self::TestSkipped => "test_skipped",
            Self::LicenceRemoved => "licence_removed",
            Self::Generated => "generated",
            Self::Unexamined => "unexamined",
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
            Self::SecretContent => "gained what looks like a key or a token",
            Self::HiddenUnicode => "gained characters that cannot be seen or reorder others",
            Self::BuildExecution => "runs when the project is built or installed",
            Self::TestRemoved => "has fewer tests than before, or was one",
            Self::TestSkipped => "leaves out tests",
            Self::LicenceRemoved => "lost a licence or a copyright in its head",
            Self::Generated => "says that a program made it",
            Self::Unexamined => "has content that was not looked at",
        }
    }

    /// How much a person should look, unless a [`Finding`](super::Finding) knows better.
    ///
    /// High is what acts by itself, without anybody having run the project: on a clone, in an editor, in an agent, on a build
    /// service; what hides something; and what gives away credentials.
    pub const fn level(self) -> RiskLevel {
        match self {
            Self::Hook
            | Self::CiWorkflow
            | Self::AgentInstructions
            | Self::EditorTask
            | Self::IsoboxPolicy
            | Self::HidingRule
            | Self::Secret
            | Self::DeceptiveName
            | Self::SecretContent
            | Self::HiddenUnicode
            | Self::BuildExecution => RiskLevel::High,
            Self::Script
            | Self::DependencyManifest
            | Self::Binary
            | Self::ExecutableEdited
            | Self::ExecutableAdded
            | Self::ModeChange
            | Self::Symlink
            | Self::Submodule
            | Self::NestedRepository
            | Self::GitControl
            | Self::TestRemoved
            | Self::TestSkipped
            | Self::LicenceRemoved
            | Self::Unexamined => RiskLevel::Medium,
            Self::LargeFile | Self::Generated => RiskLevel::Low,
        }
    }

    /// Whether it is about what is no more, so that the lines that it is found in are those of before.
    pub(super) const fn is_about_loss(self) -> bool {
        matches!(self, Self::TestRemoved | Self::LicenceRemoved)
    }

    pub(super) fn index(self) -> usize {
        self as usize
    }
}
