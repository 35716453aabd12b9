//! Putting a large artifact in its place.

use crate::dir::Dir;
use crate::large_reader::{find_large, large_header, large_name, open_staged, verify_large};
use crate::layout::Layout;
use crate::owner::Owner;
use crate::staging::{StagedLarge, Staging};
use isobox_store_format::entry::EntryHeader;
use std::io;
use std::sync::Arc;

/// Makes a staged large artifact part of the store, durably.
pub(crate) fn place_large(layout: &Layout, staging: &Staging, large: &StagedLarge) -> io::Result<()> {
    let dir = staging.dir();
    let (folder_name, name) = large_name(&large.header.id);
    let is_there = is_placed(layout, &large.header)?;
    let is_new = layout.large.make_dir(folder_name.as_str())?;
    let folder = layout.large.dir(folder_name.as_str())?;
    if !is_there {
        let file = open_staged(&dir, &large.name)?;
        verify_large(&file, &large.header)?.map_err(io::Error::other)?;
        if let Some(owner) = Owner::of_new_in(&folder)? {
            owner.give(&file)?;
        }
        file.sync_data()?;
        link_over(&dir, &large.name, &folder, &name)?;
    }
    // Also for a file that was there: its own writer may not have come so far yet.
    folder.sync()?;
    if is_new { layout.large.sync() } else { Ok(()) }
}

fn is_placed(layout: &Layout, header: &EntryHeader) -> io::Result<bool> {
    let Some(file) = find_large(&layout.large, &header.id)?.map(Arc::new) else { return Ok(false) };
    Ok(large_header(&file)? == Some(*header) && verify_large(&file, header)?.is_ok())
}

// A damaged file of that name makes way; a file system without hard links gets a rename.
fn link_over(dir: &Dir, staged: &str, folder: &Dir, name: &str) -> io::Result<()> {
    folder.remove_file(name)?;
    match dir.link(staged, folder, name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(_) => dir.rename(staged, folder, name),
        Ok(()) => Ok(()),
    }
}
