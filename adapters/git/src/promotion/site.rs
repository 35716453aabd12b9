//! Where a Promotion works: its journal and what it stages, beside the Git directory's own files.
//!
//! ```text
//! <common Git directory>/isobox/
//!     promotion.lock      locked while a Promotion is in progress; stays
//!     promotion/          there while a Promotion is performed or not settled
//!         place           for whom: see `Place`; made first, removed last
//!         journal         complete from the moment it is there; gone: nothing is left to settle
//!         done            the point of no return
//!         index-hash      BLAKE3 of the index that is to be written
//!         new-index       that index, until it holds Git's `index.lock`
//!         reference       which reference is moved from where to where
//!         new-reference   what it is to hold, until that holds Git's lock of it
//!         stage/new/<n>   contents that wait for their place
//!         stage/old/<n>   what was moved away
//!     undo/               what the last finished Promotion replaced: see `kept`
//! ```
//! Where the working tree lies on another mount than the Git directory, `stage` is a hidden directory in its root, so that
//! everything is moved by rename alone.

use super::dir::{Dir, sync_file, write_all};
use super::permissions::{create_own_file, make_own_dir};
use crate::fields::invalid;
use crate::random::random_name;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub(super) const HOME: &[u8] = b"isobox";
pub(super) const LOCK: &[u8] = b"promotion.lock";
pub(super) const STATE: &[u8] = b"promotion";
pub(super) const JOURNAL: &[u8] = b"journal";
pub(super) const JOURNAL_DRAFT: &[u8] = b"journal.draft";
pub(super) const DONE: &[u8] = b"done";
pub(super) const INDEX_HASH: &[u8] = b"index-hash";
pub(super) const INDEX_HASH_DRAFT: &[u8] = b"index-hash.draft";
pub(super) const NEW_INDEX: &[u8] = b"new-index";
pub(super) const REFERENCE: &[u8] = b"reference";
pub(super) const REFERENCE_DRAFT: &[u8] = b"reference.draft";
pub(super) const NEW_REFERENCE: &[u8] = b"new-reference";
pub(super) const PLACE: &[u8] = b"place";
const PLACE_DRAFT: &[u8] = b"place.draft";
const STAGE: &[u8] = b"stage";
const NEW: &[u8] = b"new";
pub(super) const OLD: &[u8] = b"old";
const HIDDEN_PREFIX: &str = ".isobox-promotion-";
const PLACE_MAGIC: &[u8; 15] = b"ISOBOX-PLACE 1\n";
const MAX_PLACE_BYTES: u64 = 64 * 1024;

/// For which working tree a Promotion is, and where its contents are staged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Inode of the state directory: a copy of the repository must not settle the original's Promotion.
    state_inode: u64,
    /// Inode of the working tree's root: it is found again after it was moved.
    root_inode: u64,
    /// Where the root was.
    pub(super) root_path: PathBuf,
    /// The working tree's own Git directory, below the common one; empty for the main working tree.
    git_dir: Vec<u8>,
    /// The hidden directory in the root, if the stage is there.
    hidden: Option<Vec<u8>>,
}

/// The open directories of a Promotion.
#[derive(Debug)]
pub(super) struct Site {
    /// The working tree.
    pub(super) root: Dir,
    /// The working tree's own Git directory.
    pub(super) git_dir: Dir,
    /// The Git directory that all working trees share.
    pub(super) common_dir: Dir,
    /// The state directory.
    pub(super) state: Dir,
    /// What holds the two that follow.
    pub(super) stage: Dir,
    /// Contents that wait for their place.
    pub(super) new: Dir,
    /// What was moved away.
    pub(super) old: Dir,
    place: Place,
}

impl Place {
    fn encode(&self) -> Vec<u8> {
        let fields = [self.root_path.as_os_str().as_bytes(), &self.git_dir, self.hidden.as_deref().unwrap_or_default()];
        let mut bytes = PLACE_MAGIC.to_vec();
        bytes.extend([self.state_inode.to_le_bytes(), self.root_inode.to_le_bytes()].concat());
        for field in fields {
            // Paths that the kernel accepts are at most 4096 bytes long.
            bytes.extend((field.len() as u16).to_le_bytes());
            bytes.extend(field);
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (numbers, mut rest) = bytes.strip_prefix(PLACE_MAGIC)?.split_at_checked(16)?;
        let mut field = || {
            let (length, after) = rest.split_first_chunk()?;
            let (field, after) = after.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
            rest = after;
            Some(field.to_vec())
        };
        let (root_path, git_dir, hidden) = (field()?, field()?, field()?);
        Some(Self {
            state_inode: u64::from_le_bytes(numbers[..8].try_into().ok()?),
            root_inode: u64::from_le_bytes(numbers[8..].try_into().ok()?),
            root_path: PathBuf::from(OsStr::from_bytes(&root_path)),
            git_dir,
            hidden: (!hidden.is_empty()).then_some(hidden),
        })
    }

    /// Reads the place of a Promotion; `None` if it was killed before it had one, and had nothing else either.
    pub(super) fn load(state: &Dir) -> io::Result<Option<Self>> {
        if state.stat(PLACE)?.is_none() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        state.open_file(PLACE)?.take(MAX_PLACE_BYTES).read_to_end(&mut bytes)?;
        let place = Self::decode(&bytes).ok_or_else(|| invalid("it does not say for which working tree it is"))?;
        if state.stat_self()?.st_ino != place.state_inode {
            return Err(invalid("it was copied from another repository: remove it, and restore the files from HEAD"));
        }
        Ok(Some(place))
    }

    /// Whether what was kept in `dir` is for the working tree `root`.
    pub(super) fn names_root(dir: &Dir, root: &Dir) -> io::Result<bool> {
        let mut bytes = Vec::new();
        dir.open_file(PLACE)?.take(MAX_PLACE_BYTES).read_to_end(&mut bytes)?;
        let place = Self::decode(&bytes).ok_or_else(|| invalid("it does not say for which working tree it is"))?;
        Ok(place.root_inode == root.stat_self()?.st_ino)
    }

    /// The root of the working tree, where it was or at `current`; `None` if it is at neither.
    pub(super) fn find_root(&self, current: &Path) -> io::Result<Option<Dir>> {
        for host_path in [self.root_path.as_path(), current] {
            match Dir::open(host_path) {
                Ok(root) if root.stat_self()?.st_ino == self.root_inode => return Ok(Some(root)),
                Ok(_) => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

impl Site {
    /// Makes the directories of a Promotion into the working tree at `root_path`.
    pub(super) fn create(home: &Dir, common_dir: &Path, git_dir: &Path, root_path: &Path) -> io::Result<Self> {
        let root = Dir::open(root_path)?;
        make_own_dir(home, STATE)?;
        let state = home.open_below(STATE)?;
        let hidden =
            if is_reached_by_rename(&root, common_dir, root_path, &state)? { None } else { Some(hidden_name()?) };
        let below = git_dir.strip_prefix(common_dir).map_err(|_| invalid("the Git directory has an unknown layout"))?;
        let place = Place {
            state_inode: state.stat_self()?.st_ino,
            root_inode: root.stat_self()?.st_ino,
            root_path: root_path.to_owned(),
            git_dir: below.as_os_str().as_bytes().to_vec(),
            hidden,
        };
        let mut draft = create_own_file(&state, PLACE_DRAFT)?;
        write_all(&mut draft, &place.encode())?;
        sync_file(&draft)?;
        state.replace(PLACE_DRAFT, PLACE)?;
        state.sync()?;
        let (base, name) = place.stage(&root, &state);
        make_own_dir(base, name)?;
        let stage = base.open_below(name)?;
        make_own_dir(&stage, NEW)?;
        make_own_dir(&stage, OLD)?;
        Self::reopen(home, common_dir, root, place)
    }

    /// Opens the directories of a Promotion that was begun before.
    pub(super) fn reopen(home: &Dir, common_dir: &Path, root: Dir, place: Place) -> io::Result<Self> {
        let state = home.open_below(STATE)?;
        let common_dir = Dir::open(common_dir)?;
        let git_dir = common_dir.open_below(&place.git_dir)?;
        let (base, name) = place.stage(&root, &state);
        let stage = base.open_below(name)?;
        if stage.stat(OLD)?.is_none() {
            // A kill came while it was being kept: everything is in its place by then.
            make_own_dir(&stage, OLD)?;
        }
        let (new, old) = (stage.open_below(NEW)?, stage.open_below(OLD)?);
        Ok(Self { root, git_dir, common_dir, state, stage, new, old, place })
    }

    /// The journal.
    pub(super) fn journal(&self) -> io::Result<File> {
        self.state.open_file(JOURNAL)
    }

    /// Says in `dir` for which working tree the Promotion is.
    pub(super) fn write_place(&self, dir: &Dir) -> io::Result<()> {
        write_all(&mut create_own_file(dir, PLACE)?, &self.place.encode())
    }

    /// Forgets the journal, so that nothing is left to settle, then removes what else is there.
    pub(super) fn forget(&self, home: &Dir) -> io::Result<()> {
        self.state.remove_file(JOURNAL)?;
        self.state.sync()?;
        clear(home, Some((&self.place, Some(&self.root))))
    }
}

impl Place {
    /// The directory that holds the stage, and the stage's name in it.
    fn stage<'a>(&'a self, root: &'a Dir, state: &'a Dir) -> (&'a Dir, &'a [u8]) {
        self.hidden.as_deref().map_or((state, STAGE), |hidden| (root, hidden))
    }
}

/// Removes everything of a Promotion that has no journal.
pub(super) fn clear(home: &Dir, place: Option<(&Place, Option<&Dir>)>) -> io::Result<()> {
    let state = home.open_below(STATE)?;
    if let Some((Place { hidden: Some(hidden), .. }, Some(root))) = place {
        root.remove_all(hidden)?;
    }
    state.remove_all(STAGE)?;
    let left =
        [JOURNAL_DRAFT, INDEX_HASH, INDEX_HASH_DRAFT, NEW_INDEX, REFERENCE, REFERENCE_DRAFT, NEW_REFERENCE, DONE];
    for name in left.into_iter().chain([PLACE_DRAFT]) {
        state.remove_file(name)?;
    }
    // Last, because it says where the stage is.
    state.remove_file(PLACE)?;
    home.remove_dir(STATE)
}

/// Whether the state directory lies below the root on the same mount.
fn is_reached_by_rename(root: &Dir, common_dir: &Path, root_path: &Path, state: &Dir) -> io::Result<bool> {
    let Ok(below) = common_dir.strip_prefix(root_path) else { return Ok(false) };
    let path = [below.as_os_str().as_bytes(), HOME, STATE].join(&b'/');
    let Ok(found) = root.open_below(&path) else { return Ok(false) };
    Ok(found.stat_self()?.st_ino == state.stat_self()?.st_ino)
}

fn hidden_name() -> io::Result<Vec<u8>> {
    Ok(format!("{HIDDEN_PREFIX}{}", random_name()?).into_bytes())
}
