//! Values that were typed for one session and are weaker than the project's policy.

/// A key of a project's policy that one session was given a weaker value of, by a flag of its own.
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
}

impl UnsafeOverride {
    /// Every one, in the order in which they are kept.
    pub const ALL: [Self; 4] = [Self::Backend, Self::PathMode, Self::Network, Self::Workspace];

    /// The name in records and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Backend => "backend",
            Self::PathMode => "path_mode",
            Self::Network => "network",
            Self::Workspace => "workspace",
        }
    }

    /// The key of the policy that it is about.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Backend => "runtime_backend",
            Self::PathMode => "development_environment.path_mode",
            Self::Network => "network.default",
            Self::Workspace => "filesystem.expose_workspace",
        }
    }

    /// The flag that has the weaker value.
    pub const fn weakening_flag(self) -> &'static str {
        match self {
            Self::Backend => "--backend",
            Self::PathMode => "--path-mode",
            Self::Network => "--network",
            Self::Workspace => "--expose-workspace",
        }
    }

    /// The flag that says that this is meant.
    pub const fn flag(self) -> &'static str {
        match self {
            Self::Backend => "--unsafe-backend",
            Self::PathMode => "--unsafe-path-mode",
            Self::Network => "--unsafe-network",
            Self::Workspace => "--unsafe-workspace",
        }
    }
}
