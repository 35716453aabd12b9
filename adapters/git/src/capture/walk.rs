//! The walk: a Workspace and the pinned commit side by side, giving what may differ in ascending order of path bytes.

use super::base_cursor::BaseCursor;
use super::descent::{Descent, Opened, Step};
use super::ignore::{Budget, Rule, Rules};
use super::listing::is_git;
use crate::beneath::{self, Kind, Seen};
use crate::stat_cache::{Freshness, StatCacheEntry};
use isobox_domain::change::{Mode, NotCapturedReason};
use isobox_domain::repo_path::{RepoPath, RepoPathError};
use nix::errno::Errno;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::rc::Rc;

/// Something that may differ from the pinned commit.
pub(super) enum Found {
    /// The root's own `.git`.
    GitDirectory,
    /// A path of the commit that is there no more, and the submodule that it lies in.
    Deleted(StatCacheEntry, Option<RepoPath>),
    /// A file or link that is not proven to be as checkout left it.
    Entry(Entry),
    /// Something that an ignore rule covers.
    Ignored(Vec<u8>, Rule),
    /// Something else that is left out.
    Left(Vec<u8>, NotCapturedReason),
}

/// A file or a link.
pub(super) struct Entry {
    pub(super) path: RepoPath,
    /// A handle of the directory that it lies in.
    pub(super) directory: Rc<OwnedFd>,
    pub(super) seen: Seen,
    /// What the commit has at this path.
    pub(super) base: Option<StatCacheEntry>,
    /// The submodule that it lies in.
    pub(super) submodule: Option<RepoPath>,
}

/// A walk in progress.
pub(super) struct Walk {
    descent: Descent<Place>,
    base: BaseCursor,
    /// The file system of the root.
    device: u64,
    budget: Budget,
    /// Prefixes of directories about which nothing is known, so that nothing in them counts as deleted.
    unknown: Vec<Vec<u8>>,
    /// A name that comes next, once all paths of the commit before it were given.
    pending: Option<(Vec<u8>, usize)>,
    found: VecDeque<Found>,
}

/// What holds in a directory.
struct Place {
    rules: Option<Rc<Rules>>,
    /// The rule that covers everything untracked in it.
    ignored_by: Option<Rule>,
}

/// A name that is looked at.
struct Name<'a> {
    path: &'a [u8],
    name: &'a [u8],
    directory: Rc<OwnedFd>,
    seen: Seen,
}

impl Walk {
    /// Starts a walk through the directory `root`, beside the stat cache at `stat_cache`.
    pub(super) fn new(root: OwnedFd, stat_cache: &Path) -> io::Result<Self> {
        let base = BaseCursor::open(stat_cache)?;
        let device = beneath::look_at_open(&root)?.device;
        let budget = Budget::default();
        let rules = Rules::read(&root, b"", &base, &budget)?;
        let descent = Descent::new(root, Place { rules, ignored_by: None })?;
        Ok(Self { descent, base, device, budget, unknown: Vec::new(), pending: None, found: VecDeque::new() })
    }

    /// What comes next; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Found>> {
        loop {
            if let Some(found) = self.found.pop_front() {
                return Ok(Some(found));
            }
            if let Some((path, name_start)) = self.pending.take() {
                if let Some(deleted) = self.next_deleted(Some(&path))? {
                    self.pending = Some((path, name_start));
                    return Ok(Some(deleted));
                }
                self.pass(&path, name_start)?;
                continue;
            }
            match self.descent.next() {
                None => return self.next_deleted(None),
                Some(Step::Name { path, name_start }) => self.pending = Some((path, name_start)),
                Some(Step::Lost { path, errno }) => self.lose(path, errno)?,
            }
        }
    }

    /// The next path of the commit that the walk has passed by, up to `path` or to the end.
    fn next_deleted(&mut self, path: Option<&[u8]>) -> io::Result<Option<Found>> {
        loop {
            let is_passed = self.base.next_path().is_some_and(|next| path.is_none_or(|path| next < path));
            let passed = if is_passed { self.base.take()? } else { None };
            match passed {
                None => return Ok(None),
                Some(entry) if self.is_unknown(entry.path.as_bytes()) => {}
                Some(entry) => return Ok(Some(self.deleted(entry))),
            }
        }
    }

    fn deleted(&self, entry: StatCacheEntry) -> Found {
        let submodule = self.base.submodule_of(&entry.path);
        Found::Deleted(entry, submodule)
    }

    fn is_unknown(&mut self, path: &[u8]) -> bool {
        self.unknown.retain(|prefix| path < prefix.as_slice() || path.starts_with(prefix));
        self.unknown.iter().any(|prefix| path.starts_with(prefix))
    }

    fn pass(&mut self, path: &[u8], name_start: usize) -> io::Result<()> {
        let base = self.base.take_at(path)?;
        if path == b".git" {
            self.found.push_back(Found::GitDirectory);
            return Ok(());
        }
        let name = &path[name_start..];
        let looked = self.descent.handle().and_then(|directory| Ok((beneath::look(&directory, name)?, directory)));
        match looked {
            Err(errno) => self.leave_unknown(path, unreadable(errno))?,
            Ok((seen, directory)) => self.classify(Name { path, name, directory, seen }, base)?,
        }
        Ok(())
    }

    fn classify(&mut self, name: Name<'_>, base: Option<StatCacheEntry>) -> io::Result<()> {
        if name.seen.device != self.device {
            return self.leave_unknown(name.path, NotCapturedReason::OtherFileSystem);
        }
        let path = match RepoPath::parse(name.path) {
            Ok(path) => path,
            Err(error) => {
                self.leave(name.path, unsupported(name.name, error));
                return Ok(());
            }
        };
        match name.seen.kind() {
            Kind::File | Kind::Symlink => self.file(name, path, base),
            Kind::Directory => self.directory(name, base)?,
            Kind::Fifo => self.special(name.path, base, NotCapturedReason::Fifo),
            Kind::Socket => self.special(name.path, base, NotCapturedReason::Socket),
            Kind::Device => self.special(name.path, base, NotCapturedReason::Device),
        }
        Ok(())
    }

    fn file(&mut self, name: Name<'_>, path: RepoPath, base: Option<StatCacheEntry>) {
        let is_untouched = |base: &StatCacheEntry| base.freshness == Freshness::Proven && base.stat == name.seen.stat;
        if base.as_ref().is_some_and(is_untouched) {
            return;
        }
        if base.is_none()
            && let Some(rule) = self.rule(name.path, false)
        {
            self.found.push_back(Found::Ignored(name.path.to_vec(), rule));
            return;
        }
        let Name { directory, seen, .. } = name;
        let submodule = self.base.submodule_of(&path);
        self.found.push_back(Found::Entry(Entry { path, directory, seen, base, submodule }));
        let special = seen.stat.mode & 0o7000;
        if seen.kind() == Kind::File && special != 0 {
            self.leave(name.path, NotCapturedReason::SpecialModeBits(special));
        }
    }

    fn special(&mut self, path: &[u8], base: Option<StatCacheEntry>, reason: NotCapturedReason) {
        self.found.extend(base.map(|base| self.deleted(base)));
        self.leave(path, reason);
    }

    fn directory(&mut self, name: Name<'_>, base: Option<StatCacheEntry>) -> io::Result<()> {
        let is_submodule = base.as_ref().is_some_and(|base| base.mode == Mode::Submodule);
        self.found.extend(base.filter(|_| !is_submodule).map(|base| self.deleted(base)));
        let is_known = is_submodule || self.base.has_below(name.path)?;
        let rule = self.rule(name.path, true);
        if let (Some(rule), false) = (&rule, is_known) {
            self.found.push_back(Found::Ignored(name.path.to_vec(), rule.clone()));
            return Ok(());
        }
        let opened = match self.descent.open(name.name) {
            Ok(opened) => opened,
            Err(errno) => return self.leave_unknown(name.path, unreadable(errno)),
        };
        if let (Some(reason), false) = (left_whole(&opened), is_known) {
            self.leave(name.path, reason);
            return Ok(());
        }
        let rules = match rule {
            None => Rules::read(opened.handle(), name.path, &self.base, &self.budget)?,
            // Below an ignored directory no rule can include anything again. See gitignore(5).
            Some(_) => None,
        };
        self.descent.approve(name.name, opened, Place { rules, ignored_by: rule });
        Ok(())
    }

    fn place(&self) -> Option<&Place> {
        self.descent.tags().next()
    }

    /// The rule that ignores an untracked path of the current directory.
    fn rule(&self, path: &[u8], is_directory: bool) -> Option<Rule> {
        match self.place().and_then(|place| place.ignored_by.clone()) {
            Some(rule) => Some(rule),
            None => Rule::find(self.descent.tags().filter_map(|place| place.rules.as_ref()), path, is_directory),
        }
    }

    /// Leaves out a directory that was there a moment ago.
    fn lose(&mut self, path: Vec<u8>, errno: Errno) -> io::Result<()> {
        if path.is_empty() {
            return Err(errno.into());
        }
        // With its slash, as paths between `a` and `a/` have been given already.
        self.leave(&path, unreadable(errno));
        self.unknown.push(path);
        Ok(())
    }

    fn leave(&mut self, path: &[u8], reason: NotCapturedReason) {
        self.found.push_back(Found::Left(path.to_vec(), reason));
    }

    /// Leaves out something that may be a directory in which the commit has paths.
    fn leave_unknown(&mut self, path: &[u8], reason: NotCapturedReason) -> io::Result<()> {
        self.leave(path, reason);
        if self.base.has_below(path)? {
            self.unknown.push([path, b"/"].concat());
        }
        Ok(())
    }
}

/// Why a directory that the commit does not have is left out with all that is in it.
fn left_whole(opened: &Opened) -> Option<NotCapturedReason> {
    if opened.listing.has_git {
        return Some(NotCapturedReason::NestedRepository);
    }
    opened.listing.is_empty.then_some(NotCapturedReason::EmptyDirectory)
}

/// What a failed look or open means.
pub(super) fn unreadable(errno: Errno) -> NotCapturedReason {
    match errno {
        Errno::EXDEV => NotCapturedReason::OtherFileSystem,
        _ => NotCapturedReason::Unreadable(errno.desc().to_owned()),
    }
}

fn unsupported(name: &[u8], error: RepoPathError) -> NotCapturedReason {
    match error {
        RepoPathError::GitDirectory if is_git(name) => NotCapturedReason::NestedRepository,
        error => NotCapturedReason::UnsupportedName(error.to_string()),
    }
}
