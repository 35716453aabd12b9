//! Flags of `isobox run` that mirror the keys of the policy file.

use clap::{Args, ValueEnum};
use isobox_domain::limit::Limit;
use isobox_domain::policy::{
    BackendChoice, BackendName, DependencyCache, HideRule, NetworkAccess, PathMode, ReuseKind, UnsafeOverride,
    WorkspaceExposure,
};
use isobox_domain::repo_path::RepoPath;
use std::ffi::OsString;
use std::path::PathBuf;

/// Flags that take the place of policy keys.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Policy")]
pub(crate) struct PolicyFlags {
    /// The runtime backend (policy key `runtime_backend`)
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) backend: Option<BackendFlag>,
    /// What the workload may reach (policy key `network.default`)
    #[arg(long, value_enum, value_name = "ACCESS")]
    pub(crate) network: Option<NetworkFlag>,
    /// Where PATH comes from (policy key `development_environment.path_mode`)
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) path_mode: Option<PathModeFlag>,
    /// How the workspace is exposed (policy key `filesystem.expose_workspace`)
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) expose_workspace: Option<ExposureFlag>,
    /// A host file or directory to show read-only, e.g. a toolchain; repeatable (policy key `filesystem.read`)
    #[arg(long, value_name = "PATH")]
    pub(crate) read: Vec<PathBuf>,
    /// A host file or directory of which the workload has a copy to change, thrown away afterwards; repeatable (policy key
    /// `filesystem.write`)
    #[arg(long, value_name = "PATH")]
    pub(crate) write: Vec<PathBuf>,
    /// The same, and what changed in the copy is kept in the record; repeatable (policy key `filesystem.write`, with
    /// `capture: true`)
    #[arg(long, value_name = "PATH")]
    pub(crate) capture: Vec<PathBuf>,
    /// What the workload may use up, e.g. memory=4GiB; repeatable (policy section `limits`). Limits: time, idle_time,
    /// memory, cpu, cpu_time, processes, disk, inodes, open_files, file_size, output
    #[arg(long, value_name = "LIMIT=VALUE", value_parser = parse_limit)]
    pub(crate) limit: Vec<(Limit, Option<u64>)>,
    /// Files that stay hidden in the workspace and in what is shown, by pattern; repeatable (policy key `filesystem.hide`)
    #[arg(long, value_name = "PATTERN", value_parser = parse_hide)]
    pub(crate) hide: Vec<HideRule>,
    /// A path of the workspace that the workload can neither change nor make; repeatable (policy key `workspace.protected`)
    #[arg(long, value_name = "PATH", value_parser = parse_protected)]
    pub(crate) protect: Vec<RepoPath>,
    /// A host asset that the workload uses: host_binary=PROGRAM, path=PATH, env_var=NAME, env_var=NAME=value or
    /// local_integration=SOCKET; repeatable, and added to those of the policy (policy key `reuse_inputs`)
    #[arg(long, value_name = "KIND=VALUE", value_parser = parse_reuse_input)]
    pub(crate) reuse_input: Vec<(ReuseKind, OsString)>,
    /// A package manager whose downloads are found without a network: cargo, npm, pip or go; repeatable, and added to those
    /// of the policy (policy key `caches`)
    #[arg(long, value_name = "NAME", value_parser = parse_cache)]
    pub(crate) cache: Vec<DependencyCache>,
    /// Show a host path read-only though it is never shown otherwise, such as one with credentials in it; repeatable.
    /// It is told on standard error, and recorded
    #[arg(long, value_name = "PATH")]
    pub(crate) unsafe_expose: Vec<PathBuf>,
    /// Which of these flags may be weaker than the project's policy.
    #[command(flatten)]
    pub(crate) unsafe_flags: UnsafeFlags,
}

/// Flags that let another one be weaker than the project's policy.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Policy")]
pub(crate) struct UnsafeFlags {
    /// Let --backend contain less than the project's policy says; it is recorded
    #[arg(long, requires = "backend")]
    unsafe_backend: bool,
    /// Let --network reach more than the project's policy says; it is recorded
    #[arg(long, requires = "network")]
    unsafe_network: bool,
    /// Let --path-mode pass on more than the project's policy says; it is recorded
    #[arg(long, requires = "path_mode")]
    unsafe_path_mode: bool,
    /// Let --expose-workspace allow more than the project's policy says; it is recorded
    #[arg(long, requires = "expose_workspace")]
    unsafe_workspace: bool,
    /// Let --limit allow more than the project's policy says; it is recorded
    #[arg(long, requires = "limit")]
    unsafe_limits: bool,
}

impl UnsafeFlags {
    /// Whether a weaker value of this key is meant.
    pub(crate) const fn allows(self, what: UnsafeOverride) -> bool {
        match what {
            UnsafeOverride::Backend => self.unsafe_backend,
            UnsafeOverride::PathMode => self.unsafe_path_mode,
            UnsafeOverride::Network => self.unsafe_network,
            UnsafeOverride::Workspace => self.unsafe_workspace,
            UnsafeOverride::Limits => self.unsafe_limits,
        }
    }
}

/// `--backend`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum BackendFlag {
    /// The first that contains the workload; never `host`
    Auto,
    /// The hardened `bwrap` program
    Bubblewrap,
    /// isobox itself, with Landlock, seccomp and namespaces
    Landlock,
    /// No containment at all
    Host,
}

impl From<BackendFlag> for BackendChoice {
    fn from(flag: BackendFlag) -> Self {
        match flag {
            BackendFlag::Auto => Self::Auto,
            BackendFlag::Bubblewrap => Self::Named(BackendName::Bubblewrap),
            BackendFlag::Landlock => Self::Named(BackendName::Landlock),
            BackendFlag::Host => Self::Named(BackendName::Host),
        }
    }
}

/// `--network`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum NetworkFlag {
    /// Nothing but the sandbox's own loopback
    Deny,
    /// Whatever the host reaches
    Inherited,
}

impl From<NetworkFlag> for NetworkAccess {
    fn from(flag: NetworkFlag) -> Self {
        match flag {
            NetworkFlag::Deny => Self::Deny,
            NetworkFlag::Inherited => Self::Inherited,
        }
    }
}

/// `--path-mode`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PathModeFlag {
    /// The standard directories
    #[value(name = "backend_default")]
    Default,
    /// The caller's own PATH
    Inherited,
}

impl From<PathModeFlag> for PathMode {
    fn from(flag: PathModeFlag) -> Self {
        match flag {
            PathModeFlag::Default => Self::Default,
            PathModeFlag::Inherited => Self::Inherited,
        }
    }
}

/// `--expose-workspace`.
#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum ExposureFlag {
    /// Changes are allowed and captured
    #[value(name = "true")]
    ReadWrite,
    /// The workload can only read
    ReadOnly,
}

impl From<ExposureFlag> for WorkspaceExposure {
    fn from(flag: ExposureFlag) -> Self {
        match flag {
            ExposureFlag::ReadWrite => Self::ReadWrite,
            ExposureFlag::ReadOnly => Self::ReadOnly,
        }
    }
}

fn parse_cache(text: &str) -> Result<DependencyCache, String> {
    let names = || DependencyCache::ALL.map(DependencyCache::name).join(", ");
    let known = DependencyCache::ALL.into_iter().find(|known| known.name() == text);
    known.ok_or_else(|| format!("cache `{text}` is not one of {}", names()))
}

fn parse_hide(text: &str) -> Result<HideRule, String> {
    HideRule::parse(text).map_err(|error| error.to_string())
}

fn parse_protected(text: &str) -> Result<RepoPath, String> {
    RepoPath::parse(text.trim_end_matches('/')).map_err(|error| error.to_string())
}

fn parse_limit(text: &str) -> Result<(Limit, Option<u64>), String> {
    let names = || Limit::ALL.map(Limit::name).join(", ");
    let Some((name, value)) = text.split_once('=') else {
        return Err(format!("expected LIMIT=VALUE, with LIMIT one of {}", names()));
    };
    let limit = Limit::parse(name).ok_or_else(|| format!("limit `{name}` is not one of {}", names()))?;
    let value = limit.parse_value(value).map_err(|error| {
        let meant = error.meant.as_ref().map_or_else(String::new, |meant| format!("; did you mean `{name}={meant}`?"));
        format!("expected {error}{meant}")
    })?;
    Ok((limit, value))
}

fn parse_reuse_input(text: &str) -> Result<(ReuseKind, OsString), String> {
    let kinds = || ReuseKind::ALL.map(ReuseKind::name).join(", ");
    let Some((kind, value)) = text.split_once('=') else {
        return Err(format!("expected KIND=VALUE, with KIND one of {}", kinds()));
    };
    if value.is_empty() {
        return Err(format!("the value after `{kind}=` is empty"));
    }
    let known = ReuseKind::ALL.into_iter().find(|known| known.name() == kind);
    known.map(|known| (known, value.into())).ok_or_else(|| format!("kind `{kind}` is not one of {}", kinds()))
}
