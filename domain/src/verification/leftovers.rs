//! What lies in a Task Store and belongs to nothing: told, since somebody may miss it, and no defect.

/// Bytes at the end of a lane that no COMMIT follows. A writer that was killed leaves them, or one that is at work, and
/// nothing that was acknowledged is in them; a lane that was cut off looks the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornTail {
    /// The file, escaped for people.
    pub file: String,
    /// Where it starts, in bytes.
    pub offset: u64,
    /// How long it is, in bytes.
    pub bytes: u64,
    /// Whether parts of it were never written, as a power cut leaves it. A disk that loses a sector of what was
    /// acknowledged last leaves the same.
    pub is_unwritten: bool,
}

/// What no COMMIT speaks of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// At most one a lane.
    pub torn_tails: Vec<TornTail>,
    /// Files of large artifacts that nothing refers to.
    pub unreferenced: u64,
    /// How long those are together, in bytes.
    pub unreferenced_bytes: u64,
}

impl Leftovers {
    /// Takes in what another part of the work came across.
    pub fn merge(&mut self, part: Self) {
        self.torn_tails.extend(part.torn_tails);
        self.unreferenced += part.unreferenced;
        self.unreferenced_bytes += part.unreferenced_bytes;
    }
}
