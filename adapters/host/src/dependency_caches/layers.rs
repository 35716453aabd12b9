//! The layers that workloads write: taken, listed, and removed.

use super::size::bytes_in;
use super::{FOLDER, failed};
use isobox_domain::cache_limits::CacheLimits;
use isobox_domain::escape::Escaped;
use isobox_domain::timestamp::Timestamp;
use isobox_ports::{CacheError, CacheLayer, CacheLayers, Eviction};
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// Holds the path of the project, and says by its time when the layer was used.
const USED: &str = "used";
/// Names the start of the machine since which everything in the layer was written.
const BOOT: &str = "boot";
/// How the kernel names this start of the machine. See random(4).
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// More attempts of one project at the same time than anybody has.
const MOST_LAYERS: u32 = 4096;
/// How often a layer is made that somebody takes away before it is locked.
const MOST_TRIES: u32 = 64;

/// A layer that nobody else has meanwhile.
pub(super) struct Layer {
    directory: PathBuf,
    _lock: File,
}

impl Layer {
    /// The first of the project's layers that nobody has.
    pub(super) fn take(root: &Path, project: &Path) -> io::Result<Self> {
        let of_project = root.join(&blake3::hash(project.as_os_str().as_bytes()).to_hex().as_str()[..16]);
        for number in 0..MOST_LAYERS {
            let directory = of_project.join(number.to_string());
            if let Some(lock) = make_and_lock(&directory)? {
                empty_after_restart(&directory)?;
                fs::write(directory.join(USED), project.as_os_str().as_bytes())?;
                return Ok(Self { directory, _lock: lock });
            }
        }
        Err(io::Error::other(format!("{MOST_LAYERS} attempts have one each")))
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }
}

/// The lock of a layer, which is made if it is not there; `None` if somebody has it.
fn make_and_lock(directory: &Path) -> io::Result<Option<File>> {
    for _ in 0..MOST_TRIES {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
        match made.and_then(|()| lock(directory)) {
            // Who prunes took it away meanwhile, or the directory around it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // It was there, and was gone before std looked whether it is a directory.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !is_in_the_way(directory) => {}
            locked => return locked,
        }
    }
    Err(io::Error::other(format!("{} is taken away as often as it is made", Escaped::path(directory))))
}

/// Whether something else than a directory, or than a link to one, lies there or on the way there.
fn is_in_the_way(directory: &Path) -> bool {
    let is_other = |path: &Path| {
        let kind = fs::symlink_metadata(path).map(|found| found.file_type());
        kind.is_ok_and(|kind| !(kind.is_dir() || kind.is_symlink() && path.is_dir()))
    };
    directory.ancestors().any(is_other)
}

/// Empties a layer that was written before this start of the machine. Nothing flushes it to disk, so that a power cut takes a
/// part of what is in it, and nobody can tell which: a file that is cut off looks like one that is whole.
fn empty_after_restart(directory: &Path) -> io::Result<()> {
    let (started, noted) = (fs::read(BOOT_ID)?, directory.join(BOOT));
    // A note that is itself cut off, or not there, is of no start.
    if fs::read(&noted).is_ok_and(|noted| noted == started) {
        return Ok(());
    }
    isobox_removal::empty(directory)?;
    fs::write(noted, started)
}

/// The lock of a layer; `None` if somebody has it, or removed the directory meanwhile.
fn lock(directory: &Path) -> io::Result<Option<File>> {
    let file = File::open(directory)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
        Ok(()) => {}
    }
    let (held, found) = (file.metadata()?, directory.metadata());
    let is_there = found.is_ok_and(|found| (found.dev(), found.ino()) == (held.dev(), held.ino()));
    Ok(is_there.then_some(file))
}

/// The layers in a cache directory of isobox's.
#[derive(Clone, Debug)]
pub struct FsCacheLayers {
    root: PathBuf,
}

impl FsCacheLayers {
    /// Those in `cache`, isobox's cache directory, which need not be there.
    pub fn new(cache: &Path) -> Self {
        Self { root: cache.join(FOLDER) }
    }

    /// Evicts what nobody used for as long as a cache is kept unasked. How much layers take is not looked at: adding that up can
    /// take longer than a Task.
    fn evict_unused(&self) -> Result<(), CacheError> {
        let Some(within) = CacheLimits::UPKEEP.within_ms.map(Duration::from_millis) else { return Ok(()) };
        let is_unused = |name: &String| {
            let used = fs::symlink_metadata(self.root.join(name).join(USED)).and_then(|found| found.modified());
            used.is_ok_and(|used| used.elapsed().is_ok_and(|age| age > within))
        };
        let mut unused = self.names()?.into_iter().filter(is_unused);
        unused.try_for_each(|name| self.evict(&name).map(drop))
    }

    fn names(&self) -> Result<Vec<String>, CacheError> {
        let in_words = || format!("look into {}", Escaped::path(&self.root));
        let mut names = Vec::new();
        for project in names_in(&self.root).map_err(|error| failed(&in_words(), error))? {
            let layers = names_in(&self.root.join(&project)).map_err(|error| failed(&in_words(), error))?;
            names.extend(layers.into_iter().map(|layer| format!("{project}/{layer}")));
        }
        names.sort_unstable();
        Ok(names)
    }

    fn entry(&self, name: &str) -> io::Result<CacheLayer> {
        let directory = self.root.join(name);
        let is_in_use = lock(&directory)?.is_none();
        let used = directory.join(USED);
        let modified = fs::symlink_metadata(&used).and_then(|found| found.modified()).unwrap_or(UNIX_EPOCH);
        let used_ms = modified.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let project = fs::read(used).ok().map(|path| PathBuf::from(std::ffi::OsString::from_vec(path)));
        let used_at = Timestamp::nearest(u64::try_from(used_ms).unwrap_or(u64::MAX));
        Ok(CacheLayer { name: name.to_owned(), project, bytes: bytes_in(&directory), used_at, is_in_use })
    }
}

impl CacheLayers for FsCacheLayers {
    fn list(&self) -> Result<Vec<CacheLayer>, CacheError> {
        let (names, in_words) = (self.names()?, || format!("look into {}", Escaped::path(&self.root)));
        let entries = names.iter().filter_map(|name| match self.entry(name) {
            // Evicted meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            entry => Some(entry.map_err(|error| failed(&in_words(), error))),
        });
        entries.collect()
    }

    fn evict(&self, name: &str) -> Result<Eviction, CacheError> {
        let directory = self.root.join(name);
        let is_name = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !name.split_once('/').is_some_and(|(project, layer)| is_name(project) && is_name(layer)) {
            return Err(failed(
                &format!("remove layer {}", Escaped(name.as_bytes())),
                io::Error::other("no such name"),
            ));
        }
        let removed = match lock(&directory) {
            Ok(None) => return Ok(Eviction::InUse),
            Ok(Some(_held)) => remove(&directory),
            Err(error) => Err(error),
        };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed(&format!("remove {}", Escaped::path(&directory)), error))
            }
            _ => {
                // It stays while it has other layers, and an empty one is in nobody's way.
                directory.parent().map_or(Ok(()), fs::remove_dir).unwrap_or_default();
                Ok(Eviction::Removed)
            }
        }
    }
}

/// Removes a layer. If that is cut short, the next attempt takes nothing of it for whole.
fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_file(directory.join(BOOT)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    isobox_removal::remove(directory)
}

/// Evicts what nobody used for long, beside whatever goes on: what is not done when the process ends is left to the next.
pub(super) fn begin_upkeep(root: &Path) {
    let layers = FsCacheLayers { root: root.to_owned() };
    // Nobody asked for it: `isobox cache prune` says what stands in the way.
    std::thread::spawn(move || layers.evict_unused().unwrap_or_default());
}

/// Names of directories, as isobox makes them.
fn names_in(directory: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            names.extend(entry.file_name().to_str().map(str::to_owned));
        }
    }
    Ok(names)
}
