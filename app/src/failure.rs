//! A failure as a command ends with it: what did not work, why, and what to do next.

use crate::exit_code::ExitCode;
use isobox_domain::fact::Refused;
use isobox_domain::policy::Unmet;
use isobox_ports::{
    AppendError, ApplyError, Cause, NotNow, PolicyError, PolicyPinsError, PrivateCopyError, ProjectFilesError,
    RepositoryError, StoreError, StoreErrorKind, UpdateError, WorkspaceError,
};
use std::error::Error;

/// What kind of failure it is, as far as exit codes tell kinds apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// The answer is no, or anything that has no kind of its own.
    General,
    /// The command line asks for something that cannot be.
    Usage,
    /// A policy is invalid.
    Policy,
    /// A Promotion was refused; the repository is as it was.
    PromotionRefused,
    /// A Task was not found, or its name is ambiguous.
    TaskNotFound,
    /// The Task Store is missing, locked, full or damaged.
    Store,
    /// There was no Sandbox to verify a result in, or isobox failed around it.
    Verification,
}

impl FailureKind {
    /// The exit code of commands other than `run` and `tool`.
    pub(crate) const fn exit_code(self) -> ExitCode {
        match self {
            Self::General => ExitCode::NO,
            Self::Usage => ExitCode::USAGE,
            Self::Policy => ExitCode::POLICY,
            Self::PromotionRefused => ExitCode::PROMOTION_REFUSED,
            Self::TaskNotFound => ExitCode::TASK_NOT_FOUND,
            Self::Store => ExitCode::STORE,
            Self::Verification => ExitCode::ISOBOX_FAILED,
        }
    }

    /// The name in `--json-errors`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::Usage => "usage",
            Self::Policy => "policy",
            Self::PromotionRefused => "promotion_refused",
            Self::TaskNotFound => "task_not_found",
            Self::Store => "store",
            Self::Verification => "verification",
        }
    }
}

/// A failure that ends a command.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Failure {
    /// What kind it is.
    pub(crate) kind: FailureKind,
    /// What was being done, to what.
    pub(crate) message: String,
    /// Why it did not work.
    #[source]
    pub(crate) source: Option<Cause>,
    /// What to do next.
    pub(crate) hint: Option<String>,
    /// What is required and not enforced, where that is why.
    pub(crate) unmet: Vec<Unmet>,
}

impl Failure {
    /// A failure without a cause.
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None, hint: None, unmet: Vec::new() }
    }

    /// Adds why it did not work.
    #[must_use]
    pub(crate) fn because(mut self, cause: impl Into<Cause>) -> Self {
        self.source = Some(cause.into());
        self
    }

    /// Adds what to do next, unless a more specific hint is there already.
    #[must_use]
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint.get_or_insert_with(|| hint.into());
        self
    }

    /// The same failure as the cause of `message`: kind, hint and what is not enforced stay.
    #[must_use]
    pub(crate) fn while_doing(self, message: impl Into<String>) -> Self {
        let (kind, hint, unmet) = (self.kind, self.hint.clone(), self.unmet.clone());
        Self { kind, message: message.into(), source: Some(Box::new(self)), hint, unmet }
    }

    /// Whether a later try may work, although nothing else is done.
    pub(crate) fn is_passing(&self) -> bool {
        self.source.as_ref().is_some_and(|source| source.is::<NotNow>())
    }

    /// The messages of the whole chain, outermost first.
    pub(crate) fn chain(&self) -> Vec<String> {
        chain(self)
    }
}

/// The messages of an error and its sources, outermost first; links that repeat the one before are left out.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> Vec<String> {
    let mut messages = vec![error.to_string()];
    let mut link = error;
    while let Some(source) = link.source() {
        messages.push(source.to_string());
        link = source;
    }
    messages.dedup();
    messages
}

/// The chain of an error in one line, as records keep it.
pub(crate) fn one_line(error: &(dyn Error + 'static)) -> String {
    chain(error).join(": ")
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let hint = match error.kind {
            StoreErrorKind::Missing => Some("run a command with `isobox tool` or `isobox run` first"),
            StoreErrorKind::Unsuitable => Some("use a private directory on a local file system, e.g. with --records"),
            StoreErrorKind::Locked => Some("wait for the other isobox process to end, then try again"),
            StoreErrorKind::Full => Some("free some space on the disk of the task store, then try again"),
            StoreErrorKind::Damaged => {
                Some("what is whole stays readable; to start a new store, move this one aside and keep it")
            }
            StoreErrorKind::Io => None,
        };
        let failure = Self::new(FailureKind::Store, error.to_string());
        let failure = failure.because(error.source);
        hint.into_iter().fold(failure, Self::with_hint)
    }
}

impl From<AppendError> for Failure {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::Store(error) => error.into(),
            AppendError::Stale { .. } => Self::new(FailureKind::PromotionRefused, error.to_string()),
        }
    }
}

impl From<RepositoryError> for Failure {
    fn from(error: RepositoryError) -> Self {
        let message = error.to_string();
        match error {
            RepositoryError::Refused { hint, .. } => {
                hint.into_iter().fold(Self::new(FailureKind::General, message), Self::with_hint)
            }
            RepositoryError::Locked { .. } => Self::new(FailureKind::PromotionRefused, message)
                .with_hint("wait for the other promotion to end, then try again"),
            RepositoryError::Io { source, .. } => Self::new(FailureKind::General, message).because(source),
        }
    }
}

impl From<PrivateCopyError> for Failure {
    fn from(error: PrivateCopyError) -> Self {
        let failure = Self::new(FailureKind::General, error.to_string());
        match error {
            PrivateCopyError::Refused { source, hint, .. } => failure.because(source).with_hint(hint),
            PrivateCopyError::Full { .. } => failure.with_hint("free some space on that disk, then try again"),
            PrivateCopyError::Io { source, .. } => failure.because(source),
        }
    }
}

impl From<WorkspaceError> for Failure {
    fn from(error: WorkspaceError) -> Self {
        let message = error.to_string();
        match error {
            WorkspaceError::Refused { hint, .. } => {
                hint.into_iter().fold(Self::new(FailureKind::General, message), Self::with_hint)
            }
            WorkspaceError::Full { .. } => {
                Self::new(FailureKind::General, message).with_hint("free some space on that disk, then try again")
            }
            WorkspaceError::Io { source, .. } => Self::new(FailureKind::General, message).because(source),
        }
    }
}

impl From<ApplyError> for Failure {
    fn from(error: ApplyError) -> Self {
        let message = error.to_string();
        match error {
            ApplyError::Conflicts { first, count } => {
                let shown = first.len() as u64;
                let mut reasons = first.join("\n");
                if count > shown {
                    reasons.push_str(&format!("\n… and {} more", count - shown));
                }
                Self::new(FailureKind::PromotionRefused, format!("{message}; nothing was changed")).because(reasons)
            }
            ApplyError::Refused { hint, .. } => Self::new(FailureKind::PromotionRefused, message).with_hint(hint),
            ApplyError::Full { .. } => {
                Self::new(FailureKind::General, message).with_hint("free some space on that disk, then try again")
            }
            ApplyError::Io { source, .. } | ApplyError::Unsettled { source, .. } => {
                Self::new(FailureKind::General, message).because(source)
            }
        }
    }
}

impl From<ProjectFilesError> for Failure {
    fn from(error: ProjectFilesError) -> Self {
        let message = error.to_string();
        match error {
            ProjectFilesError::InTheWay { .. } => {
                Self::new(FailureKind::General, message).with_hint("put a regular file or directory there, or nothing")
            }
            ProjectFilesError::Io { source, .. } => Self::new(FailureKind::General, message).because(source),
        }
    }
}

impl From<PolicyPinsError> for Failure {
    fn from(error: PolicyPinsError) -> Self {
        Self::new(FailureKind::General, format!("record that the policy is trusted: {error}"))
            .because(error.source)
            .with_hint("make that directory private and writable, or let XDG_STATE_HOME name another")
    }
}

impl From<UpdateError> for Failure {
    fn from(error: UpdateError) -> Self {
        let message = match &error {
            UpdateError::Unflushed { .. } => error.to_string(),
            _ => format!("{error}; nothing was replaced"),
        };
        let failure = Self::new(FailureKind::General, message);
        match error {
            UpdateError::Unreachable { source, .. } => failure.because(source).with_hint(
                "try again later; --url names another place, and --timeout gives a slow one more time",
            ),
            UpdateError::Untrusted { .. } => failure.with_hint(
                "do not use what lies there: try again later, or ask whoever publishes it, by another way, what is wrong",
            ),
            UpdateError::Unusable { .. } => failure.with_hint(
                "if the release itself is at fault, say so to whoever publishes it; a directory must allow programs to run",
            ),
            UpdateError::Contended { .. } => failure.with_hint("wait for the other update to end, then try again"),
            UpdateError::Unflushed { source, .. } => failure.because(source).with_hint("look at the disk, then update again"),
            UpdateError::NothingKept { .. } => failure.with_hint("only an update leaves one there"),
            UpdateError::Io(error) => {
                failure.because(error.source).with_hint("make room, or the directory writable, then try again")
            }
        }
    }
}

impl From<PolicyError> for Failure {
    fn from(error: PolicyError) -> Self {
        let message = error.to_string();
        match error {
            PolicyError::Invalid { excerpt, hint, further, .. } => {
                let in_full = |mistake: Refused| {
                    let hint = mistake.hint.map(|hint| format!("hint: {hint}"));
                    std::iter::once(mistake.reason).chain(hint)
                };
                let further = further.into_iter().flat_map(in_full);
                let message = [Some(message), excerpt.map(String::from)].into_iter().flatten().chain(further);
                let message = message.collect::<Vec<_>>().join("\n");
                hint.into_iter().map(String::from).fold(Self::new(FailureKind::Policy, message), Self::with_hint)
            }
            PolicyError::Io { source, .. } => Self::new(FailureKind::Policy, message).because(source),
        }
    }
}
