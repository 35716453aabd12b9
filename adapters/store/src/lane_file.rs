//! The file of a lane: opening it, sealing it, keeping what is cut off its end.

use crate::dir::{Access, Dir};
use crate::index::lane_name;
use crate::layout::Layout;
use crate::random::random_name;
use isobox_domain::content::ContentId;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};

const BUFFER: usize = 256 * 1024;

/// Keeps what a lane has from `start` on in quarantine, durably: it is to be cut off.
pub(crate) fn keep_tail(layout: &Layout, number: u8, file: &File, start: u64) -> io::Result<()> {
    let quarantine = layout.quarantine().map_err(io::Error::other)?;
    let kept = quarantine.file(&format!("{}.{}", lane_name(number), random_name()?), Access::CreateNew)?;
    let (mut at, mut buffer) = (start, vec![0; BUFFER]);
    loop {
        let read = file.read_at(&mut buffer, at)?;
        if read == 0 {
            break;
        }
        kept.write_all_at(&buffer[..read], at - start)?;
        at += read as u64;
    }
    kept.sync_all()?;
    quarantine.sync()
}

/// Whether a lane is flushed before it is sealed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flush {
    First,
    Never,
}

/// Makes a lane a sealed pack, whose id is returned.
pub(crate) fn seal_file(layout: &Layout, number: u8, file: &File, flush: Flush) -> io::Result<ContentId> {
    if flush == Flush::First {
        file.sync_data()?;
    }
    let id = hash_file(file)?;
    layout.lanes.rename(&lane_name(number), &layout.packs, &format!("{}.pack", id.to_hex()))?;
    // Not before: a lane that a kill leaves read-only could not be put into.
    if file.set_permissions(Permissions::from_mode(0o444)).is_err() {
        // It is sealed all the same: nothing writes to what bears such a name.
    }
    layout.packs.sync()?;
    layout.lanes.sync()?;
    Ok(id)
}

/// The BLAKE3 of all that a file holds.
pub(crate) fn hash_file(file: &File) -> io::Result<ContentId> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; BUFFER];
    let mut at = 0;
    loop {
        match file.read_at(&mut buffer, at)? {
            0 => return Ok(ContentId::new(*hasher.finalize().as_bytes())),
            length => {
                hasher.write_all(&buffer[..length])?;
                at += length as u64;
            }
        }
    }
}

/// Opens the file of a locked lane. Its name is made durable once, when it is made: each put after that flushes the file alone.
pub(crate) fn open_lane(lanes: &Dir, number: u8) -> io::Result<File> {
    let name = lane_name(number);
    match lanes.file(&name, Access::Existing) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let file = lanes.file(&name, Access::CreateNew)?;
            lanes.sync()?;
            Ok(file)
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => open_read_only(lanes, &name),
        opened => opened,
    }
}

// Another version that was killed while it sealed the lane left it so.
fn open_read_only(lanes: &Dir, name: &str) -> io::Result<File> {
    lanes.file(name, Access::Read)?.set_permissions(Permissions::from_mode(0o600))?;
    lanes.file(name, Access::Existing)
}
