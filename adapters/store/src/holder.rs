//! Finding the process that holds a lock, and asking it to end.

use isobox_ports::Asked;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Sends SIGTERM to the process that holds the lock of `file`.
///
/// The kernel says who holds it, so that no number that was written down can mean a process that came later; and the
/// signal goes through a handle which was opened before that was asked.
pub(crate) fn interrupt(file: &File) -> io::Result<Asked> {
    let wanted = file.metadata()?;
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw) else { continue };
        let handle = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => handle,
            // It has ended, or is a thread.
            Err(Errno::SRCH | Errno::INVAL) => continue,
            Err(errno) => return Err(errno.into()),
        };
        if !holds(pid, (wanted.dev(), wanted.ino())) {
            continue;
        }
        return match pidfd_send_signal(&handle, Signal::TERM) {
            Ok(()) => Ok(Asked::Sent),
            Err(Errno::SRCH) => Ok(Asked::Over),
            Err(Errno::PERM) => Ok(Asked::OutOfReach),
            Err(errno) => Err(errno.into()),
        };
    }
    Ok(Asked::OutOfReach)
}

/// Whether a process has taken the lock of the file with this device and inode. What cannot be looked at does not count.
fn holds(pid: Pid, (device, inode): (u64, u64)) -> bool {
    let process = Path::new("/proc").join(pid.as_raw_nonzero().to_string());
    let Ok(descriptors) = fs::read_dir(process.join("fd")) else { return false };
    descriptors.flatten().any(|descriptor| {
        let is_file = fs::metadata(descriptor.path()).is_ok_and(|found| (found.dev(), found.ino()) == (device, inode));
        is_file && has_lock(&process.join("fdinfo").join(descriptor.file_name()), pid)
    })
}

/// Whether a description in fdinfo names a lock that `pid` took itself: `lock: 1: FLOCK  ADVISORY  WRITE 123 …`; see
/// proc_pid_fdinfo(5). A child shares its parent's descriptors for the moment between fork and exec.
fn has_lock(fdinfo: &Path, pid: Pid) -> bool {
    let is_taken_by = |line: &str| {
        let mut words = line.split_whitespace();
        words.next() == Some("lock:")
            && words.any(|word| word == "WRITE")
            && words.next() == Some(&pid.as_raw_nonzero().to_string())
    };
    fs::read_to_string(fdinfo).is_ok_and(|text| text.lines().any(is_taken_by))
}
