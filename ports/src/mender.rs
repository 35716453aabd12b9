//! Making up for damaged content.

use crate::{Content, StoreError};
use isobox_domain::content::ContentId;

/// Hands over content by its hash from elsewhere, verified; `None` where it is not, or not whole.
pub type FindContent<'a> = &'a dyn Fn(&ContentId) -> Option<Content>;

/// Whether anything is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MendMode {
    /// It is only found out what could be done.
    Look,
    /// It is done.
    Mend,
}

/// A damaged file of a store, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MendedFile {
    /// The file, escaped for people.
    pub file: String,
    /// Damaged objects in it that are, or could be, what they were.
    pub restored: Vec<ContentId>,
    /// Damaged objects in it of which no whole copy was found, or none that is stored alike.
    pub lost: Vec<ContentId>,
    /// Where the damaged file was moved to, if it was replaced; escaped for people.
    pub quarantined: Option<String>,
}

/// Brings damaged files of a Task Store back to what they were, by whole copies of what they hold.
///
/// - What takes a file's place has the same entries in the same places, each as its header says it was.
/// - Nothing is deleted or cut: the damaged file is kept in quarantine.
/// - What is read meanwhile is never another content, and at no moment less than before.
pub trait Mender {
    /// Mends every damaged file of which something can be restored.
    fn mend(&self, find: FindContent<'_>, mode: MendMode) -> Result<Vec<MendedFile>, StoreError>;

    /// Makes every derived table anew; how many packs and lanes there are.
    fn rebuild_tables(&self) -> Result<u64, StoreError>;
}
