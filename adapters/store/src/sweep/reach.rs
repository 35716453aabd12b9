//! Everything that a record refers to.

use crate::error::damaged;
use crate::store::FsTaskStore;
use isobox_domain::change::{ChangeLine, ChangeSetRef};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_ports::{ObjectStore, StoreError};
use isobox_store_format::change_set::decode_index;
use isobox_store_format::entry::EntryKind;
use isobox_store_format::record::children;

/// Hands `record` itself and whatever it refers to, directly or not, to `each`, some of it several times; whether it is
/// there. Fails if not all of it can be known.
pub(super) fn reach(
    store: &FsTaskStore,
    record: &ContentId,
    each: &mut dyn FnMut(ContentId),
) -> Result<bool, StoreError> {
    let Some(bytes) = store.read_small(record, EntryKind::Record)? else { return Ok(false) };
    each(*record);
    let children = children(&bytes).map_err(|e| damaged("read record", record.to_string(), e))?;
    for child in children {
        each(child.reference.id);
        if child.role.is_change_set() {
            reach_files(store, child.reference, each)?;
        }
    }
    Ok(true)
}

fn reach_files(store: &FsTaskStore, root: ContentRef, each: &mut dyn FnMut(ContentId)) -> Result<(), StoreError> {
    let refused = |e: isobox_ports::Cause| damaged("read change set", root.id.to_string(), e);
    let bytes = store.read_small(&root.id, EntryKind::Artifact)?;
    let bytes = bytes.ok_or_else(|| refused("it is missing".into()))?;
    let index = decode_index(&bytes).map_err(|e| refused(e.into()))?;
    index.chunks.iter().for_each(|chunk| each(chunk.id));
    let change_set = ChangeSetRef { id: root.id, length: root.length, summary: index.summary };
    for line in store.changes(&change_set)? {
        if let ChangeLine::Change(change) = line.map_err(refused)?
            && let Some(after) = change.after
        {
            each(after.content.id);
        }
    }
    Ok(())
}
