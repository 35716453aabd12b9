//! Removing files of large artifacts.

use crate::error::failed;
use crate::index::Location;
use crate::large_reader::large_name;
use crate::locks::lock_for_removal;
use crate::store::{FsTaskStore, Shared};
use isobox_domain::content::ContentId;
use isobox_domain::verification::Thoroughness;
use isobox_ports::{StoreError, Verifier};
use isobox_store_format::entry::EntryKind;
use std::io;

/// Removes large files that no entry refers to, as a killed sweep or put leaves them; how many bytes that frees. Where something
/// is damaged or missing, what referred to them may be it.
pub(super) fn remove_unreferenced(store: &FsTaskStore) -> Result<u64, StoreError> {
    let shared = &*store.shared;
    // All packs are gone through only where there is something to remove, and before anybody has to wait for this.
    if unreferenced(shared)?.is_empty() || !store.verify(Thoroughness::Quick, &|_| {})?.is_sound() {
        return Ok(0);
    }
    let _no_put = lock_for_removal(shared.layout.locks()?)?;
    if !shared.fresh_index()?.damage().is_empty() {
        return Ok(0);
    }
    // A sweep that was killed may have removed packs.
    let_no_pack_come_back(shared)?;
    // A put that was under way refers to some of them by now.
    unreferenced(shared)?.iter().map(|id| remove(shared, id)).sum()
}

/// The large files that no entry refers to, by what is known without looking for more.
fn unreferenced(store: &Shared) -> Result<Vec<ContentId>, StoreError> {
    let large = &store.layout.large;
    let mut found = Vec::new();
    for folder in large.names().map_err(failed("list", &large.shown("")))? {
        let Ok(Some(directory)) = large.find_dir(&folder) else { continue };
        for name in directory.names().map_err(failed("list", &large.shown(&folder)))? {
            let Ok(id) = format!("b3:{folder}{name}").parse::<ContentId>() else { continue };
            let is_reference = |at: &Location| at.kind == EntryKind::Large;
            if !store.known_locations(&id)?.iter().any(is_reference) {
                found.push(id);
            }
        }
    }
    Ok(found)
}

/// After a power cut, a pack that was removed may be there again, and what it refers to is to be there, too. So its removal
/// is made durable before a large file goes.
pub(super) fn let_no_pack_come_back(store: &Shared) -> Result<(), StoreError> {
    let packs = &store.layout.packs;
    packs.sync().map_err(failed("flush", &packs.shown("")))
}

/// Removes the file of a large artifact; how many bytes it took.
pub(super) fn remove(store: &Shared, id: &ContentId) -> Result<u64, StoreError> {
    remove_file(store, id).map_err(failed("remove large artifact", &id.to_string()))
}

fn remove_file(store: &Shared, id: &ContentId) -> io::Result<u64> {
    let (folder, name) = large_name(id);
    let Some(folder) = store.layout.large.find_dir(&folder)? else { return Ok(0) };
    let bytes = folder.identity(&name)?.map_or(0, |(_, length)| length);
    folder.remove_file(&name)?;
    Ok(bytes)
}
