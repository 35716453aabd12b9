//! What a workload sees: the options of `bwrap`.

use super::{etc, filter};
use crate::descriptors::file_of;
use crate::protocol::{CONTROL_FD, PLAN_FD, STAGE_NAME};
use isobox_domain::policy::{NetworkAccess, WorkspaceExposure};
use nix::unistd::geteuid;
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Where the Workspace is.
pub(super) const WORKSPACE: &str = "/workspace";

/// The private home directory.
pub(super) const HOME: &str = "/home/isobox";

/// Where the Stage's program is.
const STAGE_DIRECTORY: &str = "/.isobox";

/// The descriptor on which `bwrap` finds its options: the first after the protocol's own.
pub(super) const OPTIONS_FD: i32 = PLAN_FD + 1;

/// Top-level directories besides `/usr` that hold programs and libraries; mostly links into it.
const SYSTEM: [&str; 6] = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// Files of `/proc` that tell of the whole machine, hidden behind a `/dev/null` that cannot be opened.
const MASKED: [&str; 1] = ["/proc/keys"];

/// More of them, which root alone may read. `/proc/kcore` is not among them: no process of a user namespace may open it.
const MASKED_FROM_ROOT: [&str; 1] = ["/proc/timer_list"];

/// Which `/proc` a Sandbox has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcView {
    /// One of its own PID namespace.
    Fresh,
    /// The host's, read-only, where the kernel refuses a fresh one.
    OfHost,
}

/// What is asked of a Sandbox's file system and network.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    pub(super) proc_view: ProcView,
    pub(super) network: NetworkAccess,
    pub(super) exposure: WorkspaceExposure,
    /// Further host paths that can be read.
    pub(super) read: &'a [Vec<u8>],
    /// Root of the Workspace.
    pub(super) host_path: &'a Path,
}

/// The options of `bwrap`, with the descriptors that they name, from [`OPTIONS_FD`] + 1 up.
pub(super) struct Arguments {
    /// Each option followed by a NUL.
    pub(super) options: Vec<u8>,
    pub(super) descriptors: Vec<OwnedFd>,
}

/// The command line of `bwrap`.
pub(super) fn command_line() -> Vec<CString> {
    let stage = format!("{STAGE_DIRECTORY}/{STAGE_NAME}");
    let words = ["bwrap".to_owned(), "--args".to_owned(), OPTIONS_FD.to_string(), stage, CONTROL_FD.to_string()];
    words.into_iter().filter_map(|word| CString::new(word).ok()).collect()
}

/// Every option for `view`.
pub(super) fn arguments(view: &View<'_>) -> io::Result<Arguments> {
    let mut arguments = Arguments { options: Vec::new(), descriptors: Vec::new() };
    arguments.isolate(view.network);
    arguments.show_system()?;
    arguments.show_etc(view.network)?;
    arguments.show_kernel(view.proc_view);
    arguments.make_private();
    for path in view.read {
        arguments.put(&[b"--ro-bind", path, path]);
    }
    arguments.show_workspace(view);
    arguments.show_stage()?;
    // Last: the root is a tmpfs in which the places above were made.
    arguments.put(&[b"--remount-ro", b"/"]);
    arguments.put(&[b"--chdir", b"/"]);
    arguments.restrict_system_calls()?;
    Ok(arguments)
}

impl Arguments {
    fn put(&mut self, words: &[&[u8]]) {
        for word in words {
            self.options.extend_from_slice(word);
            self.options.push(0);
        }
    }

    fn isolate(&mut self, network: NetworkAccess) {
        for namespace in ["user", "pid", "ipc", "uts", "cgroup"] {
            self.put(&[format!("--unshare-{namespace}").as_bytes()]);
        }
        if network == NetworkAccess::Deny {
            self.put(&[b"--unshare-net"]);
        }
        // As PID 1 the Stage sees every orphan, and /proc/1 shows nothing of bwrap.
        self.put(&[b"--as-pid-1", b"--die-with-parent", b"--new-session"]);
        self.put(&[b"--cap-drop", b"ALL"]);
        self.put(&[b"--hostname", b"isobox"]);
    }

    fn show_system(&mut self) -> io::Result<()> {
        self.put(&[b"--ro-bind", b"/usr", b"/usr"]);
        SYSTEM.iter().try_for_each(|path| self.show(path))
    }

    fn show_etc(&mut self, network: NetworkAccess) -> io::Result<()> {
        // What `bwrap` makes on the way to something else nobody but its owner could enter.
        self.put(&[b"--dir", b"/etc", b"--dir", b"/etc/ssl"]);
        etc::SHOWN.iter().try_for_each(|path| self.show(path))?;
        for (path, content) in etc::files(network)? {
            let place = self.place(content);
            self.put(&[b"--perms", b"0444", b"--file", place.as_bytes(), path.as_bytes()]);
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
                self.put(&[b"--symlink", &target, path.as_bytes()]);
            }
            Ok(_) => self.put(&[b"--ro-bind", path.as_bytes(), path.as_bytes()]),
        }
        Ok(())
    }

    fn show_kernel(&mut self, proc_view: ProcView) {
        self.put(&[b"--dev", b"/dev"]);
        match proc_view {
            ProcView::Fresh => self.put(&[b"--proc", b"/proc"]),
            ProcView::OfHost => self.put(&[b"--ro-bind", b"/proc", b"/proc"]),
        }
        let from_root = MASKED_FROM_ROOT.iter().filter(|_| geteuid().is_root());
        for path in MASKED.iter().chain(from_root).filter(|path| Path::new(path).exists()) {
            self.put(&[b"--ro-bind", b"/dev/null", path.as_bytes()]);
        }
        // Root owns the kernel's settings and may write them without any capability: `kernel.core_pattern` alone names a
        // program that the host executes.
        self.put(&[b"--remount-ro", b"/proc"]);
    }

    fn make_private(&mut self) {
        self.put(&[b"--perms", b"1777", b"--tmpfs", b"/tmp"]);
        self.put(&[b"--dir", b"/var", b"--symlink", b"../tmp", b"/var/tmp"]);
        self.put(&[b"--dir", b"/home", b"--perms", b"0700", b"--tmpfs", HOME.as_bytes()]);
    }

    fn show_workspace(&mut self, view: &View<'_>) {
        let option: &[u8] = match view.exposure {
            WorkspaceExposure::ReadWrite => b"--bind",
            WorkspaceExposure::ReadOnly => b"--ro-bind",
        };
        self.put(&[option, view.host_path.as_os_str().as_bytes(), WORKSPACE.as_bytes()]);
    }

    /// Read-only, so that a workload run by the program's owner cannot rewrite it through /proc/1/exe.
    fn show_stage(&mut self) -> io::Result<()> {
        let program = std::env::current_exe()?;
        let place = format!("{STAGE_DIRECTORY}/{STAGE_NAME}");
        self.put(&[b"--ro-bind", program.as_os_str().as_bytes(), place.as_bytes()]);
        Ok(())
    }

    fn restrict_system_calls(&mut self) -> io::Result<()> {
        for program in filter::programs()? {
            let place = self.place(file_of(&program)?);
            self.put(&[b"--add-seccomp-fd", place.as_bytes()]);
        }
        Ok(())
    }

    /// Hands a descriptor over; returns its number in `bwrap`.
    fn place(&mut self, descriptor: OwnedFd) -> String {
        self.descriptors.push(descriptor);
        (OPTIONS_FD as usize + self.descriptors.len()).to_string()
    }
}
