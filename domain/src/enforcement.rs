//! What a Runtime Backend holds, control by control.

/// One thing that a policy governs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Control {
    /// Trusted host files cannot be written, and only a minimal view of them can be read.
    Filesystem,
    /// Network traffic is what the network policy says.
    Network,
    /// Every process of the workload ends with the attempt, and host processes are out of reach.
    Processes,
    /// No privilege is held or can be gained: capabilities, setuid, nested namespaces.
    Privileges,
    /// Kernel interfaces outside the Sandbox's model are closed: keyrings, io_uring, vsock, terminal injection.
    Syscalls,
    /// System V and POSIX IPC, host name and cgroup view are the Sandbox's own.
    Ipc,
    /// Only the variables of the policy are passed.
    Environment,
    /// Host credentials, agents and their sockets are out of reach.
    Credentials,
    /// Time, memory, CPU, disk and so on.
    Limits,
}

impl Control {
    /// All controls, in the order in which they are shown.
    pub const ALL: [Self; 9] = [
        Self::Filesystem,
        Self::Network,
        Self::Processes,
        Self::Privileges,
        Self::Syscalls,
        Self::Ipc,
        Self::Environment,
        Self::Credentials,
        Self::Limits,
    ];

    /// The name in policies, records and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Filesystem => "filesystem",
            Self::Network => "network",
            Self::Processes => "processes",
            Self::Privileges => "privileges",
            Self::Syscalls => "syscalls",
            Self::Ipc => "ipc",
            Self::Environment => "environment",
            Self::Credentials => "credentials",
            Self::Limits => "limits",
        }
    }
}

/// Whether a control held, and by what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Enforcement {
    /// Nothing inside gets past it.
    Enforced {
        /// What enforces it, e.g. `network namespace`.
        mechanism: String,
    },
    /// It holds in part.
    PartiallyEnforced {
        /// What enforces it.
        mechanism: String,
        /// What gets past it.
        reason: String,
    },
    /// Nothing enforces it.
    NotEnforced {
        /// Why.
        reason: String,
    },
}

impl Enforcement {
    /// The word of the glossary: `enforced`, `partially_enforced`, `not_enforced`.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Enforced { .. } => "enforced",
            Self::PartiallyEnforced { .. } => "partially_enforced",
            Self::NotEnforced { .. } => "not_enforced",
        }
    }

    /// Whether nothing gets past the control.
    pub const fn is_enforced(&self) -> bool {
        matches!(self, Self::Enforced { .. })
    }
}

/// One control and whether it held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlReport {
    /// The control.
    pub control: Control,
    /// Whether it held.
    pub enforcement: Enforcement,
}
