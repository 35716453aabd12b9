//! What is stored more than once.

use crate::error::failed;
use crate::index::{Index, Location};
use crate::layout::Layout;
use crate::pack_scan::read_header;
use isobox_domain::measurement::Measurement;
use isobox_ports::StoreError;
use isobox_store_format::entry::{EntryKind, Place};

/// Counts every copy but the first of each.
pub(super) fn count(layout: &Layout, index: &Index, found: &mut Measurement) -> Result<(), StoreError> {
    let mut entries = index.by_id();
    let mut last = None;
    let unread = |error| failed("list", &layout.root.shown(""))(error);
    while let Some((id, location)) = entries.next_entry(layout).map_err(unread)? {
        if last.replace(id) == Some(id) && location.kind != EntryKind::Large {
            add(layout, &location, found)?;
        }
    }
    Ok(())
}

fn add(layout: &Layout, location: &Location, found: &mut Measurement) -> Result<(), StoreError> {
    let shown = location.pack.shown(layout);
    let file = location.pack.open(layout).map_err(failed("open", &shown))?;
    // A damaged header was counted as damage.
    if let Some(header) = read_header(&file, location.offset, Place::Pack).map_err(failed("read", &shown))? {
        found.unreferenced.duplicates.add(header.raw_length, header.stored_length);
    }
    Ok(())
}
