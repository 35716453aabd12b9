//! Writing what is damaged or missing of a log anew, once it is sure what belongs there.

use super::append::{Appender, Sink};
use super::leaves::Salvage;
use super::place::{LogDir, Updating};
use crate::error::damaged;
use crate::layout::Layout;
use crate::store::Shared;
use isobox_domain::log::TreeHead;
use isobox_ports::{Rebuilt, StoreError};

pub(super) fn rebuild(shared: &Shared, head: &TreeHead) -> Result<Rebuilt, StoreError> {
    let layout = &shared.layout;
    let updating = Updating::begin(layout)?;
    let log = &updating.log;
    if grow(layout, log, head.size, &mut |_, _| Ok(()))? != *head {
        let reason = format!("what is left of it and of the lanes does not lead to the root of {} COMMITs", head.size);
        return Err(damaged("rebuild", log.shown(""), reason));
    }
    // The same again: nothing was changed in between but what is written here, of which nothing is read after.
    let mut rebuilt = Rebuilt::default();
    grow(layout, log, head.size, &mut |path, bytes| {
        rebuilt.files += 1;
        let is_sound = matches!(log.read(&path, bytes.len()), Ok(Some(found)) if found == bytes);
        if !is_sound {
            rebuilt.written += 1;
            log.write(&path, &bytes)?;
        }
        Ok(())
    })?;
    log.flush()?;
    Ok(rebuilt)
}

fn grow(layout: &Layout, log: &LogDir, size: u64, sink: Sink<'_>) -> Result<TreeHead, StoreError> {
    let (mut salvage, mut appender) = (Salvage::new(layout, log, size)?, Appender::new());
    for bundle in 0..size.div_ceil(256) {
        for leaf in salvage.bundle(bundle)? {
            appender.push(leaf, sink)?;
        }
    }
    appender.finish(|_| false, sink)?;
    Ok(appender.head())
}
