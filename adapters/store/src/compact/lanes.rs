//! Sealing lanes that nobody writes to.

use crate::error::failed;
use crate::index::{lane_name, remove_lane_table};
use crate::lane::{Known, Lane, is_usable};
use crate::locks::try_lock_lane;
use crate::store::Shared;
use isobox_ports::StoreError;
use isobox_store_format::limits::{LANES, MAX_PACK};

/// Seals every lane that holds something and that nobody puts into at the moment.
pub(crate) fn seal_idle_lanes(store: &Shared) -> Result<(), StoreError> {
    let layout = &store.layout;
    let locks = layout.locks()?;
    for number in (0..LANES).filter(|number| is_usable(layout, *number)) {
        let name = lane_name(number);
        let length = layout.lanes.file_length(&name).map_err(failed("look at", &layout.lanes.shown(&name)))?;
        if length.unwrap_or_default() == 0 {
            continue;
        }
        if let Some(lock) = try_lock_lane(locks, number)? {
            let known = Known::of(&*store.fresh_index()?, number);
            // No lane has room for a whole pack more.
            drop(Lane::open(layout, (number, lock), MAX_PACK, known)?);
            if remove_lane_table(layout, number).is_err() {
                // It takes room, and misleads nobody.
            }
        }
    }
    Ok(())
}
