//! From a Task Record to every object below it: what has to be with it wherever it goes.

use crate::change_set::{FetchError, ReadError, decode_index, read_change_set};
use crate::object::{self, DecodeError, MAX_OBJECT_BYTES};
use crate::record::children;
use isobox_domain::change::{ChangeLine, ChangeSetRef};
use isobox_domain::content::ContentRef;

/// Why not every object below a record was found.
#[derive(Debug, thiserror::Error)]
pub enum BelowError {
    /// The record is none.
    #[error("decode the record")]
    Record(#[source] DecodeError),
    /// Its Change Set cannot be read.
    #[error(transparent)]
    ChangeSet(#[from] ReadError),
    /// Whoever was told of an object did not want to go on.
    #[error("take an object of the record")]
    Taken(#[source] FetchError),
}

/// Hands every object below the record in `record` to `each`: children, the chunks of its Change Set, and the files that
/// these name. An object may come several times. `fetch` is that of [`read_change_set`]. Takes the memory of one chunk.
pub fn each_below(
    record: &[u8],
    fetch: &mut dyn FnMut(&ContentRef) -> Result<Vec<u8>, FetchError>,
    each: &mut dyn FnMut(&ContentRef) -> Result<(), FetchError>,
) -> Result<(), BelowError> {
    for child in children(record).map_err(BelowError::Record)? {
        each(&child.reference).map_err(BelowError::Taken)?;
        if child.role.is_change_set() {
            below_change_set(&child.reference, fetch, each)?;
        }
    }
    Ok(())
}

fn below_change_set(
    root: &ContentRef,
    fetch: &mut dyn FnMut(&ContentRef) -> Result<Vec<u8>, FetchError>,
    each: &mut dyn FnMut(&ContentRef) -> Result<(), FetchError>,
) -> Result<(), BelowError> {
    let part = root.id;
    let decode = |source| ReadError::Decode { part, source };
    let length = usize::try_from(root.length).unwrap_or(usize::MAX);
    if length > MAX_OBJECT_BYTES {
        return Err(decode(DecodeError::TooLarge { length, limit: MAX_OBJECT_BYTES }).into());
    }
    let bytes = fetch(root).map_err(|source| ReadError::Fetch { part, source })?;
    object::verify(root, &bytes).map_err(decode)?;
    let index = decode_index(&bytes).map_err(decode)?;
    drop(bytes);
    index.chunks.iter().try_for_each(&mut *each).map_err(BelowError::Taken)?;
    let reference = ChangeSetRef { id: root.id, length: root.length, summary: index.summary };
    for line in read_change_set(&reference, fetch)? {
        if let ChangeLine::Change(change) = line?
            && let Some(after) = change.after
        {
            each(&after.content).map_err(BelowError::Taken)?;
        }
    }
    Ok(())
}
