//! The cache that pristine copies lie in: finding one, and having it made by one process while others wait.

use super::boot;
use super::build;
use super::delta;
use super::held::{Found, Held, is_private};
use super::leaving::{MAKING, sweep, take_away};
use super::nearest::nearest;
use super::turn::Turn;
use super::upkeep;
use super::wanted::Wanted;
use crate::random::random_name;
use crate::workspace::git_dir::Identity;
use crate::workspace::{disposal, failure};
use crate::{GixRepository, oid};
use isobox_domain::content::hex;
use isobox_domain::escape::Escaped;
use isobox_domain::git_oid::GitOid;
use isobox_ports::{Eviction, Headway, WorkspaceError};
use nix::unistd::{getegid, geteuid};
use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts up when copies come to look different than before.
const FORMAT: &str = "1";
/// Hex digits of a hash in a name.
const HASH_DIGITS: usize = 16;

/// The pristine copies of a user. What was asked for stays locked as long as this value and its clones live.
#[derive(Clone, Debug)]
pub(crate) struct PristineCache {
    directory: PathBuf,
    held: Arc<Mutex<BTreeMap<PathBuf, Arc<Held>>>>,
    /// How far the copy has come that is made, here or by another process.
    headway: Arc<Headway>,
}

/// Why there is no pristine copy.
#[derive(Debug)]
pub(crate) enum Unprepared {
    /// Nothing can be made from the commit at all.
    Refused(WorkspaceError),
    /// None can be had here and now, for a reason in words.
    Unusable(String),
}

impl PristineCache {
    /// The copies below the absolute directory `directory`, which is made on first use. `headway` is told while one is
    /// made.
    pub(crate) fn new(directory: PathBuf, headway: Arc<Headway>) -> Self {
        Self { directory, held: Arc::default(), headway }
    }

    /// Where the copies lie, or will.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Which copy a Workspace of `commit` lies on.
    ///
    /// Its bytes follow from the commit, so that it does not matter whether another repository was at the same path
    /// before.
    pub(crate) fn wanted(&self, repository: &GixRepository, commit: &GitOid, branch: Option<&[u8]>) -> Wanted {
        let gix = repository.gix();
        let [common_dir, git_dir] = [repository.common_dir(), gix.git_dir()].map(|path| path.as_os_str().as_bytes());
        // A working tree has repositories of its own for submodules, which go with it: no other one's copy lies there.
        let key = if names_submodules(&gix, commit) { hash(&[common_dir, git_dir]) } else { hash(&[common_dir]) };
        let identity = Identity::of(&gix);
        let [name, email] = [identity.name, identity.email].map(|value| match value {
            Some(value) => [b"=", value.as_slice()].concat(),
            None => vec![],
        });
        // An unmapped gid breaks copy-up with EOVERFLOW, and makes Git read every file again.
        let owner = format!("{} {}", geteuid(), getegid());
        let rest = hash(&[FORMAT.as_bytes(), branch.unwrap_or_default(), &name, &email, owner.as_bytes()]);
        Wanted {
            place: self.directory.join(key).join(format!("{commit}-{rest}")),
            source: repository.root().to_owned(),
            commit: *commit,
            branch: branch.map(<[u8]>::to_vec),
        }
    }

    /// The copy at a place of this cache, if it is there and whole.
    pub(crate) fn find(&self, place: &Path) -> Option<Arc<Held>> {
        if let Some(held) = self.held().get(place) {
            return Some(Arc::clone(held));
        }
        // Places are read from states: nothing else is looked at.
        let is_here = place.ancestors().nth(2).is_some_and(|around| around.as_os_str() == self.directory.as_os_str());
        match is_here.then(|| self.look(place)) {
            Some(Ok(Found::Whole(held))) => Some(self.keep(held)),
            _ => None,
        }
    }

    /// The copy that is wanted, if it is still at its place and whole. One that somebody removed or changed although it was
    /// in use is let go here.
    pub(crate) fn find_again(&self, wanted: &Wanted) -> Option<Arc<Held>> {
        let is_gone = self.held().get(&wanted.place).is_some_and(|held| !held.is_still_whole());
        if is_gone {
            self.held().remove(&wanted.place);
        }
        self.find(&wanted.place)
    }

    /// The copy that is wanted, of `repository`: found, or made first. Waits for somebody who makes the same.
    pub(crate) fn prepare(&self, wanted: &Wanted, repository: &GixRepository) -> Result<Arc<Held>, Unprepared> {
        if let Some(held) = self.find(&wanted.place) {
            return Ok(held);
        }
        self.make(wanted, repository).map(|held| self.keep(held))
    }

    fn keep(&self, held: Arc<Held>) -> Arc<Held> {
        self.held().insert(held.place.clone(), Arc::clone(&held));
        held
    }

    fn look(&self, place: &Path) -> io::Result<Found> {
        match std::fs::metadata(&self.directory) {
            Ok(found) if is_private(&found) => match Held::take(place)? {
                Found::Whole(held) if !boot::is_seen(&held)? => Ok(Found::Damaged),
                found => Ok(found),
            },
            Ok(_) => Err(io::Error::new(ErrorKind::PermissionDenied, "it is not a private directory of this user")),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Found::Nothing),
            Err(error) => Err(error),
        }
    }

    fn make(&self, wanted: &Wanted, repository: &GixRepository) -> Result<Arc<Held>, Unprepared> {
        let place = &wanted.place;
        let around = place.parent().unwrap_or(&self.directory);
        let turn = self.wait_for_turn(around).map_err(|error| self.unusable(&error))?;
        match self.look(place).map_err(|error| self.unusable(&error))? {
            Found::Whole(held) => return Ok(held),
            Found::Damaged => self.make_room(place, "is damaged")?,
            Found::Outdated => self.make_room(place, "lacks a submodule that is there by now")?,
            Found::Nothing => {}
        }
        // Nobody else makes anything while it is this one's turn: what is there was left by one that was killed.
        sweep(around).map_err(|error| self.unusable(&error))?;
        let made = turn.telling(&self.headway, || self.make_at(place, around, wanted, repository)).map_err(
            |error| match error {
                WorkspaceError::Refused { .. } => Unprepared::Refused(error),
                _ => self.unusable(&error),
            },
        )?;
        match made {
            Found::Whole(held) => {
                upkeep::begin(&self.directory);
                Ok(held)
            }
            Found::Damaged | Found::Outdated | Found::Nothing => {
                Err(self.unusable(&io::Error::other("what was made there did not stay")))
            }
        }
    }

    fn make_room(&self, place: &Path, why: &str) -> Result<(), Unprepared> {
        match take_away(place, || Ok(true)).map_err(|error| self.unusable(&error))? {
            Eviction::Removed => Ok(()),
            Eviction::InUse | Eviction::LainOn => {
                let why = format!("the pristine copy {why}, and another process uses it");
                Err(self.unusable(&io::Error::new(ErrorKind::WouldBlock, why)))
            }
        }
    }

    fn make_at(
        &self,
        place: &Path,
        around: &Path,
        wanted: &Wanted,
        repository: &GixRepository,
    ) -> Result<Found, WorkspaceError> {
        let name = random_name().map_err(|e| failure("choose a name for a pristine copy", e))?;
        let making = around.join(format!("{MAKING}{name}"));
        // Whatever it lies on stays locked until it is in its place, where it can be seen that it lies on that.
        let made = make_in(&making, &name, wanted, repository, &self.headway).and_then(|_lower| {
            boot::note(&making)
                .and_then(|()| std::fs::rename(&making, place))
                .map_err(|e| failure("put the pristine copy in its place", e))
        });
        made.inspect_err(|_| {
            // Best effort: what is left is swept by whoever makes the next one.
            disposal::remove(&making).unwrap_or_default();
        })?;
        self.look(place).map_err(|e| failure("look at the pristine copy", e))
    }

    /// Waits until nobody else makes a copy of the same repository; `around` is where they lie.
    ///
    /// One at a time, for the next is made from the one before it.
    fn wait_for_turn(&self, around: &Path) -> io::Result<Turn> {
        loop {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(around);
            let is_gone = around.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound);
            match made {
                // Somebody tidies at this moment.
                Ok(()) if is_gone => continue,
                Err(error) if is_gone && error.kind() == ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            for directory in [&self.directory, around] {
                match std::fs::metadata(directory) {
                    Ok(found) if is_private(&found) => {}
                    Ok(_) => {
                        let why = "it is not a private directory of this user";
                        return Err(io::Error::new(ErrorKind::PermissionDenied, why));
                    }
                    // As above: the next turn says what else it is.
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                }
            }
            if let Some(turn) = Turn::wait(around, &self.headway)? {
                return Ok(turn);
            }
        }
    }

    fn unusable(&self, error: &(dyn std::error::Error + 'static)) -> Unprepared {
        let causes = std::iter::successors(Some(error), |error| error.source());
        let why = causes.map(ToString::to_string).collect::<Vec<_>>().join(": ");
        Unprepared::Unusable(format!("{}: {why}", Escaped::path(&self.directory)))
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Arc<Held>>> {
        // A panic elsewhere leaves a whole map behind.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a copy in `making`, as a layer on another one if there is one that is near enough: that one.
fn make_in(
    making: &Path,
    id: &str,
    wanted: &Wanted,
    repository: &GixRepository,
    headway: &Arc<Headway>,
) -> Result<Option<Arc<Held>>, WorkspaceError> {
    let around = making.parent().unwrap_or(Path::new("/"));
    // What cannot be looked at is no help, and no harm.
    if let Some(lower) = nearest(around, wanted, repository).unwrap_or_default() {
        match delta::upon(&lower, making, id, wanted, repository) {
            Ok(true) => return Ok(Some(lower)),
            Err(error @ (WorkspaceError::Refused { .. } | WorkspaceError::Full { .. })) => return Err(error),
            // A file system without whiteouts, or damage that the look at the other copy did not find.
            Ok(false) | Err(WorkspaceError::Io { .. }) => {}
        }
        disposal::remove(making).map_err(|e| failure("remove half a pristine copy", e))?;
    }
    build::whole(making, id, wanted, repository, headway).map(|()| None)
}

/// Whether the commit says where submodules come from. One that cannot be read is refused later.
fn names_submodules(repository: &gix::Repository, commit: &GitOid) -> bool {
    let tree = repository.find_commit(oid::to_gix(commit)).and_then(|commit| commit.tree());
    tree.is_ok_and(|tree| tree.find_entry(".gitmodules").is_some())
}

/// Sixteen hex digits that stand for `parts`.
fn hash(parts: &[&[u8]]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        // With its length before it, so that no two lists of parts are the same bytes.
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    let mut digits = hex(hasher.finalize().as_bytes());
    digits.truncate(HASH_DIGITS);
    digits
}
