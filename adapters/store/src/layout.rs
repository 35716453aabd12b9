//! The directories of a store, and whether it may be used where it lies.

use crate::dir::{Access, Dir, absent_is_none, is_no_file};
use crate::error::{damaged, error, failed, shown};
use crate::index::Aside;
use crate::random::{random_bytes, random_name};
use isobox_ports::{StoreError, StoreErrorKind};
use isobox_store_format::format_file::{FORMAT_LEN, FormatFile, StoreId};
use nix::sys::statfs::{FsType, fstatfs};
use nix::sys::statvfs::{FsFlags, fstatvfs};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

const STORE: &str = "store";
const FORMAT: &str = "FORMAT";
const DIRECTORIES: [&str; 7] = ["locks", "lanes", "packs", "large", "tmp", "quarantine", "cache"];

// Locks and flushes on these cannot be relied on. Numbers from linux/magic.h and the kernel's cifs, smb2 and fuse.
const REMOTE: [(i64, &str); 6] = [
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x6573_5546, "FUSE"),
    (0x0102_1997, "9P"),
];

/// An open store.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) root: Dir,
    pub(crate) lanes: Dir,
    pub(crate) packs: Arc<Dir>,
    pub(crate) large: Dir,
    pub(crate) format: FormatFile,
    pub(crate) tables: Tables,
    /// Those that cannot be written into it.
    pub(crate) aside: Aside,
    /// Opened by the first who needs them, and kept: neither is ever removed.
    locks: OnceLock<Dir>,
    tmp: OnceLock<Dir>,
}

/// Whether derived tables are written into a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tables {
    Written,
    /// It is another's: nothing in it is changed.
    Untouched,
}

impl Layout {
    /// Opens the store in `records`, or makes one.
    pub(crate) fn create(records: &Path) -> Result<Self, StoreError> {
        make_durably(records).map_err(failed("create", &shown(records)))?;
        let parent = Dir::open(records).map_err(failed("open", &shown(records)))?;
        let subject = parent.shown(STORE);
        let is_new = parent.make_dir(STORE).map_err(failed("create store", &subject))?;
        let root = parent.dir(STORE).map_err(failed("open store", &subject))?;
        require_local(&root)?;
        if is_new || !has_format(&root)? {
            fill(&root).map_err(failed("create store", &subject))?;
            parent.sync().map_err(failed("create store", &subject))?;
        }
        let layout = Self::from_root(root)?;
        layout.require_writable()?;
        Ok(layout)
    }

    /// Opens the store in `records`; `None` if there is none. Works where nothing can be written.
    pub(crate) fn open(records: &Path) -> Result<Option<Self>, StoreError> {
        let found = absent_is_none(Dir::open(records)).map_err(failed("open", &shown(records)))?;
        let Some(parent) = found else { return Ok(None) };
        let found = parent.find_dir(STORE).map_err(failed("open store", &parent.shown(STORE)))?;
        let Some(root) = found else { return Ok(None) };
        // A killed creation leaves no FORMAT, and nothing else of worth.
        if !has_format(&root)? && !has_content(&root).map_err(failed("read store", &shown(root.path())))? {
            return Ok(None);
        }
        Self::from_root(root).map(Some)
    }

    /// Opens the store in the directory `store` itself, to be read only; `None` if it is none. Nothing in it is changed.
    pub(crate) fn open_untouched(store: &Path) -> Result<Option<Self>, StoreError> {
        let found = absent_is_none(Dir::open(store)).map_err(failed("open", &shown(store)))?;
        found.map_or(Ok(None), Self::untouched)
    }

    /// As [`open_untouched`](Self::open_untouched) for the store in the directory `records`. A link in its place may lead
    /// anywhere, and is none.
    pub(crate) fn open_untouched_in(records: &Path) -> Result<Option<Self>, StoreError> {
        let found = absent_is_none(Dir::open(records)).map_err(failed("open", &shown(records)))?;
        let Some(parent) = found else { return Ok(None) };
        match parent.find_dir(STORE) {
            Err(error) if is_no_file(&error) => Ok(None),
            found => found.map_err(failed("open store", &parent.shown(STORE)))?.map_or(Ok(None), Self::untouched),
        }
    }

    fn untouched(root: Dir) -> Result<Option<Self>, StoreError> {
        // Whatever lies in its place is told by whoever reads it.
        if !has_format(&root).unwrap_or(true) {
            return Ok(None);
        }
        Ok(Some(Self { tables: Tables::Untouched, ..Self::from_root(root)? }))
    }

    /// Fails if this version, this file system or this user may not write here.
    pub(crate) fn require_writable(&self) -> Result<(), StoreError> {
        let subject = shown(self.root.path());
        let unsuitable = |e| error(StoreErrorKind::Unsuitable, "write to store", subject.clone(), e);
        self.format.require_writable().map_err(unsuitable)?;
        require_local(&self.root)
    }

    /// Where FORMAT is not what it was when it was written; `None` where both of its copies are whole.
    pub(crate) fn find_damage_of_format(&self) -> Result<Option<u64>, StoreError> {
        let subject = self.root.shown(FORMAT);
        let whole = self.format.encode().map_err(|e| damaged("read", subject, e))?;
        let found = format_bytes(&self.root)?;
        let first = found.iter().zip(&whole).position(|(found, whole)| found != whole);
        let end = (found.len() != whole.len()).then_some(found.len().min(whole.len()));
        Ok(first.or(end).map(|at| at as u64))
    }

    /// FORMAT, for people.
    pub(crate) fn shown_format(&self) -> String {
        self.root.shown(FORMAT).into()
    }

    /// Puts a whole FORMAT in the place of a damaged one; where that is kept.
    pub(crate) fn replace_format(&self) -> Result<String, StoreError> {
        let quarantine = self.quarantine()?;
        let replaced = self.format.encode().map_err(io::Error::other).and_then(|bytes| {
            let kept = format!("{FORMAT}.{}", random_name()?);
            self.root.link(FORMAT, &quarantine, &kept)?;
            quarantine.sync()?;
            let (tmp, name) = (self.root.dir("tmp")?, format!("format-{}", random_name()?));
            let mut file = tmp.file(&name, Access::CreateNew)?;
            file.write_all(&bytes)?;
            file.sync_data()?;
            tmp.rename(&name, &self.root, FORMAT)?;
            self.root.sync()?;
            Ok(quarantine.shown(&kept).into())
        });
        replaced.map_err(failed("mend", &self.shown_format()))
    }

    /// The directory of locks.
    pub(crate) fn locks(&self) -> Result<&Dir, StoreError> {
        self.kept(&self.locks, "locks")
    }

    /// The directory of damaged files.
    pub(crate) fn quarantine(&self) -> Result<Dir, StoreError> {
        let subject = self.root.shown("quarantine");
        self.root.make_dir("quarantine").map_err(failed("create", &subject))?;
        self.dir("quarantine")
    }

    /// The directory of attempts.
    pub(crate) fn tmp(&self) -> Result<&Dir, StoreError> {
        self.kept(&self.tmp, "tmp")
    }

    fn kept<'a>(&'a self, kept: &'a OnceLock<Dir>, name: &str) -> Result<&'a Dir, StoreError> {
        if let Some(dir) = kept.get() {
            return Ok(dir);
        }
        let dir = self.dir(name)?;
        Ok(kept.get_or_init(|| dir))
    }

    fn dir(&self, name: &str) -> Result<Dir, StoreError> {
        self.root.dir(name).map_err(failed("open", &self.root.shown(name)))
    }

    fn from_root(root: Dir) -> Result<Self, StoreError> {
        require_private(&root)?;
        let format = read_format(&root)?;
        let open = |name: &str| root.dir(name).map_err(failed("open", &root.shown(name)));
        let (lanes, packs, large) = (open("lanes")?, Arc::new(open("packs")?), open("large")?);
        let (aside, locks, tmp) = Default::default();
        Ok(Self { lanes, packs, large, format, root, tables: Tables::Written, aside, locks, tmp })
    }
}

/// The bytes of FORMAT, and no more than tells that it is too long.
fn format_bytes(root: &Dir) -> Result<Vec<u8>, StoreError> {
    let subject = root.shown(FORMAT);
    let file = root.file(FORMAT, Access::Read).map_err(failed("open", &subject))?;
    let mut bytes = Vec::with_capacity(FORMAT_LEN);
    file.take(FORMAT_LEN as u64 + 1).read_to_end(&mut bytes).map_err(failed("read", &subject))?;
    Ok(bytes)
}

fn read_format(root: &Dir) -> Result<FormatFile, StoreError> {
    let (subject, bytes) = (root.shown(FORMAT), format_bytes(root)?);
    let format = FormatFile::decode(&bytes).map_err(|e| damaged("read", subject.to_string(), e))?;
    format.require_readable().map_err(|e| error(StoreErrorKind::Unsuitable, "open store", subject, e))?;
    Ok(format)
}

fn has_format(root: &Dir) -> Result<bool, StoreError> {
    root.find_file(FORMAT).map(|file| file.is_some()).map_err(failed("open", &root.shown(FORMAT)))
}

fn has_content(root: &Dir) -> io::Result<bool> {
    for name in ["lanes", "packs"] {
        if let Some(dir) = root.find_dir(name)?
            && !dir.names()?.is_empty()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

// FORMAT comes last: a store that has one is complete. Of two at once, the first to link its FORMAT names the store.
fn fill(root: &Dir) -> io::Result<()> {
    if has_content(root)? {
        // Another process may have made the store, and published, since its FORMAT was looked for.
        if root.find_file(FORMAT)?.is_some() {
            return Ok(());
        }
        return Err(io::Error::other("it has packs but no FORMAT, without which they cannot be told to be its own"));
    }
    for name in DIRECTORIES {
        root.make_dir(name)?;
    }
    root.sync()?;
    let bytes = FormatFile::new(StoreId(random_bytes()?)).encode().map_err(io::Error::other)?;
    let (tmp, name) = (root.dir("tmp")?, format!("format-{}", random_name()?));
    let mut file = tmp.file(&name, Access::CreateNew)?;
    file.write_all(&bytes)?;
    file.sync_data()?;
    let linked = tmp.link(&name, root, FORMAT);
    tmp.remove_file(&name)?;
    if linked.is_err() && root.find_file(FORMAT)?.is_none() {
        return linked;
    }
    root.sync()
}

fn require_private(root: &Dir) -> Result<(), StoreError> {
    let subject = shown(root.path());
    let mode = root.as_file().and_then(|file| file.metadata()).map_err(failed("open store", &subject))?.mode();
    if mode & 0o022 == 0 || is_read_only(root) {
        return Ok(());
    }
    let reason = format!("others may write to it (mode {:04o}); run `chmod go-w` on it if nobody did", mode & 0o7777);
    Err(error(StoreErrorKind::Unsuitable, "open store", subject, reason))
}

fn require_local(root: &Dir) -> Result<(), StoreError> {
    let subject = shown(root.path());
    let stat = fstatfs(root).map_err(|errno| failed("look at the file system of", &subject)(errno.into()))?;
    let remote = REMOTE.iter().find(|(magic, _)| stat.filesystem_type() == FsType(*magic as _));
    let Some((_, name)) = remote else { return Ok(()) };
    let reason = format!("it lies on {name}, where locks and flushes cannot be relied on; choose a local directory");
    Err(error(StoreErrorKind::Unsuitable, "write to store", subject, reason))
}

fn is_read_only(root: &Dir) -> bool {
    fstatvfs(root).is_ok_and(|stat| stat.flags().contains(FsFlags::ST_RDONLY))
}

fn make_durably(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make_durably(parent)?;
    // A path that ends in `..` is there once its parent is.
    let Some(name) = path.file_name() else { return Ok(()) };
    let parent = Dir::open(parent)?;
    parent.make_dir(name)?;
    parent.sync()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_store_that_another_process_made_and_put_into_meanwhile_is_taken_as_it_is() {
        let records = tempfile::tempdir().unwrap();
        let layout = Layout::create(records.path()).unwrap();
        fs::write(records.path().join("store/lanes/lane-00.pack"), "").unwrap();
        fill(&layout.root).unwrap();
        assert_eq!(read_format(&layout.root).unwrap(), layout.format);
    }
}
