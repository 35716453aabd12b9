//! The files and directories of a store.

use super::gone::Gone;
use crate::dir::Dir;
use crate::error::failed;
use crate::large_reader::large_header;
use crate::store::FsTaskStore;
use isobox_domain::content::{ContentId, parse_hex};
use isobox_domain::measurement::{ContentKind, Measurement};
use isobox_ports::StoreError;
use std::io;
use std::sync::Arc;

/// Where files are that are told apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Area {
    Root,
    Lanes,
    Packs,
    Large,
    /// A directory of large artifacts whose ids begin alike.
    LargeFolder,
    Cache,
    Other,
}

/// Directories deeper than the store makes any are not looked into.
const DEEPEST: usize = 4;

/// Counts them all, and the large artifacts with what they hold.
pub(super) fn count(store: &FsTaskStore, gone: &Gone<'_>, found: &mut Measurement) -> Result<(), StoreError> {
    let root = &store.shared.layout.root;
    let subject = root.shown("");
    let again = root.dir(".").map_err(failed("open", &subject))?;
    let mut walk = Walk { store, gone, found };
    walk.directory(&again, Area::Root, "", 0)
}

struct Walk<'a> {
    store: &'a FsTaskStore,
    gone: &'a Gone<'a>,
    found: &'a mut Measurement,
}

impl Walk<'_> {
    fn directory(&mut self, dir: &Dir, area: Area, name: &str, depth: usize) -> Result<(), StoreError> {
        self.found.files.directories += 1;
        for entry in dir.names().map_err(failed("list", &dir.shown("")))? {
            let shown = dir.shown(&entry).to_string();
            match dir.find_dir(&entry) {
                Ok(Some(below)) if depth < DEEPEST => {
                    self.directory(&below, area.below(&entry), &entry, depth + 1)?;
                }
                Ok(_) => {}
                Err(error) if is_other_than_directory(&error) => {
                    self.file(dir, area, name, &entry).map_err(failed("look at", &shown))?;
                }
                // It belongs to another user: an attempt of theirs.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => self.found.files.directories += 1,
                Err(error) => return Err(failed("open", &shown)(error)),
            }
        }
        Ok(())
    }

    fn file(&mut self, dir: &Dir, area: Area, folder: &str, name: &str) -> io::Result<()> {
        let Some((_, length)) = dir.identity(name)? else { return Ok(()) };
        let is_pack = name.ends_with(".pack");
        let files = &mut self.found.files;
        match area {
            Area::Lanes if is_pack => files.lanes.add(length),
            Area::Packs if is_pack => files.packs.add(length),
            Area::Packs | Area::Cache if name.ends_with(".idx") => files.tables.add(length),
            Area::LargeFolder => {
                files.large.add(length);
                return self.large(dir, &format!("{folder}{name}"), name, length);
            }
            Area::Root | Area::Lanes | Area::Packs | Area::Large | Area::Cache | Area::Other => {
                files.others.add(length)
            }
        }
        Ok(())
    }

    fn large(&mut self, dir: &Dir, digits: &str, name: &str, length: u64) -> io::Result<()> {
        let Some(id) = parse_hex(digits).map(ContentId::new) else { return Ok(()) };
        let Ok(Some(file)) = dir.find_file(name) else { return Ok(()) };
        // What is damaged takes as much room as it does.
        let raw_length = large_header(&Arc::new(file))?.map_or(length, |header| header.raw_length);
        // What cannot be looked up is not known to be of no use.
        let is_committed = self.store.shared.known_locations(&id).map_or(true, |found| !found.is_empty());
        match is_committed {
            _ if self.gone.has(&id) => self.found.unreferenced.pruned.add(raw_length, length),
            true => self.found.add(ContentKind::Large, raw_length, length),
            false => self.found.unreferenced.large.add(raw_length, length),
        }
        Ok(())
    }
}

impl Area {
    fn below(self, name: &str) -> Self {
        match (self, name) {
            (Self::Root, "lanes") => Self::Lanes,
            (Self::Root, "packs") => Self::Packs,
            (Self::Root, "large") => Self::Large,
            (Self::Root, "cache") => Self::Cache,
            (Self::Large, _) => Self::LargeFolder,
            _ => Self::Other,
        }
    }
}

fn is_other_than_directory(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotADirectory || error.raw_os_error() == Some(nix::errno::Errno::ELOOP as i32)
}
