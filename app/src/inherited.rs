//! What isobox was started with, and cannot work under.

use nix::sys::signal::{SigSet, Signal};
use nix::sys::stat::{Mode, umask};

/// Keeps a file size limit and a umask of the caller from ending a Task midway.
///
/// A write over the limit on file sizes fails, as one to a full disk does, instead of killing isobox. Owners keep every
/// right to what isobox makes: directories that isobox itself cannot enter are of no use to anybody.
pub(crate) fn make_harmless() {
    // It fails only for arguments that this one has not: sigprocmask(2). Children start with an empty mask.
    SigSet::from(Signal::SIGXFSZ).thread_block().ok();
    let asked = umask(Mode::all());
    umask(asked - Mode::S_IRWXU);
}
