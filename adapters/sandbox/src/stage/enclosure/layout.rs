//! A view, laid out in a file system in memory that becomes the root.

use super::mounts::{NO_DEVICES, NO_EXECUTION, NO_SUID, READ_ONLY, Tree, change_root, mount_fresh, seal};
use crate::view::{Access, Content, Entry, Item, ProcView, etc};
use isobox_domain::escape::Escaped;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat};
use nix::mount::MsFlags;
use nix::sys::stat::{Mode, mkdirat, umask};
use nix::unistd::symlinkat;
use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

/// Devices of the host that programs expect.
const DEVICES: [&CStr; 6] = [c"null", c"zero", c"full", c"random", c"urandom", c"tty"];

/// What else is in `/dev`: links, and what they lead to.
const DEVICE_LINKS: [(&CStr, &CStr); 6] = [
    (c"/proc/self/fd", c"fd"),
    (c"/proc/self/fd/0", c"stdin"),
    (c"/proc/self/fd/1", c"stdout"),
    (c"/proc/self/fd/2", c"stderr"),
    (c"/proc/kcore", c"core"),
    (c"pts/ptmx", c"ptmx"),
];

/// Directories as mkdir(2) makes them by default.
const DIRECTORY: Mode = Mode::from_bits_truncate(0o755);

/// Lays `entries` out and makes that the root of this process.
///
/// What comes from the host is copied from its paths first: one of them may be where the root is made.
pub(super) fn make(entries: &[Entry]) -> io::Result<()> {
    let before = umask(Mode::empty());
    let sources = entries.iter().map(Source::of).collect::<io::Result<Vec<_>>>()?;
    let root = Root::make().map_err(while_doing("make the root of the sandbox", b"/"))?;
    for (Entry { path, item }, source) in entries.iter().zip(sources) {
        root.put(path, item, source).map_err(while_doing("lay out", path))?;
    }
    change_root(root.here.as_fd(), root.before.as_fd()).map_err(while_doing("go to the root of the sandbox", b"/"))?;
    // What the workload makes has the modes that its caller wants.
    umask(before);
    Ok(())
}

fn while_doing(step: &'static str, path: &[u8]) -> impl Fn(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{step} {}: {error}", Escaped(path)))
}

/// What an item takes from the host.
enum Source {
    Nothing,
    Tree(Tree),
    Devices(Vec<(&'static CStr, Tree)>),
    File(Option<File>),
}

impl Source {
    fn of(Entry { path, item }: &Entry) -> io::Result<Self> {
        let tree = |host_path: &[u8], attributes| {
            let name = CString::new(host_path).map_err(io::Error::other)?;
            Tree::of(&name, attributes).map(Self::Tree).map_err(while_doing("show", host_path))
        };
        match item {
            Item::Host(host_path, Access::ReadOnly) => tree(host_path, READ_ONLY | NO_SUID | NO_DEVICES),
            Item::Host(host_path, Access::ReadWrite) => tree(host_path, NO_SUID | NO_DEVICES),
            Item::Proc(ProcView::OfHost) => tree(b"/proc", READ_ONLY | NO_SUID | NO_DEVICES | NO_EXECUTION),
            Item::Masked => tree(b"/dev/null", READ_ONLY | NO_SUID | NO_DEVICES | NO_EXECUTION),
            Item::Devices => devices().map(Self::Devices),
            Item::File(Content::OfHost) => Ok(Self::File(etc::of_host(OsStr::from_bytes(path)))),
            _ => Ok(Self::Nothing),
        }
    }
}

/// Those that are there, read-only: root owns the nodes, and needs no capability to change the mode of what it owns. A
/// read-only mount keeps nobody from writing to what is behind a node.
fn devices() -> io::Result<Vec<(&'static CStr, Tree)>> {
    let mut found = Vec::new();
    for name in DEVICES {
        let path = [b"/dev/", name.to_bytes()].concat();
        let tree = CString::new(path.as_slice())
            .map_err(io::Error::other)
            .and_then(|path| Tree::of(&path, READ_ONLY | NO_SUID | NO_EXECUTION));
        match tree {
            Ok(tree) => found.push((name, tree)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(while_doing("show", &path)(error)),
        }
    }
    Ok(found)
}

/// The root that is being made; this process is in it, and its own root is still the host's.
struct Root {
    here: OwnedFd,
    before: OwnedFd,
}

impl Root {
    /// A file system in memory over the host's root, which nothing of this process is looked up through.
    fn make() -> io::Result<Self> {
        let directory = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let before = open("/", directory, Mode::empty())?;
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        mount_fresh(c"tmpfs", c"/", flags, Some(c"mode=0755"))?;
        // `..` of a root leads to what is mounted upon it.
        let here = open("/..", directory, Mode::empty())?;
        nix::unistd::fchdir(&here)?;
        Ok(Self { here, before })
    }

    fn put(&self, path: &[u8], item: &Item, source: Source) -> io::Result<()> {
        let name = relative(path)?;
        self.make_parents(path)?;
        match (item, source) {
            (Item::Directory, _) => self.make_directory(&name),
            (Item::Link(target), _) => {
                let target = CString::new(target.as_slice()).map_err(io::Error::other)?;
                Ok(symlinkat(target.as_c_str(), &self.here, name.as_c_str())?)
            }
            (_, Source::Tree(tree)) => tree.mount_at(self.place_for(&name, &tree)?.as_fd()),
            (Item::File(Content::Made(bytes)), _) => self.make_file(&name)?.write_all(bytes),
            (Item::File(Content::OfHost), Source::File(Some(mut file))) => {
                io::copy(&mut file, &mut self.make_file(&name)?).map(drop)
            }
            (Item::Memory(mode), _) => self.mount_memory(&name, *mode),
            (Item::Devices, Source::Devices(devices)) => self.put_devices(&name, devices),
            (Item::Proc(ProcView::Fresh), _) => {
                self.make_directory(&name)?;
                let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
                mount_fresh(c"proc", &name, flags, None)
            }
            (Item::Sealed, _) => seal(self.open(&name)?.as_fd()),
            // A file of the host that is gone.
            _ => Ok(()),
        }
    }

    fn open(&self, name: &CStr) -> io::Result<OwnedFd> {
        Ok(openat(&self.here, name, OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC, Mode::empty())?)
    }

    fn make_parents(&self, path: &[u8]) -> io::Result<()> {
        let slashes = path.iter().enumerate().skip(1).filter(|(_, byte)| **byte == b'/');
        for (end, _) in slashes {
            self.make_directory(&relative(&path[..end])?)?;
        }
        Ok(())
    }

    fn make_directory(&self, name: &CStr) -> io::Result<()> {
        match mkdirat(&self.here, name, DIRECTORY) {
            Ok(()) | Err(Errno::EEXIST) => Ok(()),
            // What is shown of the host may have it, and may not be written.
            Err(errno) => self.open(name).map(drop).map_err(|_| errno.into()),
        }
    }

    fn make_file(&self, name: &CStr) -> io::Result<File> {
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
        Ok(openat(&self.here, name, flags, Mode::from_bits_truncate(0o444))?.into())
    }

    /// Something to mount `tree` at.
    fn place_for(&self, name: &CStr, tree: &Tree) -> io::Result<OwnedFd> {
        match tree.is_directory()? {
            true => self.make_directory(name)?,
            false if self.open(name).is_err() => drop(self.make_file(name)?),
            false => {}
        }
        self.open(name)
    }

    fn mount_memory(&self, name: &CStr, mode: u32) -> io::Result<()> {
        self.make_directory(name)?;
        let options = CString::new(format!("mode={mode:04o}")).map_err(io::Error::other)?;
        mount_fresh(c"tmpfs", name, MsFlags::MS_NOSUID | MsFlags::MS_NODEV, Some(&options))
    }

    fn put_devices(&self, name: &CStr, devices: Vec<(&'static CStr, Tree)>) -> io::Result<()> {
        self.mount_memory(name, 0o755)?;
        let directory = self.open(name)?;
        for (device, tree) in devices {
            let below = below(name, device)?;
            tree.mount_at(self.place_for(&below, &tree)?.as_fd())?;
        }
        for (target, link) in DEVICE_LINKS {
            symlinkat(target, &directory, link)?;
        }
        mkdirat(&directory, c"shm", Mode::from_bits_truncate(0o1777))?;
        mkdirat(&directory, c"pts", DIRECTORY)?;
        let options = c"newinstance,ptmxmode=0666,mode=620";
        mount_fresh(c"devpts", &below(name, c"pts")?, MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC, Some(options))
    }
}

/// A path of the Sandbox as one that starts at its root.
fn relative(path: &[u8]) -> io::Result<CString> {
    let path = path.strip_prefix(b"/").unwrap_or(path);
    CString::new(if path.is_empty() { b"." } else { path }).map_err(io::Error::other)
}

fn below(directory: &CStr, name: &CStr) -> io::Result<CString> {
    CString::new([directory.to_bytes(), b"/", name.to_bytes()].concat()).map_err(io::Error::other)
}
