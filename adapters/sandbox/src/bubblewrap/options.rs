//! A view as the options of `bwrap`.

use crate::descriptors::file_of;
use crate::filter::{self, Strictness};
use crate::protocol::{CONTROL_FD, PLAN_FD};
use crate::view::{Access, Content, Entry, HOST_NAME, Item, ProcView, View, entries, etc, stage_path};
use isobox_domain::policy::NetworkAccess;
use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

/// The descriptor on which `bwrap` finds its options: the first after the protocol's own.
pub(super) const OPTIONS_FD: i32 = PLAN_FD + 1;

/// The options of `bwrap`, with the descriptors that they name, from [`OPTIONS_FD`] + 1 up.
pub(super) struct Arguments {
    /// Each option followed by a NUL.
    pub(super) options: Vec<u8>,
    pub(super) descriptors: Vec<OwnedFd>,
}

/// The command line of `bwrap`.
pub(super) fn command_line() -> Vec<CString> {
    let words = ["bwrap".to_owned(), "--args".to_owned(), OPTIONS_FD.to_string(), stage_path(), CONTROL_FD.to_string()];
    words.into_iter().filter_map(|word| CString::new(word).ok()).collect()
}

/// Every option for `view`.
pub(super) fn arguments(view: &View<'_>) -> io::Result<Arguments> {
    let mut arguments = Arguments { options: Vec::new(), descriptors: Vec::new() };
    arguments.isolate(view.network);
    for entry in entries(view)? {
        arguments.show(&entry)?;
    }
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
        self.put(&[b"--hostname", HOST_NAME.as_bytes()]);
    }

    fn show(&mut self, Entry { path, item }: &Entry) -> io::Result<()> {
        match item {
            Item::Directory => self.put(&[b"--dir", path]),
            Item::Link(target) => self.put(&[b"--symlink", target, path]),
            Item::Host(host_path, Access::ReadOnly) => self.put(&[b"--ro-bind", host_path, path]),
            Item::Host(host_path, Access::ReadWrite) => self.put(&[b"--bind", host_path, path]),
            Item::File(content) => self.put_file(path, content)?,
            Item::Memory(mode) => self.put(&[b"--perms", format!("{mode:04o}").as_bytes(), b"--tmpfs", path]),
            Item::Devices => self.put(&[b"--dev", path]),
            Item::Proc(ProcView::Fresh) => self.put(&[b"--proc", path]),
            Item::Proc(ProcView::OfHost) => self.put(&[b"--ro-bind", b"/proc", path]),
            Item::Masked => self.put(&[b"--ro-bind", b"/dev/null", path]),
            Item::Sealed => self.put(&[b"--remount-ro", path]),
        }
        Ok(())
    }

    fn put_file(&mut self, path: &[u8], content: &Content) -> io::Result<()> {
        let content = match content {
            Content::Made(bytes) => file_of(bytes)?,
            Content::OfHost => match etc::of_host(OsStr::from_bytes(path)) {
                Some(file) => file.into(),
                None => return Ok(()),
            },
        };
        let place = self.place(content);
        self.put(&[b"--perms", b"0444", b"--file", place.as_bytes(), path]);
        Ok(())
    }

    fn restrict_system_calls(&mut self) -> io::Result<()> {
        for program in filter::programs(Strictness::InNamespaces)? {
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
