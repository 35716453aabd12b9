//! What a Stage that isobox starts without another program makes around itself.

mod bytes;

use crate::filter::Strictness;
use crate::view::Entry;
use isobox_ports::Overlay;

/// Every wall of one Sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Enclosure {
    /// What is made in the namespaces that the Stage was born in; `None` if it was born in none of its own.
    pub(crate) inside: Option<Inside>,
    /// The version of Landlock whose every right is ruled on.
    pub(crate) landlock_abi: u64,
    /// The paths of the Sandbox that Landlock lets the workload use, and how.
    pub(crate) rules: Vec<Rule>,
    /// Which system calls are refused.
    pub(crate) strictness: Strictness,
    /// Directories that were made for this Sandbox, and are removed with what is in them.
    pub(crate) own_directories: Vec<Vec<u8>>,
}

/// What is made in namespaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inside {
    /// Where the privileges come from that mounting takes.
    pub(crate) privileges: Privileges,
    /// Whether the network namespace is the Sandbox's own, with a loopback that has to be raised.
    pub(crate) network: OwnNetwork,
    /// Mounted over its place before that is shown.
    pub(crate) overlay: Option<Overlay>,
    /// The same for what the view shows besides the Workspace.
    pub(crate) layers: Vec<Overlay>,
    /// The view.
    pub(crate) entries: Vec<Entry>,
}

/// Where the privileges come from that mounting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Privileges {
    /// The Stage was born in a user namespace.
    UserNamespace,
    /// It is root's, and makes its user namespace when everything is mounted.
    Root,
}

/// Whether the network namespace is the Sandbox's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnNetwork {
    /// It is.
    Yes,
    /// It is the host's.
    No,
}

/// What may be done beneath a path, as far as its modes and mounts allow that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// Absolute, as the Sandbox sees it.
    pub(crate) path: Vec<u8>,
    /// What may be done.
    pub(crate) allowed: Use,
}

/// A kind of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Listing directories.
    List,
    /// Reading.
    Read,
    /// Reading and executing.
    Execute,
    /// Reading, writing and asking devices.
    Devices,
    /// Everything.
    Everything,
}
