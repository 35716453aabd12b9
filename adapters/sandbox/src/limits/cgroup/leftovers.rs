//! Groups that killed starts left.

use super::name;
use super::site::Place;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::path::Path;

/// Removes those at `place` that nobody holds, as far as that can be done: what cannot be removed now is tried again by the
/// next start that makes one.
///
/// Beside them lie groups of others, whose processes are none of isobox's. And this process may itself be in one that looks
/// left over: a Task without containment may start isobox, and outlive the one that started it.
pub(super) fn remove(place: &Place) {
    let Ok(entries) = fs::read_dir(&place.directory) else { return };
    let ours = entries.flatten().filter(|entry| name::is_one(&entry.file_name()));
    for host_path in ours.map(|entry| entry.path()).filter(|host_path| !place.own.starts_with(host_path)) {
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

#[cfg(test)]
mod tests {
    use super::super::Version;
    use super::*;
    use crate::limits::cgroup::bounds::Bounds;

    #[test]
    fn only_groups_of_tasks_that_are_over_are_swept() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let make = |name: &str| {
            let group = root.path().join(name);
            fs::create_dir(&group).expect("a folder");
            group
        };
        let task = |task| name::of(task, 0);
        let (left, held, around) = (make(&task("left")), make(&task("held")), make(&task("around")));
        let others = ["isobox-nightly.service", "isobox-x.scope", "isobox-a.slice", "isobox-task-1"].map(make);
        let held_open = File::open(&held).expect("a folder");
        let _lock =
            Flock::lock(held_open, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| errno).expect("a lock");
        let place = Place {
            directory: root.path().to_owned(),
            own: around.join("below"),
            version: Version::Two,
            controllers: Vec::new(),
            bounds: Bounds::default(),
        };
        remove(&place);
        assert!(!left.exists());
        for kept in others.iter().chain([&held, &around]) {
            // Nothing was killed in it, either.
            assert!(kept.exists() && !kept.join("cgroup.kill").exists(), "{}", kept.display());
        }
    }
}
