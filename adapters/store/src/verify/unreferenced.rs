//! Files of large artifacts that no committed entry refers to.

use crate::dir::is_no_file;
use crate::error::failed;
use crate::index::Location;
use crate::large_reader::large_name;
use crate::store::FsTaskStore;
use isobox_domain::content::ContentId;
use isobox_domain::verification::Leftovers;
use isobox_ports::StoreError;
use isobox_store_format::entry::EntryKind;

/// Counts them. A publication at this moment may be among them; what goes meanwhile is not.
pub(super) fn count(store: &FsTaskStore) -> Result<Leftovers, StoreError> {
    let large = &store.shared.layout.large;
    let mut found = Leftovers::default();
    let subject = large.shown("");
    for folder in large.names().map_err(failed("list", &subject))? {
        let directory = match large.find_dir(&folder) {
            Ok(Some(directory)) => directory,
            Ok(None) => continue,
            // A file, a link: not a place for large artifacts, but nothing refers to it either.
            Err(error) if is_no_file(&error) => {
                found.unreferenced += 1;
                continue;
            }
            Err(error) => return Err(failed("open", &large.shown(&folder))(error)),
        };
        for name in directory.names().map_err(failed("list", &large.shown(&folder)))? {
            if is_referred_to(store, &folder, &name)? {
                continue;
            }
            let Some((_, bytes)) = directory.identity(&name).map_err(failed("look at", &directory.shown(&name)))?
            else {
                continue;
            };
            found.unreferenced += 1;
            found.unreferenced_bytes += bytes;
        }
    }
    Ok(found)
}

fn is_referred_to(store: &FsTaskStore, folder: &str, name: &str) -> Result<bool, StoreError> {
    let Ok(id) = format!("b3:{folder}{name}").parse::<ContentId>() else { return Ok(false) };
    // Two names could stand for the same id only if one of them were no name that is given.
    if large_name(&id) != (folder.to_owned(), name.to_owned()) {
        return Ok(false);
    }
    let is_reference = |location: &Location| location.kind == EntryKind::Large;
    Ok(store.shared.known_locations(&id)?.iter().any(is_reference))
}
