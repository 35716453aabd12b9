//! Caches of package managers that a workload may build from without a network.

/// A package manager, with what it keeps of what it downloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DependencyCache {
    /// Rust's.
    Cargo,
    /// That of Node.js.
    Npm,
    /// Python's.
    Pip,
    /// The modules of Go.
    Go,
}

impl DependencyCache {
    /// Every one, in the order in which they are kept.
    pub const ALL: [Self; 4] = [Self::Cargo, Self::Npm, Self::Pip, Self::Go];

    /// The name in policies, records and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cargo => "cargo",
            Self::Npm => "npm",
            Self::Pip => "pip",
            Self::Go => "go",
        }
    }

    /// Where it keeps everything of its own unless a variable says otherwise, below a home directory.
    pub const fn directory(self) -> &'static str {
        match self {
            Self::Cargo => ".cargo",
            Self::Npm => ".npm",
            Self::Pip => ".cache/pip",
            Self::Go => "go/pkg/mod",
        }
    }

    /// Variables of the host that say where that directory is, the first that is set, and what lies between.
    pub const fn variables(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Cargo => &[("CARGO_HOME", "")],
            Self::Npm => &[("npm_config_cache", ""), ("NPM_CONFIG_CACHE", "")],
            Self::Pip => &[("PIP_CACHE_DIR", ""), ("XDG_CACHE_HOME", "pip")],
            Self::Go => &[("GOMODCACHE", ""), ("GOPATH", "pkg/mod")],
        }
    }

    /// What in the directory was downloaded, and nothing else: settings, credentials and logs lie beside it. The empty path is
    /// the directory itself.
    pub const fn parts(self) -> &'static [&'static str] {
        match self {
            Self::Cargo => &["registry", "git"],
            Self::Npm => &["_cacache"],
            Self::Pip | Self::Go => &[""],
        }
    }

    /// Patterns below the directory of what lies among that and is not lent: clones that remember from where, with whatever
    /// password stood in the URL.
    pub const fn kept_out(self) -> &'static [&'static str] {
        match self {
            Self::Go => &["cache/vcs"],
            Self::Cargo | Self::Npm | Self::Pip => &[],
        }
    }

    /// `caches`, each once and in their order.
    pub fn in_order(caches: &[Self]) -> Vec<Self> {
        Self::ALL.into_iter().filter(|known| caches.contains(known)).collect()
    }
}
