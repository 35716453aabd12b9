//! The walk: a Workspace and the pinned commit side by side, giving what may differ in ascending order of path bytes.

use super::base_content::BaseContent;
use super::base_side::BaseSide;
use super::descent::{Descent, Step};
use super::found::{Entry, Found, left_whole, unreadable, unsupported};
use super::ignore::{Budget, Rule, Rules};
use super::marks::Marks;
use super::tree::Tree;
use crate::beneath::{self, Kind, Seen};
use crate::stat_cache::{Freshness, StatCacheEntry};
use isobox_domain::change::{Mode, NotCapturedReason};
use isobox_domain::repo_path::RepoPath;
use nix::errno::Errno;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::rc::Rc;

/// A walk in progress.
pub(super) struct Walk {
    descent: Descent<Place>,
    base: BaseSide,
    /// In an upper directory, how to tell what it hides.
    marks: Option<Marks>,
    /// The file system of the root.
    device: u64,
    budget: Budget,
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
    /// Starts a walk through `tree`, beside the stat cache at `stat_cache`.
    pub(super) fn new(tree: &Tree, stat_cache: &Path, content: &mut BaseContent<'_>) -> io::Result<Self> {
        let (root, marks) = (tree.root.try_clone()?, tree.marks);
        let mut base = BaseSide::open(stat_cache)?;
        if marks.is_none() {
            base.hide(Vec::new());
        }
        let device = beneath::look_at_open(&root)?.device;
        let budget = Budget::default();
        let rules = Rules::read(&root, b"", &base, content, &budget)?;
        let descent = Descent::new(root, Place { rules, ignored_by: None })?;
        Ok(Self { descent, base, marks, device, budget, pending: None, found: VecDeque::new() })
    }

    /// What comes next; `None` at the end.
    pub(super) fn next(&mut self, content: &mut BaseContent<'_>) -> io::Result<Option<Found>> {
        loop {
            if let Some(found) = self.found.pop_front() {
                return Ok(Some(found));
            }
            if let Some((path, name_start)) = self.pending.take() {
                if let Some(entry) = self.base.next_deleted(Some(&path))? {
                    self.pending = Some((path, name_start));
                    return Ok(Some(self.deleted(entry)));
                }
                self.pass(&path, name_start, content)?;
                continue;
            }
            match self.descent.next() {
                None => return Ok(self.base.next_deleted(None)?.map(|entry| self.deleted(entry))),
                Some(Step::Name { path, name_start }) => self.pending = Some((path, name_start)),
                Some(Step::Lost { path, errno }) => self.lose(path, errno)?,
            }
        }
    }

    fn deleted(&self, entry: StatCacheEntry) -> Found {
        let submodule = self.base.submodule_of(&entry.path);
        Found::Deleted(entry, submodule)
    }

    fn pass(&mut self, path: &[u8], name_start: usize, content: &mut BaseContent<'_>) -> io::Result<()> {
        let base = self.base.take_at(path)?;
        if path == b".git" {
            self.found.push_back(Found::GitDirectory);
            return Ok(());
        }
        let name = &path[name_start..];
        let looked = self.descent.handle().and_then(|directory| Ok((beneath::look(&directory, name)?, directory)));
        match looked {
            Err(errno) => self.leave_unknown(path, unreadable(errno))?,
            Ok((seen, directory)) => self.classify(Name { path, name, directory, seen }, base, content)?,
        }
        Ok(())
    }

    fn classify(
        &mut self,
        name: Name<'_>,
        base: Option<StatCacheEntry>,
        content: &mut BaseContent<'_>,
    ) -> io::Result<()> {
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
        if self.is_whiteout(&name, base.as_ref())? {
            self.found.extend(base.map(|base| self.deleted(base)));
            self.hide_below(name.path);
            return Ok(());
        }
        if name.seen.kind() != Kind::Directory {
            self.hide_below(name.path);
        }
        match name.seen.kind() {
            Kind::File | Kind::Symlink => self.file(name, path, base),
            Kind::Directory => self.directory(name, base, content)?,
            Kind::Fifo => self.special(name.path, base, NotCapturedReason::Fifo),
            Kind::Socket => self.special(name.path, base, NotCapturedReason::Socket),
            Kind::Device => self.special(name.path, base, NotCapturedReason::Device),
        }
        Ok(())
    }

    /// Whether the kernel put `name` there in place of what the commit has. Where that has nothing, or nothing of it is to
    /// be seen, no kernel did, and it is what it looks like.
    fn is_whiteout(&self, name: &Name<'_>, base: Option<&StatCacheEntry>) -> io::Result<bool> {
        if self.marks.is_none() || !name.seen.is_whiteout() || self.base.is_hidden(name.path) {
            return Ok(false);
        }
        Ok(base.is_some() || self.base.has_below(name.path)?)
    }

    /// Hides what the commit has below `path`.
    fn hide_below(&mut self, path: &[u8]) {
        if self.marks.is_some() {
            self.base.hide([path, b"/"].concat());
        }
    }

    fn file(&mut self, name: Name<'_>, path: RepoPath, base: Option<StatCacheEntry>) {
        // In an upper directory nothing is as checkout left it, and an equal inode of another file proves nothing.
        let is_checkout = self.marks.is_none();
        let is_untouched =
            |base: &StatCacheEntry| is_checkout && base.freshness == Freshness::Proven && base.stat == name.seen.stat;
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

    fn directory(
        &mut self,
        name: Name<'_>,
        base: Option<StatCacheEntry>,
        content: &mut BaseContent<'_>,
    ) -> io::Result<()> {
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
        match self.marks.map_or(Ok(false), |marks| marks.is_opaque(opened.handle())) {
            Ok(true) => self.hide_below(name.path),
            Ok(false) => {}
            Err(errno) => return self.leave_unknown(name.path, unreadable(errno)),
        }
        let rules = match rule {
            None => Rules::read(opened.handle(), name.path, &self.base, content, &self.budget)?,
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
        self.base.keep_unknown(path);
        Ok(())
    }

    fn leave(&mut self, path: &[u8], reason: NotCapturedReason) {
        self.found.push_back(Found::Left(path.to_vec(), reason));
    }

    /// Leaves out something that may be a directory in which the commit has paths.
    fn leave_unknown(&mut self, path: &[u8], reason: NotCapturedReason) -> io::Result<()> {
        self.leave(path, reason);
        if self.base.has_below(path)? {
            self.base.keep_unknown([path, b"/"].concat());
        }
        Ok(())
    }
}
