//! Room that is set aside while there is some, so that a disk that fills in the meantime still takes the record.

use crate::dir::{Access, Dir, absent_is_none};
use nix::fcntl::{FallocateFlags, fallocate};
use std::io;

const NAME: &str = "room";
/// For the last piece of either output: two of just under 1 MiB that do not compress.
const FOR_OUTPUTS: u64 = 9 << 18;
/// For the record and what is copied beside it: the outputs again, with a record that is as long as one may be.
const FOR_RECORD: u64 = 13 << 18;

/// Sets room aside in the directory of an attempt, as far as the file system can.
pub(crate) fn set_aside(dir: &Dir) {
    let length = (FOR_RECORD + FOR_OUTPUTS).cast_signed();
    let set_aside =
        dir.file(NAME, Access::CreateNew).and_then(|file| Ok(fallocate(&file, FallocateFlags::empty(), 0, length)?));
    if set_aside.is_err() {
        // Without it a full disk is noticed later; whether there is room enough to begin is the probe's question. What
        // there may be holds nothing that anybody would miss.
        give_back(dir).ok();
    }
}

/// Gives back what the outputs may need, to be used now.
pub(crate) fn give_back_for_outputs(dir: &Dir) -> io::Result<()> {
    match absent_is_none(dir.file(NAME, Access::Existing))? {
        Some(room) if room.metadata()?.len() > FOR_RECORD => room.set_len(FOR_RECORD),
        Some(_) | None => Ok(()),
    }
}

/// Gives all of it back, to be used now.
pub(crate) fn give_back(dir: &Dir) -> io::Result<()> {
    dir.remove_file(NAME)
}
