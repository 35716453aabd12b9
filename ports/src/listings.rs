//! Looking through all records of a Task Store.

use crate::{StoreError, StoredEvent};
use isobox_domain::listing::Direction;
use isobox_domain::record::{RecordEntry, TaskRecord};

/// The entries of records as they come, or what could not be read where some are.
pub type Entries<'a> = Box<dyn Iterator<Item = Result<RecordEntry, StoreError>> + 'a>;

/// Lists the records of a Task Store.
pub trait Listings {
    /// The records that are committed now.
    fn begin_listing(&self) -> Result<Box<dyn Listing + '_>, StoreError>;
}

/// The records of a Task Store, as they were at one moment.
///
/// - Every record that was committed when the listing began, and was not pruned, is in it once, in the order of its commit;
///   none that came later is.
/// - So are the events.
/// - What is damaged costs no other record.
/// - Nothing of a record is read before it is loaded.
/// - Memory does not grow with the number of records.
pub trait Listing {
    /// How many records there are. One that is stored twice may count twice.
    fn count(&self) -> u64;

    /// The entries of all records, by the time of their commit.
    fn entries(&self, direction: Direction) -> Entries<'_>;

    /// What could not be read, where records may be that are not in `entries`.
    fn damage(&self) -> Vec<StoreError>;

    /// The record of an entry, verified; quickest for the one that was handed out last.
    fn load(&self, entry: &RecordEntry) -> Result<Option<TaskRecord>, StoreError>;

    /// The events about the record of an entry, oldest first.
    fn events(&self, entry: &RecordEntry) -> Result<Vec<StoredEvent>, StoreError>;
}
