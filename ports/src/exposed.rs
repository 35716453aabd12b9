//! What of the host a Sandbox shows and passes on, beside the system's own: data that every backend applies.

use crate::Overlay;
use isobox_domain::policy::Glob;
use std::path::PathBuf;

/// Something of the host that a Sandbox shows, with everything in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Absolute host path of what is shown: a file, a directory or a socket, without links on the way.
    pub source: PathBuf,
    /// Where it appears; at each of them.
    pub places: Vec<Place>,
    /// What the workload may do with it.
    pub access: Access,
}

/// A place in a Sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// An absolute path.
    At(PathBuf),
    /// A relative path, below the home directory that the Sandbox has.
    BelowHome(PathBuf),
}

/// What a workload may do with what is shown. What comes later here is more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Read. Whoever listens on a socket can be talked to.
    ReadOnly,
    /// Write as well: a copy is shown, and nobody keeps what becomes of it.
    ReadWrite,
    /// The same, and what becomes of the copy is captured.
    Captured,
}

/// A program of the host that is found in a Sandbox under its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The name.
    pub name: Vec<u8>,
    /// Absolute host path under which it was found, for a backend that shows the host as it is.
    pub found: PathBuf,
    /// Absolute path of the same inside, among what is shown.
    pub target: PathBuf,
}

/// A directory of the host that a Sandbox shows under a layer of its own: what is written stays in the layer, in which an earlier
/// workload may have left what it wanted. Nothing is laid out in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layered {
    /// What is mounted.
    pub overlay: Overlay,
    /// Where it appears: a relative path, below the home directory that the Sandbox has.
    pub below_home: PathBuf,
}

/// Everything that was exposed by choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exposed {
    /// What is shown. What lies in something else comes after it.
    pub shown: Vec<Shown>,
    /// What is shown under layers.
    pub layers: Vec<Layered>,
    /// Patterns of absolute host paths: what they name in what is shown read-only stays hidden.
    pub hidden: Vec<Glob>,
    /// Programs that come first on PATH.
    pub programs: Vec<Program>,
    /// Variables, with their values.
    pub environment: Vec<(String, Vec<u8>)>,
    /// What is shown beyond what was named, and what was named and is not shown, as sentences for people.
    pub notes: Vec<String>,
}
