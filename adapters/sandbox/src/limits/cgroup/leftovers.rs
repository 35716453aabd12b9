//! Groups that killed starts left.

use super::PREFIX;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::path::Path;

/// Removes those below `directory` that nobody holds, as far as that can be done: what cannot be removed now is tried again
/// by the next start that makes one.
pub(super) fn remove(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let ours = entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    for host_path in ours.map(|entry| entry.path()) {
        let Ok(opened) = File::open(&host_path) else { continue };
        let Ok(_held) = Flock::lock(opened, FlockArg::LockExclusiveNonblock) else { continue };
        if fs::remove_dir(&host_path).is_err() {
            // A workload dies with the isobox that started it. Whatever is in there all the same belongs to nobody.
            end_processes(&host_path);
            fs::remove_dir(&host_path).ok();
        }
    }
}

fn end_processes(group: &Path) {
    if fs::write(group.join("cgroup.kill"), "1").is_ok() {
        return;
    }
    let listed = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    for pid in listed.lines().filter_map(|line| line.parse().ok()).filter(|pid| *pid > 1) {
        kill(Pid::from_raw(pid), Signal::SIGKILL).ok();
    }
}
