//! Values that were typed for one session and are weaker than the project's policy.

use super::Value;

/// A key of a project's policy, or a section, that one session was given a weaker value of, by a flag of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UnsafeOverride {
    /// `runtime_backend`, by `--unsafe-backend`.
    Backend,
    /// `development_environment.path_mode`, by `--unsafe-path-mode`.
    PathMode,
    /// `network.default`, by `--unsafe-network`.
    Network,
    /// `filesystem.expose_workspace`, by `--unsafe-workspace`.
    Workspace,
    /// Any of the section `limits`, by `--unsafe-limits`.
    Limits,
}

impl UnsafeOverride {
    /// Every one, in the order in which they are kept.
    pub const ALL: [Self; 5] = [Self::Backend, Self::PathMode, Self::Network, Self::Workspace, Self::Limits];

    /// The name in records and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Backend => "backend",
            Self::PathMode => "path_mode",
            Self::Network => "network",
            Self::Workspace => "workspace",
            Self::Limits => "limits",
        }
    }

    /// The key of the policy that it is about, or the section.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Backend => "runtime_backend",
            Self::PathMode => "development_environment.path_mode",
            Self::Network => "network.default",
            Self::Workspace => "filesystem.expose_workspace",
            Self::Limits => "limits",
        }
    }

    /// Whether it is about this key of the policy.
    pub fn is_about(self, key: &str) -> bool {
        key.strip_prefix(self.key()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// What was typed to give a key that it is about this value.
    pub fn as_typed(self, key: &str, value: &Value) -> String {
        match self {
            Self::Backend => format!("--backend {value}"),
            Self::PathMode => format!("--path-mode {value}"),
            Self::Network => format!("--network {value}"),
            Self::Workspace => format!("--expose-workspace {value}"),
            Self::Limits => format!("--limit {}={value}", key.trim_start_matches("limits.")),
        }
    }

    /// The flag that says that this is meant.
    pub const fn flag(self) -> &'static str {
        match self {
            Self::Backend => "--unsafe-backend",
            Self::PathMode => "--unsafe-path-mode",
            Self::Network => "--unsafe-network",
            Self::Workspace => "--unsafe-workspace",
            Self::Limits => "--unsafe-limits",
        }
    }
}
