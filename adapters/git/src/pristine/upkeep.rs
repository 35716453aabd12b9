//! Looking after the cache: what is in it, and letting go what nobody needs.

use super::boot;
use super::held::{Found, Held, is_at, lock, whole_seal};
use super::leaving::{take_away, tidy};
use super::seal::Seal;
use crate::workspace::failure;
use isobox_domain::cache_limits::CacheLimits;
use isobox_domain::escape::Escaped;
use isobox_domain::timestamp::Timestamp;
use isobox_ports::{CachedCopy, CopySeal, Eviction, WorkspaceCache, WorkspaceError};
use nix::fcntl::FlockArg;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The pristine copies below one directory, of all repositories. A name is that of a repository's directory, a slash,
/// and that of the copy's own.
#[derive(Clone, Debug)]
pub struct FsWorkspaceCache {
    directory: PathBuf,
}

impl FsWorkspaceCache {
    /// The copies below the absolute directory `directory`, which need not be there.
    pub fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    fn failure(&self, what: &str, error: io::Error) -> WorkspaceError {
        failure(&format!("{what} {}", Escaped::path(&self.directory)), error)
    }

    /// Two components that lead nowhere else.
    fn is_name(&self, name: &str) -> bool {
        let mut parts = name.split('/');
        let is_part = |part: Option<&str>| part.is_some_and(|part| !part.is_empty() && !part.starts_with('.'));
        is_part(parts.next()) && is_part(parts.next()) && parts.next().is_none()
    }

    fn places(&self) -> io::Result<Vec<(String, PathBuf)>> {
        let mut places = Vec::new();
        for repository in names(&self.directory)? {
            let around = self.directory.join(&repository);
            for copy in names(&around)? {
                places.push((format!("{repository}/{copy}"), around.join(copy)));
            }
        }
        places.sort();
        Ok(places)
    }

    fn look(
        &self,
        look: impl Fn(&str, &Path) -> io::Result<Option<Looked>>,
    ) -> Result<Vec<CachedCopy>, WorkspaceError> {
        let places = self.places().map_err(|e| self.failure("look into the cache", e))?;
        let looked: io::Result<Vec<_>> =
            places.iter().filter_map(|(name, place)| look(name, place).transpose()).collect();
        let mut looked = looked.map_err(|e| self.failure("look at the pristine copies in", e))?;
        let ids: BTreeSet<_> =
            looked.iter().filter_map(|looked| Some((looked.copy.name.clone(), looked.id.clone()?))).collect();
        // A copy without what it lies on is none.
        for Looked { copy, below, .. } in &mut looked {
            copy.seal.take_if(|_| !below.iter().all(|lower| ids.contains(lower)));
        }
        Ok(looked.into_iter().map(|looked| looked.copy).collect())
    }
}

impl WorkspaceCache for FsWorkspaceCache {
    fn list(&self) -> Result<Vec<CachedCopy>, WorkspaceError> {
        self.look(look)
    }

    fn verify(&self) -> Result<Vec<CachedCopy>, WorkspaceError> {
        self.look(|name, place| {
            let Some(mut looked) = look(name, place)? else { return Ok(None) };
            if looked.copy.seal.is_some() && !is_verified(place)? {
                looked.copy.seal = None;
            }
            Ok(Some(looked))
        })
    }

    fn evict(&self, name: &str) -> Result<Eviction, WorkspaceError> {
        let place = self.directory.join(name);
        let (Some(around), true) = (place.parent(), self.is_name(name)) else { return Ok(Eviction::Removed) };
        let evict = || {
            let own = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let lies_on = |seal: Seal| seal.below.iter().any(|(below, _)| *below == own);
            let evicted = take_away(&place, || {
                let others = names(around)?;
                Ok(!others.iter().filter_map(|other| Seal::load(&around.join(other).join("seal"))).any(lies_on))
            })?;
            if around.is_dir() {
                tidy(around)?;
            }
            Ok(evicted)
        };
        evict().map_err(|e| self.failure("remove a pristine copy from", e))
    }
}

/// A copy, as it was found.
struct Looked {
    copy: CachedCopy,
    /// Its own id, if it is whole.
    id: Option<String>,
    /// Names and ids of what it lies on.
    below: Vec<(String, String)>,
}

/// Whether every file of a copy is as it was made. If one is not, whoever wants the copy next finds that out, too.
fn is_verified(place: &Path) -> io::Result<bool> {
    let Ok(Found::Whole(held)) = Held::look(place) else { return Ok(false) };
    let is_whole = boot::verify(&held).is_ok();
    if !is_whole {
        held.condemn()?;
    }
    Ok(is_whole)
}

/// Looks at every sample of a copy; `None` if it is gone by now.
fn look(name: &str, place: &Path) -> io::Result<Option<Looked>> {
    // Held to the end: nobody takes it away while it is looked at.
    let locked = match lock(place, FlockArg::LockExclusiveNonblock) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => None,
        locked => match locked? {
            Some(locked) => Some(locked),
            None => return Ok(None),
        },
    };
    let Some(directory) = open(place)? else { return Ok(None) };
    let since = directory.metadata()?.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    let used_at = Timestamp::nearest(u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
    let seal = whole_seal(&directory, place, usize::MAX).filter(|_| !boot::is_condemned(place));
    // Whoever used it may have been the last, and another may have taken it away.
    if seal.is_none() && !is_at(place, &directory)? {
        return Ok(None);
    }
    let around = name.split_once('/').map_or("", |(around, _)| around);
    let beside = |(name, id): &(String, String)| (format!("{around}/{name}"), id.clone());
    let below: Vec<_> = seal.iter().flat_map(|seal| &seal.below).map(beside).collect();
    let id = seal.as_ref().map(|seal| seal.id.clone());
    let names = below.iter().map(|(name, _)| name.clone()).collect();
    let seal = seal.map(|Seal { source, commit, branch, bytes, paths, .. }| CopySeal {
        source,
        commit,
        branch,
        bytes,
        paths,
        below: names,
    });
    let is_in_use = locked.is_none();
    Ok(Some(Looked { copy: CachedCopy { name: name.to_owned(), seal, used_at, is_in_use }, id, below }))
}

fn open(place: &Path) -> io::Result<Option<File>> {
    match File::open(place) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        opened => Ok(Some(opened?)),
    }
}

/// The names of directories that are not of half a copy.
fn names(directory: &Path) -> io::Result<Vec<String>> {
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(vec![]),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if let Ok(name) = entry.file_name().into_string()
            && !name.starts_with('.')
            && entry.file_type()?.is_dir()
        {
            names.push(name);
        }
    }
    Ok(names)
}

/// Evicts what a cache need not keep, beside whatever goes on: what is not done when the process ends is left to the
/// next.
pub(super) fn begin(directory: &Path) {
    let cache = FsWorkspaceCache::new(directory.to_owned());
    std::thread::spawn(move || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = Timestamp::nearest(u64::try_from(now.as_millis()).unwrap_or(u64::MAX));
        // Nobody asked for it: `isobox cache prune` says what stands in the way.
        let Ok(copies) = cache.list() else { return };
        for name in doomed(&copies, CacheLimits::UPKEEP, now) {
            cache.evict(name).ok();
        }
    });
}

fn doomed(copies: &[CachedCopy], limits: CacheLimits, now: Timestamp) -> Vec<&str> {
    let entries: Vec<_> = copies.iter().map(CachedCopy::entry).collect();
    limits.doomed(&entries, now).into_iter().map(|at| copies[at].name.as_str()).collect()
}
