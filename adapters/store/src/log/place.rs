//! The directory of the log: files that are whole under their name, read no further than they may be long.

use crate::dir::{Access, Dir, is_no_file};
use crate::error::{damaged, failed};
use crate::layout::Layout;
use crate::locks::{COMPACT, LOG as LOG_LOCK, Lock, Sharing, lock, lock_for_put};
use crate::random::random_name;
use isobox_ports::StoreError;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::{self, Read, Write};

const LOG: &str = "log";
/// What is being written has such a name.
const NEW: &str = "new-";

/// The log of a store, held by the one who writes it. While this lasts, no pack goes and nobody else writes the log.
#[derive(Debug)]
pub(super) struct Updating {
    pub(super) log: LogDir,
    _locks: [Lock; 3],
}

impl Updating {
    /// Takes what it needs, in the one order of all locks: `compact`, `log`, `gc`. The first, because a pack that compaction
    /// takes away in between would be told as lost.
    pub(super) fn begin(layout: &Layout) -> Result<Self, StoreError> {
        layout.require_writable()?;
        let locks = layout.locks()?;
        let compact = lock(locks, COMPACT, Sharing::Exclusive)?;
        let log = lock(locks, LOG_LOCK, Sharing::Exclusive)?;
        let gc = lock_for_put(locks)?;
        Ok(Self { log: LogDir::create(layout)?, _locks: [gc, log, compact] })
    }
}

/// The log of a store. Paths are below it.
#[derive(Debug)]
pub(super) struct LogDir {
    root: Dir,
    /// Directories in which names were made since the last [`flush`](Self::flush).
    touched: RefCell<BTreeSet<String>>,
}

impl LogDir {
    /// Opens the log, `None` where there is none.
    pub(super) fn find(layout: &Layout) -> Result<Option<Self>, StoreError> {
        let found = layout.root.find_dir(LOG).map_err(failed("open", &layout.root.shown(LOG)))?;
        Ok(found.map(|root| Self { root, touched: RefCell::default() }))
    }

    /// Opens the log, or makes one; what a killed writer left of a file goes. The lock of the log must be held.
    pub(super) fn create(layout: &Layout) -> Result<Self, StoreError> {
        let create = || {
            if layout.root.make_dir(LOG)? {
                layout.root.sync()?;
            }
            let root = layout.root.dir(LOG)?;
            for name in root.names()?.iter().filter(|name| name.starts_with(NEW)) {
                root.remove_file(name)?;
            }
            Ok(Self { root, touched: RefCell::default() })
        };
        create().map_err(failed("create log", &layout.root.shown(LOG)))
    }

    /// The path of a file, for people.
    pub(super) fn shown(&self, path: &str) -> String {
        self.root.shown(path).into()
    }

    /// The bytes of a file; `None` where there is none. One that is longer than `limit`, or no file, is damage.
    pub(super) fn read(&self, path: &str, limit: usize) -> Result<Option<Vec<u8>>, StoreError> {
        match self.try_read(path, limit) {
            Err(error) if is_no_file(&error) => Err(damaged("read", self.shown(path), error)),
            Ok(Some(bytes)) if bytes.len() > limit => {
                Err(damaged("read", self.shown(path), format!("it is longer than {limit} bytes")))
            }
            read => read.map_err(failed("read", &self.shown(path))),
        }
    }

    fn try_read(&self, path: &str, limit: usize) -> io::Result<Option<Vec<u8>>> {
        let (folder, name) = split(path);
        let Some(folder) = self.find_folder(folder)? else { return Ok(None) };
        let Some(file) = folder.as_ref().unwrap_or(&self.root).find_file(name)? else { return Ok(None) };
        let mut bytes = Vec::with_capacity(limit.min(usize::try_from(file.metadata()?.len()).unwrap_or(limit)) + 1);
        file.take(limit as u64 + 1).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// The names in a directory; none where there is none.
    pub(super) fn names(&self, folder: &str) -> Result<Vec<String>, StoreError> {
        let names = || match self.root.find_dir(folder)? {
            Some(dir) => dir.names(),
            None => Ok(Vec::new()),
        };
        names().map_err(failed("list", &self.shown(folder)))
    }

    /// Writes a file whole, over one that is there. Its name is durable after [`flush`](Self::flush).
    pub(super) fn write(&self, path: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.try_write(path, bytes).map_err(failed("write", &self.shown(path)))
    }

    fn try_write(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let (folder, name) = split(path);
        let target = self.make_folder(folder)?;
        let new = format!("{NEW}{}", random_name()?);
        let written = self.root.file(&new, Access::CreateNew).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_data()
        });
        let placed = written.and_then(|()| self.root.rename(&new, target.as_ref().unwrap_or(&self.root), name));
        if placed.is_err() {
            self.root.remove_file(&new)?;
        }
        self.touched.borrow_mut().insert(folder.to_owned());
        placed
    }

    /// Makes the names of what was written durable.
    pub(super) fn flush(&self) -> Result<(), StoreError> {
        for folder in self.touched.take() {
            let sync = || self.find_folder(&folder)?.flatten().as_ref().unwrap_or(&self.root).sync();
            sync().map_err(failed("flush", &self.shown(&folder)))?;
        }
        Ok(())
    }

    /// Removes a directory and the files in it; one that is not there is fine.
    pub(super) fn remove_dir(&self, path: &str) -> Result<(), StoreError> {
        let (folder, name) = split(path);
        let remove = || match self.find_folder(folder)? {
            Some(folder) => folder.as_ref().unwrap_or(&self.root).remove_dir(name),
            None => Ok(()),
        };
        remove().map_err(failed("remove", &self.shown(path)))
    }

    /// The directory, `Some(None)` for the log itself, `None` where there is none. Links are not followed.
    fn find_folder(&self, path: &str) -> io::Result<Option<Option<Dir>>> {
        let mut at: Option<Dir> = None;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            match at.as_ref().unwrap_or(&self.root).find_dir(name)? {
                Some(next) => at = Some(next),
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    fn make_folder(&self, path: &str) -> io::Result<Option<Dir>> {
        if let Some(found) = self.find_folder(path)? {
            return Ok(found);
        }
        let (above, name) = split(path);
        let parent = self.make_folder(above)?;
        let parent = parent.as_ref().unwrap_or(&self.root);
        parent.make_dir(name)?;
        self.touched.borrow_mut().insert(above.to_owned());
        parent.dir(name).map(Some)
    }
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}
