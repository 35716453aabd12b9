//! What became of the content of pruned records.

use crate::compaction::PassedBy;

/// What a sweep removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Pruned records whose content went.
    pub records: u64,
    /// Objects that went: these records, and what no other refers to.
    pub objects: u64,
    /// Bytes of the packs that went.
    pub bytes_before: u64,
    /// Bytes of the packs that came in their place.
    pub bytes_after: u64,
    /// Bytes of the large artifacts that went.
    pub large_bytes: u64,
    /// Packs that stay as they are, with what is dead in them.
    pub passed_by: Vec<PassedBy>,
}
