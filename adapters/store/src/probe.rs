//! A Task Store looked at without writing: its health, who may write there, and how much room there is.

use crate::dir::Dir;
use crate::error::shown;
use crate::layout::Layout;
use crate::store::FsTaskStore;
use isobox_domain::fact::{Fact, Room, StoreHealth, Trial};
use isobox_ports::{HostProbe, RecordLog, StoreError};
use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, faccessat};
use std::error::Error;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// How many of the newest records are read.
const NEWEST: usize = 32;
/// How many damages are told.
const TOLD: usize = 8;

/// Looks at the Task Store of a records directory, which need not be there.
#[derive(Clone, Debug)]
pub struct StoreProbe {
    records: PathBuf,
}

impl StoreProbe {
    /// For the store in `records`.
    pub fn new(records: &Path) -> Self {
        Self { records: records.to_owned() }
    }

    /// The store, or the nearest directory above in which it would be made.
    fn place(&self) -> PathBuf {
        let store = self.records.join("store");
        let there = store.ancestors().find(|path| path.symlink_metadata().is_ok());
        there.unwrap_or(Path::new("/")).to_owned()
    }

    fn writable(&self) -> Trial {
        let place = self.place();
        let needed = AccessFlags::W_OK | AccessFlags::X_OK;
        // Without a store, nothing of it can be unsuitable; what is damaged in one is told with its health.
        let suitable = match Layout::open(&self.records) {
            Ok(Some(layout)) => layout.require_writable().map_err(|error| chain(&error)),
            Ok(None) | Err(_) => Ok(()),
        };
        let allowed = faccessat(AT_FDCWD, &place, needed, AtFlags::AT_EACCESS)
            .map_err(|errno| format!("{}: {}", shown(&place), errno.desc()));
        let allowed = allowed.and_then(|()| parts_are_writable(&place));
        match suitable.and(allowed) {
            Ok(()) => Trial::Works(format!("{} may be written to", shown(&place))),
            Err(reason) => Trial::Fails(reason),
        }
    }
}

/// A store may belong to this user and a part of it to another one.
fn parts_are_writable(place: &Path) -> Result<(), String> {
    let Ok(store) = Dir::open(place) else { return Ok(()) };
    for part in ["locks", "lanes", "packs", "large", "tmp"] {
        match faccessat(store.as_fd(), part, AccessFlags::W_OK | AccessFlags::X_OK, AtFlags::AT_EACCESS) {
            Ok(()) | Err(nix::errno::Errno::ENOENT) => {}
            Err(errno) => return Err(format!("{}: {}", store.shown(part), errno.desc())),
        }
    }
    Ok(())
}

fn health(records: &Path) -> StoreHealth {
    let store = match FsTaskStore::open(records) {
        Ok(Some(store)) => store,
        Ok(None) => return StoreHealth::Absent,
        Err(error) => return StoreHealth::Damaged(vec![chain(&error)]),
    };
    match read_newest(&store) {
        Ok(read) => StoreHealth::Readable { read },
        Err(reasons) => StoreHealth::Damaged(reasons),
    }
}

fn read_newest(store: &FsTaskStore) -> Result<u64, Vec<String>> {
    let listed = store.list().map_err(|error| vec![chain(&error)])?;
    let (mut read, mut reasons) = (0, Vec::new());
    for entry in listed.take(NEWEST) {
        let loaded = entry.and_then(|entry| store.load(&entry.record).map(|record| (entry, record)));
        match loaded {
            Ok((_, Some(_))) => read += 1,
            Ok((entry, None)) => reasons.push(format!("the record {} is listed and not there", entry.record)),
            Err(error) => reasons.push(chain(&error)),
        }
    }
    reasons.truncate(TOLD);
    if reasons.is_empty() { Ok(read) } else { Err(reasons) }
}

fn room(place: &Path) -> Option<Room> {
    let stat = statvfs(place).ok()?;
    let bytes = (stat.blocks_available() as u64).saturating_mul(stat.fragment_size() as u64);
    // File systems that make inodes as they need them count none.
    let files = (stat.files() > 0).then(|| stat.files_available() as u64);
    Some(Room { bytes, files })
}

fn chain(error: &StoreError) -> String {
    let mut told = error.to_string();
    let mut link: Option<&(dyn Error + 'static)> = error.source();
    while let Some(source) = link {
        told.push_str(&format!(": {source}"));
        link = source.source();
    }
    told
}

impl HostProbe for StoreProbe {
    fn facts(&self) -> Vec<Fact> {
        let store = shown(&self.records.join("store"));
        let mut facts = vec![Fact::Store(store, health(&self.records)), Fact::StoreWritable(self.writable())];
        facts.extend(room(&self.place()).map(Fact::StoreRoom));
        facts
    }
}
