//! What changed in a private copy, told as a Change Set against what was copied.

use super::content::{Content, MAX_HOLE_BYTES, moved};
use super::descent::{Descent, Step};
use super::found::{Entry, unreadable};
use super::{sink_failure, stage};
use crate::beneath::{self, Kind, Seen};
use crate::private_copies::{Copied, hashed};
use crate::workspace::failure;
use isobox_domain::change::{After, Before, Change, ChangeLine, NotCaptured, NotCapturedReason};
use isobox_domain::escape::Escaped;
use isobox_domain::repo_path::RepoPath;
use isobox_ports::{CaptureSink, WorkspaceError};
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::{FchmodatFlags, Mode, fchmodat};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

/// Which paths of a copy are told of. Others may come between them: `a`, `a.json`, `a/b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// That of the copy itself.
    Itself,
    /// Those that lie in it.
    Inside,
}

impl Part {
    /// What all paths of this part of the copy of `host_path` begin with, and the first of them is or comes after.
    pub(crate) fn first(self, host_path: &[u8]) -> Vec<u8> {
        match self {
            Self::Itself => host_path.to_vec(),
            Self::Inside => joined(host_path, b""),
        }
    }
}

const DIRECTORY: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

/// Whoever owns a copy may look into it, whatever the workload made of its modes: gives the owner `wanted` as well.
fn make_accessible(around: impl AsFd, name: &[u8], seen: &Seen, wanted: Mode) -> Result<(), Errno> {
    let mode = Mode::from_bits_truncate(seen.stat.mode & 0o777);
    if mode.contains(wanted) {
        return Ok(());
    }
    fchmodat(around, name, mode | wanted, FchmodatFlags::NoFollowSymlink)
}

fn joined(directory: &[u8], below: &[u8]) -> Vec<u8> {
    [directory, b"/", below].concat()
}

/// A path that comes after everything that is or lies at `path`: `0` follows the slash.
fn after_all_in(path: &[u8]) -> Vec<u8> {
    [path, b"0"].concat()
}

/// Something that is no directory.
struct Found<'a> {
    path: Vec<u8>,
    name: &'a [u8],
    directory: Rc<OwnedFd>,
    seen: Seen,
}

/// Hands what changed in copies to a sink, in ascending order of paths. Every process that could write to the copies is dead.
pub(crate) struct Telling<'a> {
    copied: &'a mut BTreeMap<Vec<u8>, Copied>,
    sink: &'a mut dyn CaptureSink,
    holes_left: u64,
}

impl<'a> Telling<'a> {
    /// What is told of `copied` is taken out of it.
    pub(crate) const fn new(copied: &'a mut BTreeMap<Vec<u8>, Copied>, sink: &'a mut dyn CaptureSink) -> Self {
        Self { copied, sink, holes_left: MAX_HOLE_BYTES }
    }

    /// Tells of one part of the copy at `place`. `host_path` is that of what was copied, without its first slash. Parts come in the
    /// order of what is [first](Part::first) in them.
    pub(crate) fn tell(&mut self, part: Part, place: &Path, host_path: &[u8]) -> Result<(), WorkspaceError> {
        let operation = format!("read the private copy at {}", Escaped::path(place));
        let failed = |errno: Errno| failure(&operation, io::Error::from(errno));
        let (Some(around), Some(name)) = (place.parent(), place.file_name()) else { return Err(failed(Errno::EINVAL)) };
        let around = Rc::new(open(around, DIRECTORY, Mode::empty()).map_err(failed)?);
        let name = name.as_bytes();
        let seen = match beneath::look(&*around, name) {
            Ok(seen) => Some(seen),
            Err(Errno::ENOENT) => None,
            Err(errno) => return Err(failed(errno)),
        };
        match (part, seen) {
            (Part::Itself, None) => Ok(()),
            (Part::Itself, Some(seen)) if seen.kind() == Kind::Directory => self.directory(host_path).map(drop),
            (Part::Itself, Some(seen)) => self.thing(Found { path: host_path.to_vec(), name, directory: around, seen }),
            (Part::Inside, seen) => {
                if let Some(seen) = seen.filter(|seen| seen.kind() == Kind::Directory) {
                    make_accessible(&*around, name, &seen, Mode::S_IRWXU).map_err(failed)?;
                    let root = beneath::open_directory(&*around, name).map_err(failed)?;
                    self.inside(root, host_path, failed)?;
                }
                self.deleted_until(&after_all_in(host_path))
            }
        }
    }

    fn inside(
        &mut self,
        root: OwnedFd,
        host_path: &[u8],
        failed: impl Fn(Errno) -> WorkspaceError,
    ) -> Result<(), WorkspaceError> {
        let mut descent = Descent::new(root, ()).map_err(&failed)?;
        while let Some(step) = descent.next() {
            match step {
                Step::Lost { path, errno } => self.lose(&joined(host_path, &path), errno)?,
                Step::Name { path, name_start } => {
                    let (full, name) = (joined(host_path, &path), &path[name_start..]);
                    let directory = descent.handle().map_err(&failed)?;
                    match beneath::look(&*directory, name) {
                        Err(errno) => self.lose(&full, errno)?,
                        Ok(seen) if seen.kind() == Kind::Directory => {
                            let was_there = self.directory(&full)?;
                            let accessible = make_accessible(&*directory, name, &seen, Mode::S_IRWXU);
                            match accessible.and_then(|()| descent.open(name)) {
                                Err(errno) => self.lose(&full, errno)?,
                                Ok(opened) if opened.listing.is_empty && !was_there => {
                                    self.leave(full, NotCapturedReason::EmptyDirectory)?;
                                }
                                Ok(opened) => descent.approve(name, opened, ()),
                            }
                        }
                        Ok(seen) => self.thing(Found { path: full, name, directory, seen })?,
                    }
                }
            }
        }
        Ok(())
    }

    fn line(&mut self, line: ChangeLine) -> Result<(), WorkspaceError> {
        self.sink.line(line).map_err(|cause| sink_failure("store a line about private copies", cause))
    }

    fn leave(&mut self, path: Vec<u8>, reason: NotCapturedReason) -> Result<(), WorkspaceError> {
        self.line(ChangeLine::NotCaptured(NotCaptured { workspace_path: path, reason }))
    }

    /// Leaves out what cannot be looked at, and all that was copied there: nobody knows what became of it.
    fn lose(&mut self, path: &[u8], errno: Errno) -> Result<(), WorkspaceError> {
        self.deleted_until(path)?;
        // A directory that was lost on the way comes with its slash.
        let inside = if path.ends_with(b"/") { path.to_vec() } else { joined(path, b"") };
        self.copied.retain(|known, _| known != path && !known.starts_with(&inside));
        self.leave(path.to_vec(), unreadable(errno))
    }

    /// Tells of everything that was copied before `path` and is there no more.
    fn deleted_until(&mut self, path: &[u8]) -> Result<(), WorkspaceError> {
        while let Some(first) = self.copied.first_entry().filter(|first| first.key().as_slice() < path) {
            let (path, copied) = first.remove_entry();
            self.change(path, Some(copied), None)?;
        }
        Ok(())
    }

    /// Comes to a directory; whether it was copied.
    fn directory(&mut self, path: &[u8]) -> Result<bool, WorkspaceError> {
        self.deleted_until(path)?;
        match self.copied.remove(path) {
            Some(Copied::Directory) => Ok(true),
            Some(file) => self.change(path.to_vec(), Some(file), None).map(|()| false),
            None => Ok(false),
        }
    }

    fn thing(&mut self, found: Found<'_>) -> Result<(), WorkspaceError> {
        self.deleted_until(&found.path)?;
        let before = self.copied.remove(&found.path);
        let reason = match found.seen.kind() {
            Kind::File | Kind::Symlink => return self.file(found, before),
            Kind::Fifo => NotCapturedReason::Fifo,
            Kind::Socket => NotCapturedReason::Socket,
            Kind::Device | Kind::Directory => NotCapturedReason::Device,
        };
        self.change(found.path.clone(), before, None)?;
        self.leave(found.path, reason)
    }

    fn file(&mut self, found: Found<'_>, before: Option<Copied>) -> Result<(), WorkspaceError> {
        let special = found.seen.stat.mode & 0o7000;
        let shown = found.path.clone();
        match self.captured(found, before)? {
            Ok(()) if special != 0 => self.leave(shown, NotCapturedReason::SpecialModeBits(special)),
            Ok(()) => Ok(()),
            Err(reason) => self.leave(shown, reason),
        }
    }

    /// Captures a file or link if it differs from what was copied. The inner error is the reason why it cannot be.
    fn captured(
        &mut self,
        found: Found<'_>,
        before: Option<Copied>,
    ) -> Result<Result<(), NotCapturedReason>, WorkspaceError> {
        let Found { path, name, directory, mut seen } = found;
        let path = match RepoPath::parse(path) {
            Ok(path) => path,
            Err(error) => return Ok(Err(NotCapturedReason::UnsupportedName(error.to_string()))),
        };
        if seen.kind() == Kind::File {
            let accessible = make_accessible(&*directory, name, &seen, Mode::S_IRUSR);
            seen = match accessible.and_then(|()| beneath::look(&*directory, name)) {
                Ok(seen) => seen,
                Err(errno) => return Ok(Err(unreadable(errno))),
            };
        }
        let entry = Entry { path, directory, seen, base: None, submodule: None };
        let mut content = match Content::open(&entry, &mut self.holes_left) {
            Ok(content) => content,
            Err(reason) => return Ok(Err(reason)),
        };
        let unread = |error: io::Error| Ok(Err(NotCapturedReason::Unreadable(error.to_string())));
        let (mode, length) = (content.mode(), content.length());
        let now = match content.read().and_then(|reader| hashed(length, reader)) {
            Ok((_, now)) => now,
            Err(error) => return unread(error),
        };
        let same =
            matches!(&before, Some(Copied::Content { mode: was, content, .. }) if (*was, *content) == (mode, now));
        if same {
            return Ok(if content.is_as_seen() { Ok(()) } else { Err(moved()) });
        }
        let after = match stage(self.sink, &entry.path, &mut content)? {
            Ok(after) => after,
            Err(reason) => return Ok(Err(reason)),
        };
        if after.content != now || !content.is_as_seen() {
            return Ok(Err(moved()));
        }
        self.change(entry.path.as_bytes().to_vec(), before, Some(after)).map(Ok)
    }

    /// Tells of a change, if it is one that a Change Set can hold: directories are none.
    fn change(&mut self, path: Vec<u8>, before: Option<Copied>, after: Option<After>) -> Result<(), WorkspaceError> {
        let before = before.and_then(|copied| match copied {
            Copied::Directory => None,
            Copied::Content { mode, oid, content } => Some(Before { mode, oid, content: Some(content) }),
        });
        if before.is_none() && after.is_none() {
            return Ok(());
        }
        match RepoPath::parse(path.clone()) {
            Ok(path) => {
                self.line(ChangeLine::Change(Change { path, before, after, renamed_from: None, submodule: None }))
            }
            Err(error) => self.leave(path, NotCapturedReason::UnsupportedName(error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobox_domain::change::Mode;
    use isobox_domain::content::{ContentId, ContentRef};
    use isobox_domain::git_oid::GitOid;
    use isobox_ports::fake::RecordingSink;

    #[test]
    fn what_lay_in_a_directory_that_was_lost_is_not_told_as_deleted() {
        for lost in ["a/b", "a/b/"] {
            let content = ContentRef { id: ContentId::new([1; 32]), length: 1 };
            let file = Copied::Content { mode: Mode::File, oid: GitOid::Sha1([1; 20]), content };
            let paths = ["a/b/x", "a/b/y/z", "a/c"].map(|path| path.as_bytes().to_vec());
            let mut copied: BTreeMap<_, _> = paths.into_iter().map(|path| (path, file.clone())).collect();
            let mut sink = RecordingSink::default();
            let mut telling = Telling::new(&mut copied, &mut sink);
            telling.lose(lost.as_bytes(), Errno::EIO).unwrap();
            telling.deleted_until(&after_all_in(b"a")).unwrap();
            let told: Vec<_> = sink
                .lines
                .iter()
                .map(|line| match line {
                    ChangeLine::Change(change) => (String::from_utf8_lossy(change.path.as_bytes()).into_owned(), true),
                    ChangeLine::NotCaptured(left) => {
                        (String::from_utf8_lossy(&left.workspace_path).into_owned(), false)
                    }
                })
                .collect();
            assert_eq!(told, [(lost.to_owned(), false), ("a/c".to_owned(), true)]);
        }
    }
}
