//! Sandbox Policy as it is asked for, and Effective Policy as it held.

mod beyond;
mod dependency_cache;
mod exposure;
mod extending;
mod files;
mod glob;
pub mod hide;
pub mod read;
mod requirement;
mod resolve;
mod standing;
mod task_limit;
mod trust;
mod unsafe_override;
mod values;
mod written;

pub use dependency_cache::DependencyCache;
pub use exposure::{Exposure, exposures};
pub use files::{CopyChanges, FileRules, WriteRule};
pub use glob::Glob;
pub use hide::HideRule;
pub use requirement::{Requirement, Requirements, Unmet};
pub use resolve::{Capabilities, Refusal, resolve};
pub use standing::{Fit, Standing, Step};
pub use task_limit::TaskLimit;
pub use trust::{Effect, TrustedPolicies};
pub use unsafe_override::UnsafeOverride;
pub use values::Value;
pub use written::{Widening, WrittenPolicy};

use crate::content::ContentId;
use crate::enforcement::{Control, ControlReport};
use crate::limit::{LimitReport, Limits, sum_up};
use crate::preflight::PreflightRule;
use crate::promotion::PromotionGate;

/// An isolation provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BackendName {
    /// A supervised process that is not contained.
    Host,
    /// The `bwrap` program, hardened.
    Bubblewrap,
    /// isobox's own launcher on Landlock and seccomp.
    Landlock,
}

impl BackendName {
    /// Every backend, in the order in which `auto` tries them: one that needs no other program and starts sooner is first.
    pub const ALL: [Self; 3] = [Self::Landlock, Self::Bubblewrap, Self::Host];

    /// The name in policies, records and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Bubblewrap => "bubblewrap",
            Self::Landlock => "landlock",
        }
    }
}

/// Which backend a policy asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendChoice {
    /// The first that enforces every required control on this machine; never `host`.
    Auto,
    /// This one or none.
    Named(BackendName),
}

/// What the workload may reach over the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkAccess {
    /// Nothing but its own loopback.
    Deny,
    /// Whatever the host reaches.
    Inherited,
}

impl NetworkAccess {
    /// Every kind of access, the most restrictive first.
    pub const ALL: [Self; 2] = [Self::Deny, Self::Inherited];

    /// The name in policies, records and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Inherited => "inherited",
        }
    }
}

/// What PATH the workload gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathMode {
    /// The standard directories only: [`DEFAULT_PATH`].
    Default,
    /// The caller's PATH; directories that the Sandbox does not show simply find nothing.
    Inherited,
}

impl PathMode {
    /// Every mode, the most restrictive first.
    pub const ALL: [Self; 2] = [Self::Default, Self::Inherited];

    /// The name in policies and records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "backend_default",
            Self::Inherited => "inherited",
        }
    }
}

/// PATH of a workload unless the policy says otherwise.
pub const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// How the Workspace is exposed inside the Sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspaceExposure {
    /// The workload may change it; the changes are captured.
    ReadWrite,
    /// The workload may only read it.
    ReadOnly,
}

impl WorkspaceExposure {
    /// The value of `filesystem.expose_workspace`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadWrite => "true",
            Self::ReadOnly => "read_only",
        }
    }
}

/// What a Workspace is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspaceKind {
    /// Files of its own, each written for it.
    Copy,
    /// Files of its own that share blocks of the disk with those of others, until one of them is written to.
    Reflink,
    /// A layer of its own over files that it shares with other Workspaces of the commit, and that nobody writes.
    Overlay,
}

impl WorkspaceKind {
    /// Every kind, the cheapest first.
    pub const ALL: [Self; 3] = [Self::Overlay, Self::Reflink, Self::Copy];

    /// The name on the command line, in records and in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::Reflink => "reflink",
            Self::Overlay => "overlay",
        }
    }

    /// In what a workload can tell it from a directory of files, as a sentence for people.
    pub const fn difference(self) -> Option<&'static str> {
        match self {
            Self::Copy | Self::Reflink => None,
            Self::Overlay => Some(
                "the workspace is an overlay: renaming a directory that the commit has fails with EXDEV, as between file \
                 systems; `mv` copies it, and `--workspace copy` makes a workspace in which it can be renamed",
            ),
        }
    }
}

/// Which kind of Workspace is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkspaceChoice {
    /// The cheapest that the backend can mount on this machine.
    #[default]
    Auto,
    /// This one or none. Of a copy and a reflink, either: which one the file system decides.
    Named(WorkspaceKind),
}

/// A kind of host asset that a person exposes by explicit choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReuseKind {
    /// A program of the host.
    HostBinary,
    /// A file or directory of the host.
    Path,
    /// An environment variable.
    EnvVar,
    /// A reference to a credential.
    CredentialRef,
    /// A local service.
    LocalIntegration,
}

impl ReuseKind {
    /// Every kind.
    pub const ALL: [Self; 5] =
        [Self::HostBinary, Self::Path, Self::EnvVar, Self::CredentialRef, Self::LocalIntegration];

    /// The name in `--reuse-input KIND=VALUE` and records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HostBinary => "host_binary",
            Self::Path => "path",
            Self::EnvVar => "env_var",
            Self::CredentialRef => "credential_ref",
            Self::LocalIntegration => "local_integration",
        }
    }
}

/// A Reuse Input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReuseInput {
    /// What kind of asset.
    pub kind: ReuseKind,
    /// Which one, as declared, secrets masked. Of a variable its name.
    pub value: String,
    /// Of a variable: the keyed BLAKE3 of its value, so that equal values can be told equal.
    pub digest: Option<ContentId>,
}

impl ReuseInput {
    /// The path that the value of a [`ReuseKind::Path`] names, and whether a copy of it may be changed: `:rw`.
    pub fn path(&self) -> (&[u8], bool) {
        let value = self.value.as_bytes();
        match (value.strip_suffix(b":rw"), value.strip_suffix(b":ro")) {
            (Some(path), _) => (path, true),
            (None, Some(path)) => (path, false),
            (None, None) => (value, false),
        }
    }
}

/// What a policy asks of a Sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxPolicy {
    /// The backend.
    pub backend: BackendChoice,
    /// The network.
    pub network: NetworkAccess,
    /// `network.allow`: rules that no backend can enforce yet, so any rule refuses the Task.
    pub network_allow: Vec<String>,
    /// PATH.
    pub path_mode: PathMode,
    /// The Workspace.
    pub workspace: WorkspaceExposure,
    /// Absolute host directories that the workload may read besides the standard ones, e.g. toolchains. Any bytes.
    pub read: Vec<Vec<u8>>,
    /// Host assets exposed by explicit choice.
    pub reuse_inputs: Vec<ReuseInput>,
    /// What has to be enforced, or nothing is started.
    pub require: Requirements,
    /// Which keys have a weaker value than the project's policy has, because it was typed so for one session; each once, in
    /// the order of [`UnsafeOverride::ALL`].
    pub unsafe_overrides: Vec<UnsafeOverride>,
    /// What stays hidden, and what cannot be changed.
    pub files: FileRules,
    /// What it may use up.
    pub limits: Limits,
    /// Whose caches it builds from, as [`DependencyCache::in_order`] gives them.
    pub caches: Vec<DependencyCache>,
}

impl Default for SandboxPolicy {
    /// The most restrictive policy: what holds where nothing was asked for.
    fn default() -> Self {
        Self {
            backend: BackendChoice::Auto,
            network: NetworkAccess::Deny,
            network_allow: Vec::new(),
            path_mode: PathMode::Default,
            workspace: WorkspaceExposure::ReadWrite,
            read: Vec::new(),
            reuse_inputs: Vec::new(),
            require: Requirements::default(),
            unsafe_overrides: Vec::new(),
            files: FileRules::default(),
            limits: Limits::NONE,
            caches: Vec::new(),
        }
    }
}

/// What held for one attempt: the intent, and per control whether it was enforced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectivePolicy {
    /// The backend that was used.
    pub backend: BackendName,
    /// What was asked for. Its `backend` is the choice, not the result.
    pub asked: SandboxPolicy,
    /// Every control once, in the order of [`Control::ALL`](crate::enforcement::Control::ALL).
    pub controls: Vec<ControlReport>,
    /// Known limitations of the backend on this machine, as sentences for people.
    pub limitations: Vec<String>,
    /// What the Workspace was made of. `None` if there was none, or nobody kept it.
    pub workspace: Option<WorkspaceKind>,
    /// What was exposed by choice, and what that weakens.
    pub exposures: Vec<Exposure>,
    /// Why `auto` took this backend. `None` if it was named, or nobody kept it.
    pub why_this_backend: Option<String>,
    /// Each limit that was asked for once, in the order of [`Limit::ALL`](crate::limit::Limit::ALL).
    pub limits: Vec<LimitReport>,
}

impl EffectivePolicy {
    /// What holds where nothing but `asked` is known: what a backend claims.
    pub fn claimed(asked: SandboxPolicy, capabilities: Capabilities) -> Self {
        let Capabilities { backend, controls, limitations, limits, .. } = capabilities;
        Self {
            backend,
            asked,
            controls,
            limitations,
            workspace: None,
            exposures: Vec::new(),
            why_this_backend: None,
            limits,
        }
    }

    /// The same with a Workspace of `kind`, and with what is known of that.
    #[must_use]
    pub fn with_workspace(mut self, kind: WorkspaceKind) -> Self {
        self.limitations.extend(kind.difference().map(str::to_owned));
        Self { workspace: Some(kind), ..self }
    }

    /// What is required of limits and not enforced; `None` if nothing is.
    pub fn unmet_limits(&self) -> Option<Unmet> {
        let required = self.asked.require.as_slice().iter().filter_map(|required| {
            let enforcement = match required {
                Requirement::Control(Control::Limits) => self
                    .controls
                    .iter()
                    .find(|report| report.control == Control::Limits)
                    .map(|report| &report.enforcement),
                Requirement::Control(_) => return None,
                Requirement::Limit(limit) => {
                    self.limits.iter().find(|report| report.limit == *limit).map(|report| &report.enforcement)
                }
            };
            let enforcement = enforcement.cloned().unwrap_or_else(requirement::unsaid);
            Some(Unmet { backend: self.backend, requirement: *required, enforcement })
        });
        required.into_iter().find(|required| !required.enforcement.is_enforced())
    }

    /// The same with what is in force of the limits, which the control of that name sums up.
    #[must_use]
    pub fn with_limits(mut self, limits: Vec<LimitReport>) -> Self {
        let summed_up = sum_up(&limits);
        if let Some(report) = self.controls.iter_mut().find(|report| report.control == Control::Limits) {
            *report = summed_up;
        }
        Self { limits, ..self }
    }
}

/// What a project's policy file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectPolicy {
    /// `tool_call.enabled`: whether `isobox tool` may be used.
    pub tool_calls: ToolCalls,
    /// What is asked of every Sandbox.
    pub sandbox: SandboxPolicy,
    /// The Preflight Rules that are on, as [`PreflightRule::in_force`] gives them.
    pub preflight: Vec<PreflightRule>,
    /// How many Views are kept.
    pub views: ViewLimit,
    /// How many Tasks may run at the same time.
    pub tasks: TaskLimit,
    /// What is asked of every Promotion.
    pub promotion: PromotionGate,
    /// `verification.commands`: what a verification runs, one after the other, each as `sh -c` takes it.
    pub verification: Vec<String>,
}

impl Default for ProjectPolicy {
    /// What holds where the file says nothing: the most restrictive value of every key that a Sandbox depends on.
    fn default() -> Self {
        Self {
            tool_calls: ToolCalls::Disabled,
            sandbox: SandboxPolicy::default(),
            preflight: PreflightRule::ALL.to_vec(),
            views: ViewLimit::default(),
            tasks: TaskLimit::default(),
            promotion: PromotionGate::default(),
            verification: Vec::new(),
        }
    }
}

/// Whether outside agents may use `isobox tool` in a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolCalls {
    /// They may.
    Enabled,
    /// They may not.
    Disabled,
}

/// How many of the newest records have a browsable View.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewLimit {
    /// At most this many; 0 writes none.
    Newest(u32),
    /// Every record.
    All,
}

impl Default for ViewLimit {
    /// 64, the default of `records.views`.
    fn default() -> Self {
        Self::Newest(64)
    }
}
