//! What a probe found out about a machine or a project, before anybody says whether that is good.

use crate::enforcement::ControlReport;
use crate::policy::{Capabilities, SandboxPolicy};
use crate::probe::ProbeResult;

/// How trying something ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trial {
    /// It worked: with what result, in words.
    Works(String),
    /// It did not: why, in words.
    Fails(String),
}

/// A kind of namespace that a Sandbox has of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Namespace {
    /// User and group ids, capabilities.
    User,
    /// Mounts.
    Mount,
    /// Processes.
    Pid,
    /// The network.
    Network,
    /// System V IPC and message queues.
    Ipc,
    /// Host names.
    Uts,
    /// The view of control groups.
    Cgroup,
}

impl Namespace {
    /// Every kind; the user namespace comes first, since the others need it.
    pub const ALL: [Self; 7] = [Self::User, Self::Mount, Self::Pid, Self::Network, Self::Ipc, Self::Uts, Self::Cgroup];

    /// The kernel's own name, as in `/proc/self/ns`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Mount => "mnt",
            Self::Pid => "pid",
            Self::Network => "net",
            Self::Ipc => "ipc",
            Self::Uts => "uts",
            Self::Cgroup => "cgroup",
        }
    }
}

/// How a program on PATH is related to the first one of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The same path, reached through a linked directory; or what the first one, a link, leads to.
    SamePath,
    /// A symbolic link to the same file.
    SymbolicLink,
    /// Another name of the same file.
    HardLink,
    /// Another file.
    OtherFile,
}

/// A program on PATH after the first one of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// Its host path, escaped for people.
    pub host_path: String,
    /// What it has to do with the first one.
    pub relation: Relation,
}

/// Whether a program that is running is the one that its name on PATH starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Running {
    /// It is the first one on PATH.
    First,
    /// It is another file.
    Other,
}

/// What a Task Store is like, read without writing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreHealth {
    /// There is none yet; the first attempt makes one.
    Absent,
    /// It was opened, and its newest records read and verified.
    Readable {
        /// How many of the newest records were read.
        read: u64,
    },
    /// It cannot be used, or something in it is damaged; in words, each its own sentence.
    Damaged(Vec<String>),
}

/// Room where files are to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes that this user may still fill.
    pub bytes: u64,
    /// Files that this user may still make; `None` where the file system sets no number.
    pub files: Option<u64>,
}

/// Whether Git ignores the directory of Views.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IgnoreCoverage {
    /// It does.
    Ignored,
    /// No rule does.
    NotIgnored,
    /// A rule may, but files in it are tracked, and those Git does not ignore.
    Tracked,
}

/// Where an overlay was mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverlayPlace {
    /// Where Workspaces lie, by an earlier Task, under the same circumstances.
    Workspaces,
    /// In memory, just now, for no Task has told yet.
    Memory,
}

/// One thing that a probe found out. Text is escaped for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// This isobox.
    Version(String),
    /// `isobox` on PATH: the first one, whether it is the one that runs, and the others.
    OnPath {
        /// Host path of the first one; `None` if there is none.
        first: Option<String>,
        /// Whether that is what runs now.
        running: Running,
        /// The others, in the order of PATH.
        duplicates: Vec<Duplicate>,
    },
    /// Host path of the first `git` on PATH.
    Git(Option<String>),
    /// A directory of isobox's own, there or to be made, could be used: which, and how looking at it ended.
    OwnDirectory(&'static str, Trial),
    /// The `bwrap` program: its host path and version, or why none is used.
    Bubblewrap(Trial),
    /// The version of `bwrap`, if it could be read: major, minor.
    BubblewrapVersion(u32, u32),
    /// A Sandbox was started with `true` in it.
    SandboxStarts(Trial),
    /// Something that a Sandbox here does not enforce as it should, as a sentence.
    SandboxLacks(String),
    /// A setting of the kernel keeps ordinary users from making namespaces: its name and value, and the remedy.
    Restriction {
        /// For example `kernel.apparmor_restrict_unprivileged_userns=1`.
        setting: String,
        /// What to do.
        remedy: String,
    },
    /// A namespace was opened in a process of its own.
    Opens(Namespace, Trial),
    /// Landlock rulesets were built, and up to which ABI.
    Landlock(Trial),
    /// An overlay was mounted, and where.
    Overlay(OverlayPlace, Trial),
    /// For which limits this user may make a control group, and by which version; the error says why for none.
    Cgroups(Result<Vec<String>, String>),
    /// There is no repository around the directory.
    NoRepository,
    /// The repository that would be used: its root, or why it is refused and what to do.
    Repository(Result<String, Refused>),
    /// Uncommitted changes: how many, and the first of them; or why that could not be found out.
    Dirt(Result<Vec<String>, String>, u64),
    /// Views.
    Views(Result<IgnoreCoverage, String>),
    /// The policy file is missing: its host path.
    NoPolicy(String),
    /// The policy file was read: its host path, and whether it lets agents use `isobox tool`.
    Policy(String, crate::policy::ToolCalls),
    /// The policy file cannot be used: every mistake, with its place and excerpt.
    BadPolicy(Vec<Refused>),
    /// The user's own policy cannot be used: every mistake, with its place and excerpt.
    BadUserPolicy(Vec<Refused>),
    /// What the policy of the project asks of a Sandbox, as far as the user's own allows it.
    Asked(Box<SandboxPolicy>),
    /// What a policy exposes of the host was looked at: by which key, as the policy has it, and what was found.
    Exposes(ExposingKey, String, Exposable),
    /// What a Runtime Backend can do here.
    Backend(Box<Capabilities>),
    /// Whether this user trusts the policy file that was read: its host path, and that.
    PolicyTrust(String, PolicyTrust),
    /// The Task Store: its host path and health.
    Store(String, StoreHealth),
    /// Whether the Task Store, or the place where it would be made, could be written to.
    StoreWritable(Trial),
    /// Room for the Task Store.
    StoreRoom(Room),
    /// How far the transparency log of the Task Store, for which there is a key, has come.
    Log {
        /// COMMITs that there are.
        commits: u64,
        /// COMMITs that are under a checkpoint.
        logged: u64,
    },
    /// A Sandbox was attacked from inside: what is said of its controls, and what came of each attack.
    Probed(Vec<ControlReport>, Vec<ProbeResult>),
    /// No Sandbox could be attacked: why.
    NotProbed(String),
    /// Why the log, or the key for it, cannot be used.
    BadLog(String),
}

/// The key of a policy that exposes something of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExposingKey {
    /// `filesystem.read`.
    Read,
    /// `filesystem.write`.
    Write,
    /// `reuse_inputs`.
    ReuseInputs,
}

impl ExposingKey {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "filesystem.read",
            Self::Write => "filesystem.write",
            Self::ReuseInputs => "reuse_inputs",
        }
    }
}

/// Whether something of the host can be exposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exposable {
    /// It is there, and this user may read it.
    Readable,
    /// It is there, but this user may not read it: why, in words.
    Unreadable(String),
    /// It is not exposed to anybody, or is not there: why, in words.
    Refused(String),
}

/// Whether a user trusts a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyTrust {
    /// This very file.
    Given,
    /// Not this one.
    Missing,
}

/// Why something is refused, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Why.
    pub reason: String,
    /// What to do, if that is known.
    pub hint: Option<String>,
}
