//! Looking whether each change can be applied: every path as the Change Set's `before` says, and every place free.
//!
//! Changes come in ascending order of their path bytes, so all that has to be remembered of earlier ones is those whose
//! path is a prefix of the current one: only they can lie above it.

use super::compare::{Comparison, compare};
use super::dir::{Dir, is_dir};
use super::journal::{Entry, New, Old};
use super::paths::{component_ends, parent_of, prefix_length};
use super::permissions::Permissions;
use super::target::Target;
use super::trouble::while_doing_to;
use isobox_domain::change::{Change, Mode};
use isobox_domain::escape::Escaped;
use isobox_domain::repo_path::RepoPath;
use isobox_ports::ApplyError;
use std::io;

/// How many conflicts are listed.
const SHOWN: usize = 10;

/// Looks at changes, one after the other.
pub(super) struct Survey<'a, 'git> {
    target: &'a Target<'git>,
    previous: Vec<u8>,
    above: Vec<Above>,
    parent: Option<(Vec<u8>, Dir)>,
    first: Vec<String>,
    count: u64,
}

/// An earlier change whose path is a prefix of the current one.
struct Above {
    /// The length of its path.
    length: usize,
    /// Whether something stands there afterwards.
    stays: bool,
    /// Things below the directory at its path that no deletion was seen of yet.
    remaining: u64,
}

/// How far the directories above a path exist.
enum Reach {
    All,
    /// Only so many of them, for this reason.
    Until(u16, Obstacle),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Obstacle {
    Missing,
    Link,
    NoDirectory,
    OtherFileSystem,
}

/// A change that can be applied.
pub(super) struct Applicable {
    pub(super) entry: Entry,
    pub(super) permissions: Permissions,
}

/// Why a change cannot be applied.
type Conflict = String;
type Looked<T> = io::Result<Result<T, Conflict>>;

impl<'a, 'git> Survey<'a, 'git> {
    pub(super) fn new(target: &'a Target<'git>) -> Self {
        Self { target, previous: Vec::new(), above: Vec::new(), parent: None, first: Vec::new(), count: 0 }
    }

    /// Looks at the next change; `None` if it is in conflict.
    pub(super) fn examine(&mut self, change: &Change) -> Result<Option<Applicable>, ApplyError> {
        let path = change.path.as_bytes();
        self.advance(path)?;
        match self.look(change).map_err(while_doing_to("look at", path))? {
            Ok((applicable, remaining)) => {
                self.note(change, remaining);
                Ok(Some(applicable))
            }
            Err(why) => {
                self.note(change, 0);
                self.conflict(path, &why);
                Ok(None)
            }
        }
    }

    /// Ends the survey: the conflicts, if there were any.
    pub(super) fn finish(mut self) -> Result<(), ApplyError> {
        self.pop(0);
        if self.count == 0 {
            return Ok(());
        }
        Err(ApplyError::Conflicts { first: self.first, count: self.count })
    }

    fn conflict(&mut self, path: &[u8], why: &str) {
        if self.first.len() < SHOWN {
            self.first.push(format!("{}: {why}", Escaped(path)));
        }
        self.count += 1;
    }

    fn advance(&mut self, path: &[u8]) -> Result<(), ApplyError> {
        if path <= self.previous.as_slice() {
            let error = io::Error::new(io::ErrorKind::InvalidData, "the change set is not in order");
            return Err(while_doing_to("look at", path)(error));
        }
        let common = path.iter().zip(&self.previous).take_while(|(a, b)| a == b).count();
        self.pop(common);
        self.previous = path.to_vec();
        Ok(())
    }

    /// Forgets the earlier changes that cannot lie above any later path.
    fn pop(&mut self, common: usize) {
        while let Some(last) = self.above.pop_if(|last| last.length > common) {
            if last.remaining > 0 {
                let path = self.previous[..last.length].to_vec();
                self.conflict(&path, "a directory that is not empty is in its place");
            }
        }
    }

    fn note(&mut self, change: &Change, remaining: u64) {
        let stays = change.after.is_some();
        self.above.push(Above { length: change.path.as_bytes().len(), stays, remaining });
    }

    fn look(&mut self, change: &Change) -> Looked<(Applicable, u64)> {
        if let Some(why) = submodule_conflict(change) {
            return Ok(Err(why));
        }
        let path = &change.path;
        if change.after.is_some() && self.ancestors(path).any(|above| above.stays) {
            return Ok(Err("it lies below a path that becomes a file".into()));
        }
        let existing = match self.reach(path)? {
            Err(why) => return Ok(Err(why)),
            Ok(Reach::All) => path.components().count() as u16 - 1,
            Ok(Reach::Until(existing, obstacle)) => match self.judge(path, existing, obstacle, change.before.is_some())
            {
                Some(why) => return Ok(Err(why)),
                None => existing,
            },
        };
        self.look_at_place(change, existing)
    }

    /// The earlier changes at directories above `path`.
    fn ancestors(&self, path: &RepoPath) -> impl Iterator<Item = &Above> {
        let bytes = path.as_bytes().to_vec();
        self.above.iter().filter(move |above| bytes.get(above.length) == Some(&b'/'))
    }

    /// Whether a path that is reached only in part is a conflict.
    fn judge(&self, path: &RepoPath, existing: u16, obstacle: Obstacle, must_exist: bool) -> Option<Conflict> {
        let at = prefix_length(path, existing + 1);
        let is_deleted = self.ancestors(path).any(|above| above.length == at && !above.stays);
        let shown = Escaped(&path.as_bytes()[..at]);
        match obstacle {
            Obstacle::Missing if must_exist => Some("it is not there".into()),
            Obstacle::Missing => None,
            Obstacle::Link | Obstacle::NoDirectory if is_deleted && !must_exist => None,
            Obstacle::Link => Some(format!("it lies below the symbolic link {shown}")),
            Obstacle::NoDirectory => Some(format!("{shown} is no directory")),
            Obstacle::OtherFileSystem => Some(format!("another file system is mounted at {shown}")),
        }
    }

    /// Opens the directories above `path`, as far as they exist.
    fn reach(&mut self, path: &RepoPath) -> Looked<Reach> {
        let parent = parent_of(path.as_bytes());
        if self.parent.as_ref().is_some_and(|(known, _)| known == parent) {
            return Ok(Ok(Reach::All));
        }
        let known = self.parent.take().map_or(Vec::new(), |(known, _)| known);
        let mut dir = self.target.root.open_below(b"")?;
        for (depth, end) in (0..).zip(component_ends(parent)) {
            // What was looked at for the path before needs no second look.
            let is_known = known.starts_with(&parent[..end]) && matches!(known.get(end), None | Some(b'/'));
            if !is_known {
                dir = match self.target.root.open_below(&parent[..end]) {
                    Ok(dir) => dir,
                    Err(error) => return obstacle(error).map(|obstacle| Ok(Reach::Until(depth, obstacle))),
                };
                if let Some(why) = self.foreign(&dir, &parent[..end])? {
                    return Ok(Err(why));
                }
            } else if end == parent.len() {
                dir = self.target.root.open_below(parent)?;
            }
        }
        self.parent = Some((parent.to_vec(), dir));
        Ok(Ok(Reach::All))
    }

    /// Why nothing may be written below `dir`, if it belongs to something else than this working tree.
    fn foreign(&self, dir: &Dir, path: &[u8]) -> io::Result<Option<Conflict>> {
        if self.target.is_git_directory(dir)? {
            return Ok(Some(format!("it lies in the Git directory {}", Escaped(path))));
        }
        let is_repository = dir.stat(b".git")?.is_some();
        Ok(is_repository.then(|| format!("it lies in another repository, {}", Escaped(path))))
    }

    /// Looks at what stands at the path of a change whose parents were reached.
    fn look_at_place(&mut self, change: &Change, existing_parents: u16) -> Looked<(Applicable, u64)> {
        let whole = usize::from(existing_parents) + 1 == change.path.components().count();
        let nearest =
            self.target.root.open_below(&change.path.as_bytes()[..prefix_length(&change.path, existing_parents)])?;
        let stat = if whole { nearest.stat(change.path.file_name())? } else { None };
        let mut remaining = 0;
        let old = match (&change.before, &stat) {
            (None, None) => Old::Nothing,
            (None, Some(stat)) if is_dir(stat) => {
                match count_things(&nearest.open_below(change.path.file_name())?)? {
                    Some(count) => remaining = count,
                    None => return Ok(Err("another repository is in its place".into())),
                }
                Old::Directory
            }
            (None, Some(_)) => return Ok(Err("a file that is not tracked is in its place".into())),
            (Some(_), None) => return Ok(Err("it is not there".into())),
            (Some(before), Some(stat)) => match compare(self.target, &nearest, &change.path, before, stat)? {
                Comparison::Same(fingerprint) => Old::File(fingerprint),
                Comparison::Different(why) => return Ok(Err(why)),
            },
        };
        if change.after.is_none() {
            self.count_deletion(&change.path);
        }
        let new = change.after.as_ref().map(|after| New { mode: after.mode, content: after.content });
        let replaced = if matches!(old, Old::File(_)) { stat.as_ref() } else { None };
        let permissions = Permissions::of_new(replaced, &nearest.stat_self()?, &self.target.root.stat_self()?);
        let entry = Entry { path: change.path.clone(), old, new, existing_parents };
        Ok(Ok((Applicable { entry, permissions }, remaining)))
    }

    /// A deletion leaves one thing less below the directories that are replaced.
    fn count_deletion(&mut self, path: &RepoPath) {
        let bytes = path.as_bytes();
        for above in self.above.iter_mut().filter(|above| bytes.get(above.length) == Some(&b'/')) {
            above.remaining = above.remaining.saturating_sub(1);
        }
    }
}

fn submodule_conflict(change: &Change) -> Option<Conflict> {
    if let Some(submodule) = &change.submodule {
        return Some(format!("it lies in the submodule {submodule}"));
    }
    let modes = [change.before.as_ref().map(|b| b.mode), change.after.as_ref().map(|a| a.mode)];
    modes.contains(&Some(Mode::Submodule)).then(|| "it is a submodule".into())
}

fn obstacle(error: io::Error) -> io::Result<Obstacle> {
    match error.raw_os_error().map(nix::Error::from_raw) {
        Some(nix::Error::ENOENT) => Ok(Obstacle::Missing),
        Some(nix::Error::ELOOP) => Ok(Obstacle::Link),
        Some(nix::Error::ENOTDIR) => Ok(Obstacle::NoDirectory),
        Some(nix::Error::EXDEV) => Ok(Obstacle::OtherFileSystem),
        _ => Err(error),
    }
}

/// How many things that are no directories lie below `dir`; `None` if a repository does.
pub(super) fn count_things(dir: &Dir) -> io::Result<Option<u64>> {
    let mut count = 0;
    for name in dir.names()? {
        let name = std::os::unix::ffi::OsStringExt::into_vec(name?);
        if name == b".git" {
            return Ok(None);
        }
        match dir.stat(&name)? {
            Some(stat) if is_dir(&stat) => match count_things(&dir.open_below(&name)?)? {
                Some(below) => count += below,
                None => return Ok(None),
            },
            _ => count += 1,
        }
    }
    Ok(Some(count))
}
