//! The way through a tree of directories, in ascending order of full path bytes, with bounded memory and descriptors.
//!
//! Nothing here recurses. Handles of the deepest directories stay open; others are opened again, beneath the root, when
//! the way comes back to them. The names of shallow directories are forgotten when too many are held, and read again.

use super::listing::{Listing, Next};
use crate::beneath;
use nix::errno::Errno;
use std::os::fd::OwnedFd;
use std::rc::Rc;

/// Directory handles that stay open, the root's aside.
const OPEN_HANDLES: usize = 64;
/// Slots held in all directories on the way, a window of the deepest one aside.
const HELD_SLOTS: usize = 262_144;

/// A directory that was opened to be looked at.
pub(super) struct Opened {
    handle: Rc<OwnedFd>,
    pub(super) listing: Listing,
}

/// One step of the way.
pub(super) enum Step {
    /// A name in the current directory. If it is a directory, it is passed by unless it is approved now.
    Name {
        /// The path from the root.
        path: Vec<u8>,
        /// Where in `path` the name starts.
        name_start: usize,
    },
    /// A directory that could be opened before cannot be any more; the way goes on behind it.
    Lost {
        /// The path from the root.
        path: Vec<u8>,
        /// Why.
        errno: Errno,
    },
}

/// A way through a tree. Each directory on it carries a `T`.
pub(super) struct Descent<T> {
    root: Rc<OwnedFd>,
    frames: Vec<Frame<T>>,
}

struct Frame<T> {
    /// Path from the root, with a slash at its end; empty for the root.
    prefix: Vec<u8>,
    handle: Option<Rc<OwnedFd>>,
    listing: Option<Listing>,
    /// The slot that was taken last: where to go on when the names are read again.
    last: Box<[u8]>,
    /// Directories to be descended into when their slot comes. Slots nest, so the next one is last.
    approved: Vec<Approved<T>>,
    tag: T,
}

struct Approved<T> {
    name: Vec<u8>,
    opened: Option<Opened>,
    tag: T,
}

impl<T> Descent<T> {
    /// Starts at the directory `root`.
    pub(super) fn new(root: OwnedFd, tag: T) -> Result<Self, Errno> {
        let root = Rc::new(root);
        let listing = Listing::read(&root, b"")?;
        let frame = Frame::new(Vec::new(), Opened { handle: Rc::clone(&root), listing }, tag);
        Ok(Self { root, frames: vec![frame] })
    }

    /// What the directories on the way carry, the current one first.
    pub(super) fn tags(&self) -> impl Iterator<Item = &T> {
        self.frames.iter().rev().map(|frame| &frame.tag)
    }

    /// A handle of the current directory.
    pub(super) fn handle(&mut self) -> Result<Rc<OwnedFd>, Errno> {
        let root = Rc::clone(&self.root);
        match self.frames.last_mut() {
            Some(frame) => frame.handle(&root),
            None => Ok(root),
        }
    }

    /// Opens the directory `name` of the current directory.
    pub(super) fn open(&mut self, name: &[u8]) -> Result<Opened, Errno> {
        Opened::open(&*self.handle()?, name)
    }

    /// Decides that the way goes through the directory `name`, which [`Step::Name`] just named.
    pub(super) fn approve(&mut self, name: &[u8], opened: Opened, tag: T) {
        if let Some(frame) = self.frames.last_mut() {
            // Handles and names are kept for a directory that comes next, not for each that others come before.
            let is_next = frame.listing.as_ref().is_some_and(|l| l.is_next(&[name, b"/"].concat()));
            frame.approved.push(Approved { name: name.to_vec(), opened: is_next.then_some(opened), tag });
        }
    }

    /// The next step; `None` at the end of the way.
    pub(super) fn next(&mut self) -> Option<Step> {
        loop {
            let root = Rc::clone(&self.root);
            let frame = self.frames.last_mut()?;
            match frame.next_slot(&root) {
                Ok(Some(slot)) => match slot.strip_suffix(b"/") {
                    None => return Some(frame.name_step(&slot)),
                    Some(name) => {
                        if let Some(lost) = self.descend(name) {
                            return Some(lost);
                        }
                    }
                },
                Ok(None) => drop(self.frames.pop()),
                Err(errno) => {
                    let path = std::mem::take(&mut frame.prefix);
                    self.frames.pop();
                    return Some(Step::Lost { path, errno });
                }
            }
        }
    }

    fn descend(&mut self, name: &[u8]) -> Option<Step> {
        let frame = self.frames.last_mut()?;
        let approved = frame.approved.pop_if(|approved| approved.name == name)?;
        let path = [&frame.prefix, name, b"/"].concat();
        let opened = match approved.opened {
            Some(opened) => Ok(opened),
            None => frame.handle(&self.root).and_then(|handle| Opened::open(&handle, name)),
        };
        match opened {
            Ok(opened) => self.push(Frame::new(path, opened, approved.tag)),
            Err(errno) => return Some(Step::Lost { path, errno }),
        }
        None
    }

    fn push(&mut self, frame: Frame<T>) {
        if let Some(deep) = self.frames.len().checked_sub(OPEN_HANDLES) {
            self.frames[deep].handle = None;
        }
        let held = |frame: &Frame<T>| frame.listing.as_ref().map_or(0, Listing::len);
        let mut total: usize = self.frames.iter().map(held).sum();
        // The shallowest first: the way comes back to it last.
        for frame in &mut self.frames {
            if total <= HELD_SLOTS {
                break;
            }
            total -= held(frame);
            frame.listing = None;
        }
        self.frames.push(frame);
    }
}

impl<T> Frame<T> {
    fn new(prefix: Vec<u8>, opened: Opened, tag: T) -> Self {
        let Opened { handle, listing } = opened;
        let (handle, listing) = (Some(handle), Some(listing));
        Self { prefix, handle, listing, last: Box::default(), approved: Vec::new(), tag }
    }

    fn handle(&mut self, root: &Rc<OwnedFd>) -> Result<Rc<OwnedFd>, Errno> {
        if let Some(handle) = &self.handle {
            return Ok(Rc::clone(handle));
        }
        let handle = match self.prefix.strip_suffix(b"/") {
            None => Rc::clone(root),
            Some(path) => Rc::new(beneath::open_directory(&**root, path)?),
        };
        self.handle = Some(Rc::clone(&handle));
        Ok(handle)
    }

    fn next_slot(&mut self, root: &Rc<OwnedFd>) -> Result<Option<Box<[u8]>>, Errno> {
        loop {
            match self.listing.as_mut().map_or(Next::FurtherWindow, Listing::next) {
                Next::End => return Ok(None),
                Next::Slot(slot) => {
                    self.last.clone_from(&slot);
                    return Ok(Some(slot));
                }
                Next::FurtherWindow => {
                    let handle = self.handle(root)?;
                    self.listing = Some(Listing::read(&handle, &self.last)?);
                }
            }
        }
    }

    fn name_step(&self, name: &[u8]) -> Step {
        Step::Name { path: [&self.prefix, name].concat(), name_start: self.prefix.len() }
    }
}

impl Opened {
    fn open(at: &OwnedFd, name: &[u8]) -> Result<Self, Errno> {
        let handle = Rc::new(beneath::open_directory(at, name)?);
        // Names that can be listed and not looked at tell nothing: the directory is then as unreadable as they are.
        beneath::look(&handle, b".")?;
        let listing = Listing::read(&handle, b"")?;
        Ok(Self { handle, listing })
    }

    /// Its handle.
    pub(super) fn handle(&self) -> &OwnedFd {
        &self.handle
    }
}
