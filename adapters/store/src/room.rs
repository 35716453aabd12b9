//! Room that is set aside while there is some, so that a disk that fills in the meantime still takes the record.

use crate::dir::{Access, Dir};
use nix::fcntl::{FallocateFlags, fallocate};
use std::io;

/// What a piece of room is kept for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// The last piece of either output.
    Outputs,
    /// The record and what is copied beside it.
    Record,
}

impl Room {
    const ALL: [Self; 2] = [Self::Outputs, Self::Record];

    const fn name(self) -> &'static str {
        match self {
            Self::Outputs => "room-for-outputs",
            Self::Record => "room-for-record",
        }
    }

    // Two outputs of just under 1 MiB that do not compress; and these again, with a record that is as long as one may be.
    const fn bytes(self) -> i64 {
        match self {
            Self::Outputs => 9 << 18,
            Self::Record => 13 << 18,
        }
    }
}

/// Sets room aside in the directory of an attempt, as far as the file system can.
pub(crate) fn set_aside(dir: &Dir) {
    for room in Room::ALL {
        let set_aside = dir
            .file(room.name(), Access::CreateNew)
            .and_then(|file| Ok(fallocate(&file, FallocateFlags::empty(), 0, room.bytes())?));
        if set_aside.is_err() {
            // Without it a full disk is noticed later; whether there is room enough to begin is the probe's question.
            give_back_quietly(dir, room);
        }
    }
}

/// Gives room back, to be used now.
pub(crate) fn give_back(dir: &Dir, room: Room) -> io::Result<()> {
    dir.remove_file(room.name())
}

fn give_back_quietly(dir: &Dir, room: Room) {
    match give_back(dir, room) {
        // It holds nothing that anybody would miss.
        Ok(()) | Err(_) => {}
    }
}
