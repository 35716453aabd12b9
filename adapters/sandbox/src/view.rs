//! What a workload sees: a list of what lies where, which each backend that contains it lays out in its own way.

pub(crate) mod etc;

use crate::layout::Layout;
use crate::protocol::STAGE_NAME;
use isobox_domain::policy::{NetworkAccess, WorkspaceExposure};
use isobox_domain::system_directories::SYSTEM_DIRECTORIES;
use isobox_ports::LaunchRequest;
use nix::unistd::geteuid;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Where the Workspace is.
pub(crate) const WORKSPACE: &str = "/workspace";

/// The private home directory.
pub(crate) const HOME: &str = "/home/isobox";

/// The name of the machine.
pub(crate) const HOST_NAME: &str = "isobox";

/// Where the Stage's program is.
const STAGE_DIRECTORY: &str = "/.isobox";

/// Where links to programs of the host lie.
pub(crate) const PROGRAMS: &str = "/.isobox/bin";

/// Files of `/proc` that tell of the whole machine, hidden behind a `/dev/null` that cannot be opened.
const MASKED: [&str; 1] = ["/proc/keys"];

/// More of them, which root alone may read. `/proc/kcore` is not among them: no process of a user namespace may open it.
const MASKED_FROM_ROOT: [&str; 1] = ["/proc/timer_list"];

/// Which `/proc` a Sandbox has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcView {
    /// One of its own PID namespace.
    Fresh,
    /// The host's, read-only, where the kernel refuses a fresh one.
    OfHost,
}

/// What is asked of a Sandbox's file system and network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) proc_view: ProcView,
    pub(crate) network: NetworkAccess,
    pub(crate) exposure: WorkspaceExposure,
    /// What the policy adds.
    pub(crate) layout: &'a Layout,
    /// Root of the Workspace.
    pub(crate) host_path: &'a Path,
}

impl<'a> View<'a> {
    /// What `request` asks for, with what its policy adds and this `/proc`.
    pub(crate) fn of(request: &LaunchRequest<'a>, layout: &'a Layout, proc_view: ProcView) -> Self {
        let asked = &request.policy.asked;
        let host_path = request.mount.host_path();
        Self { proc_view, network: asked.network, exposure: asked.workspace, layout, host_path }
    }
}

/// Whether what is shown can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// It cannot.
    ReadOnly,
    /// It can, as far as its modes allow that.
    ReadWrite,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// These bytes.
    Made(Vec<u8>),
    /// A copy of a small file of the host, at the same path.
    OfHost,
}

/// Something at a path of the Sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// A directory that everybody may enter.
    Directory,
    /// A symbolic link to this.
    Link(Vec<u8>),
    /// A file or directory of the host.
    Host(Vec<u8>, Access),
    /// A file that can be read by everybody.
    File(Content),
    /// An empty file system in memory, whose root has this mode.
    Memory(u32),
    /// The devices that programs expect, with terminals of its own.
    Devices,
    /// A `/proc`.
    Proc(ProcView),
    /// In the place of a file: one that nobody can open.
    Masked,
    /// What was laid out there before, read-only from here on; what is mounted below it is not touched.
    Sealed,
}

/// An item and its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Absolute, as the Sandbox sees it.
    pub(crate) path: Vec<u8>,
    /// What is there.
    pub(crate) item: Item,
}

/// Absolute path of the Stage's program inside.
pub(crate) fn stage_path() -> String {
    format!("{STAGE_DIRECTORY}/{STAGE_NAME}")
}

/// Everything that `view` shows, in the order in which it is laid out in a file system in memory. What the parents of a path
/// are, where no entry says so, is a directory that is its owner's alone.
pub(crate) fn entries(view: &View<'_>) -> io::Result<Vec<Entry>> {
    let mut entries = Entries(Vec::new());
    entries.show_system()?;
    entries.show_etc(view.network)?;
    entries.show_kernel(view.proc_view);
    entries.make_private();
    entries.0.extend(view.layout.host.iter().cloned());
    entries.show_workspace(view);
    entries.0.extend(view.layout.workspace.iter().cloned());
    entries.show_stage()?;
    // Last: the root is a file system in memory in which the places above were made.
    entries.put(b"/", Item::Sealed);
    Ok(entries.0)
}

struct Entries(Vec<Entry>);

impl Entries {
    fn put(&mut self, path: &[u8], item: Item) {
        self.0.push(Entry { path: path.to_vec(), item });
    }

    fn show_system(&mut self) -> io::Result<()> {
        SYSTEM_DIRECTORIES.iter().try_for_each(|path| self.show(path))
    }

    fn show_etc(&mut self, network: NetworkAccess) -> io::Result<()> {
        // What is made on the way to something else nobody but its owner could enter.
        self.put(b"/etc", Item::Directory);
        self.put(b"/etc/ssl", Item::Directory);
        etc::SHOWN.iter().try_for_each(|path| self.show(path))?;
        for (path, content) in etc::files(network) {
            self.put(path.as_bytes(), Item::File(content));
        }
        Ok(())
    }

    /// Shows a host path read-only as it is there: a link as a link, an absent one not at all.
    fn show(&mut self, path: &str) -> io::Result<()> {
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
            Ok(metadata) if metadata.is_symlink() => {
                let target = fs::read_link(path)?.into_os_string().into_vec();
                self.put(path.as_bytes(), Item::Link(target));
            }
            Ok(_) => self.put(path.as_bytes(), Item::Host(path.as_bytes().to_vec(), Access::ReadOnly)),
        }
        Ok(())
    }

    fn show_kernel(&mut self, proc_view: ProcView) {
        self.put(b"/dev", Item::Devices);
        self.put(b"/proc", Item::Proc(proc_view));
        let from_root = MASKED_FROM_ROOT.iter().filter(|_| geteuid().is_root());
        for path in MASKED.iter().chain(from_root).filter(|path| Path::new(path).exists()) {
            self.put(path.as_bytes(), Item::Masked);
        }
        // Root owns the kernel's settings and may write them without any capability: `kernel.core_pattern` alone names a
        // program that the host executes.
        self.put(b"/proc", Item::Sealed);
    }

    fn make_private(&mut self) {
        self.put(b"/tmp", Item::Memory(0o1777));
        self.put(b"/var", Item::Directory);
        self.put(b"/var/tmp", Item::Link(b"../tmp".to_vec()));
        self.put(b"/home", Item::Directory);
        self.put(HOME.as_bytes(), Item::Memory(0o700));
    }

    fn show_workspace(&mut self, view: &View<'_>) {
        let access = match view.exposure {
            WorkspaceExposure::ReadWrite => Access::ReadWrite,
            WorkspaceExposure::ReadOnly => Access::ReadOnly,
        };
        self.put(WORKSPACE.as_bytes(), Item::Host(view.host_path.as_os_str().as_bytes().to_vec(), access));
    }

    /// Read-only, so that a workload run by the program's owner cannot rewrite it through /proc/1/exe.
    fn show_stage(&mut self) -> io::Result<()> {
        let program = std::env::current_exe()?.into_os_string().into_vec();
        self.put(stage_path().as_bytes(), Item::Host(program, Access::ReadOnly));
        Ok(())
    }
}
