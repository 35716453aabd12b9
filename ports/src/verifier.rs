//! Verifying a Task Store.

use crate::StoreError;
use isobox_domain::content::ContentId;
use isobox_domain::verification::{Thoroughness, Verification};

/// How far a verification has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advance {
    /// Bytes that were gone through.
    pub done_bytes: u64,
    /// Of how many.
    pub all_bytes: u64,
}

/// Receives how far it has come, from any thread.
pub type TellAdvance<'a> = &'a (dyn Fn(Advance) + Sync);

/// Compares what a Task Store holds with what was written.
///
/// - Every defect is found that the chosen thoroughness can see, and one does not hide the next.
/// - Every record that a defect touches is named, unless nothing says any more which that is.
/// - Content of which another whole copy is stored touches no record.
/// - Nothing is changed. What is written meanwhile may or may not be looked at.
/// - Memory does not grow with the store.
pub trait Verifier {
    /// Verifies the whole store.
    fn verify(&self, how: Thoroughness, tell: TellAdvance<'_>) -> Result<Verification, StoreError>;

    /// Verifies one record with everything that it refers to, as deeply as can be; `None` if it was never committed.
    fn verify_record(&self, record: &ContentId) -> Result<Option<Verification>, StoreError>;
}
