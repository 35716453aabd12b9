//! The names in one directory, sorted, a window at a time.
//!
//! A directory has two slots: `a`, where it is looked at, and `a/`, where it is descended into. Sorted by their bytes,
//! slots give every path of a tree in ascending order of its bytes: `a`, `a.txt`, `a/b`, `a0`.

use crate::beneath::{self, Kind};
use nix::dir::{Dir, Type};
use nix::errno::Errno;
use std::os::fd::{AsFd, OwnedFd};

/// Slots that a listing keeps at most. A larger directory is read again for each further window.
const WINDOW: usize = 65_536;

/// The slots of a directory from some point on.
#[derive(Debug)]
pub(super) struct Listing {
    /// In descending order: the next one is last.
    slots: Vec<Box<[u8]>>,
    /// Whether no slot comes after these.
    is_last_window: bool,
    /// Whether a name is `.git`, in any case.
    pub(super) has_git: bool,
    /// Whether the directory has no name at all.
    pub(super) is_empty: bool,
}

/// What [`Listing::next`] gives.
pub(super) enum Next {
    Slot(Box<[u8]>),
    /// The window is used up: the listing is to be read again.
    FurtherWindow,
    End,
}

impl Listing {
    /// Reads the slots of `directory` that come after `after`.
    pub(super) fn read(directory: &OwnedFd, after: &[u8]) -> Result<Self, Errno> {
        Self::read_window(directory, after, WINDOW)
    }

    fn read_window(directory: &OwnedFd, after: &[u8], window: usize) -> Result<Self, Errno> {
        // An open of its own, as its position is its own.
        let names = Dir::from_fd(beneath::open_directory(directory, b".")?)?;
        let mut listing = Self { slots: Vec::new(), is_last_window: true, has_git: false, is_empty: true };
        for entry in names {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            listing.is_empty = false;
            listing.has_git |= is_git(name);
            listing.add(name.into(), after);
            if is_directory(directory, name, entry.file_type()) {
                listing.add([name, b"/"].concat().into(), after);
            }
            if listing.slots.len() > 2 * window {
                listing.cut(window);
            }
        }
        listing.cut(window);
        listing.slots.reverse();
        Ok(listing)
    }

    fn add(&mut self, slot: Box<[u8]>, after: &[u8]) {
        if *slot > *after {
            self.slots.push(slot);
        }
    }

    fn cut(&mut self, window: usize) {
        self.slots.sort_unstable();
        if self.slots.len() > window {
            self.slots.truncate(window);
            self.is_last_window = false;
        }
    }

    /// Takes the next slot.
    pub(super) fn next(&mut self) -> Next {
        match self.slots.pop() {
            Some(slot) => Next::Slot(slot),
            None if self.is_last_window => Next::End,
            None => Next::FurtherWindow,
        }
    }

    /// Whether the next slot is `slot`.
    pub(super) fn is_next(&self, slot: &[u8]) -> bool {
        self.slots.last().is_some_and(|next| **next == *slot)
    }

    /// How many slots are held.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }
}

/// Whether a file system could take `name` for `.git`.
pub(super) fn is_git(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b".git")
}

fn is_directory(at: impl AsFd, name: &[u8], kind: Option<Type>) -> bool {
    match kind {
        Some(kind) => kind == Type::Directory,
        None => beneath::look(at, name).is_ok_and(|seen| seen.kind() == Kind::Directory),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn all(directory: &OwnedFd, window: usize) -> Vec<Vec<u8>> {
        let mut slots: Vec<Vec<u8>> = Vec::new();
        loop {
            let after = slots.last().cloned().unwrap_or_default();
            let mut listing = Listing::read_window(directory, &after, window).expect("the directory is listed");
            loop {
                match listing.next() {
                    Next::Slot(slot) => slots.push(slot.into_vec()),
                    Next::FurtherWindow => break,
                    Next::End => return slots,
                }
            }
        }
    }

    #[test]
    fn slots_come_in_the_order_of_full_paths_however_small_the_window() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        for name in ["a", "b-"] {
            fs::create_dir(directory.path().join(name)).expect("a directory is made");
        }
        for name in ["a.txt", "a0", "b", "-"] {
            fs::write(directory.path().join(name), "").expect("a file is made");
        }
        let handle = OwnedFd::from(fs::File::open(directory.path()).expect("it opens"));
        let expected: Vec<Vec<u8>> =
            ["-", "a", "a.txt", "a/", "a0", "b", "b-", "b-/"].iter().map(|s| s.as_bytes().to_vec()).collect();
        for window in [1, 2, 3, 100] {
            assert_eq!(all(&handle, window), expected, "window of {window}");
        }
    }
}
