//! What a compaction of a Task Store did.

/// What is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every pack that gains by it, after the lanes that nobody writes to were sealed.
    All,
    /// What was sealed before.
    Sealed,
}

/// A pack that stays as it is although it was to be taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedBy {
    /// The file, escaped for people.
    pub file: String,
    /// Why, as a sentence without its end.
    pub reason: String,
}

/// What became of the packs of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compaction {
    /// Packs that went.
    pub packs_before: u64,
    /// How many bytes they had.
    pub bytes_before: u64,
    /// Packs that came in their place.
    pub packs_after: u64,
    /// How many bytes these have.
    pub bytes_after: u64,
    /// What stays as it is.
    pub passed_by: Vec<PassedBy>,
}
