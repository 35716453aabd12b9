//! Reading content-addressed objects.

use crate::{Cause, StoreError};
use isobox_domain::change::{ChangeLine, ChangeSetRef};
use isobox_domain::content::ContentId;
use std::io::Read;

/// Content as a stream.
pub type Content = Box<dyn Read + Send>;

/// The lines of a Change Set, in ascending order of their paths.
pub type ChangeLines<'a> = Box<dyn Iterator<Item = Result<ChangeLine, Cause>> + 'a>;

/// Immutable content by its BLAKE3 hash.
///
/// - What a published record refers to can be opened, and reads back byte for byte.
/// - What was never published, or is not there, is `None`.
/// - Not one byte is handed out of content that does not match its id: opening it is a `Damaged` error.
/// - Memory does not grow with the size of an object or the number of lines.
pub trait ObjectStore: Send + Sync {
    /// Opens the content named `id`.
    fn open(&self, id: &ContentId) -> Result<Option<Content>, StoreError>;

    /// Opens a Change Set. An error ends the iteration.
    fn changes(&self, change_set: &ChangeSetRef) -> Result<ChangeLines<'_>, StoreError>;
}
