//! What isobox was started with: what it cannot work under, and where its output goes.

use nix::sys::signal::{SigSet, Signal};
use nix::sys::stat::{Mode, umask};
use std::path::PathBuf;

/// Keeps a file size limit and a umask of the caller from ending a Task midway.
///
/// A write over the limit on file sizes fails, as one to a full disk does, instead of killing isobox. Owners keep every
/// right to what isobox makes: directories that isobox itself cannot enter are of no use to anybody.
pub(crate) fn make_harmless() {
    // It fails only for arguments that this one has not: sigprocmask(2). A workload starts with an empty mask all the same.
    SigSet::from(Signal::SIGXFSZ).thread_block().ok();
    let asked = umask(Mode::all());
    umask(asked - Mode::S_IRWXU);
}

/// The regular file that a descriptor writes to, by its path; `None` where it is none, or was removed.
pub(crate) fn file_behind(descriptor: u8) -> Option<PathBuf> {
    let path = std::fs::read_link(format!("/proc/self/fd/{descriptor}")).ok()?;
    path.symlink_metadata().is_ok_and(|found| found.is_file()).then_some(path)
}
