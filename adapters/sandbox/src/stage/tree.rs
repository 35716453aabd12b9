//! Ending every process of a workload.

use crate::protocol::Reach;
use isobox_domain::outcome::Exit;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::collections::HashMap;
use std::io;

/// Takes one child that has ended, if there is one: its PID and how it ended.
pub(super) fn reap() -> io::Result<Option<(Pid, Exit)>> {
    match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
        Ok(status) => Ok(ended(status)),
        Err(Errno::ECHILD) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

fn ended(status: WaitStatus) -> Option<(Pid, Exit)> {
    match status {
        // The kernel keeps the low 8 bits of an exit code.
        WaitStatus::Exited(pid, code) => Some((pid, Exit::Code((code & 0xff) as u8))),
        WaitStatus::Signaled(pid, signal, _) => Some((pid, Exit::Signal(signal as u8))),
        _ => None,
    }
}

/// Kills and reaps every process within `reach`; returns how many had to be killed.
///
/// All of them are descendants of this process, whose orphans become its children: none is left when it has no child.
pub(super) fn end(reach: Reach) -> io::Result<u64> {
    let mut killed = 0;
    while reap()?.is_some() {}
    loop {
        let out_of_reach = kill_all(reach)?;
        match waitpid(None, if out_of_reach { Some(WaitPidFlag::WNOHANG) } else { None }) {
            Ok(status) => killed += count_killed(ended(status)),
            Err(Errno::ECHILD) => return Ok(killed),
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        while let Some(child) = reap()? {
            killed += count_killed(Some(child));
        }
        if out_of_reach {
            return Ok(killed);
        }
    }
}

fn count_killed(child: Option<(Pid, Exit)>) -> u64 {
    u64::from(matches!(child, Some((_, Exit::Signal(signal))) if signal == Signal::SIGKILL as u8))
}

/// Asks every process within `reach` to end. One that is stopped goes on, so that it can.
pub(super) fn terminate(reach: Reach) -> io::Result<()> {
    for signal in [Signal::SIGTERM, Signal::SIGCONT] {
        match reach {
            // As below: every process of this PID namespace but its init.
            Reach::Namespace if std::process::id() == 1 => match kill(Pid::from_raw(-1), signal) {
                Ok(()) | Err(Errno::ESRCH) => {}
                Err(errno) => return Err(errno.into()),
            },
            Reach::Namespace | Reach::Tree => {
                // Who is gone, or may not be asked, is killed in the end, if that is possible.
                descendants_of(std::process::id(), &parents()?).into_iter().for_each(|pid| {
                    kill(Pid::from_raw(pid), signal).ok();
                });
            }
        }
    }
    Ok(())
}

/// Sends SIGKILL to every process within `reach`; tells whether only such are left as may not be killed.
fn kill_all(reach: Reach) -> io::Result<bool> {
    match reach {
        // PID -1 is every process of this PID namespace but its init, which is this one. Anywhere else it would be
        // every process of the user, so the PID is looked at here, next to the call.
        Reach::Namespace if std::process::id() == 1 => match kill(Pid::from_raw(-1), Signal::SIGKILL) {
            Ok(()) | Err(Errno::ESRCH) => Ok(false),
            Err(errno) => Err(errno.into()),
        },
        Reach::Namespace | Reach::Tree => kill_descendants(),
    }
}

fn kill_descendants() -> io::Result<bool> {
    let descendants = descendants_of(std::process::id(), &parents()?);
    let mut outcomes = descendants.iter().map(|&pid| kill(Pid::from_raw(pid), Signal::SIGKILL)).collect::<Vec<_>>();
    outcomes.retain(|outcome| *outcome != Err(Errno::ESRCH));
    // A program with set-user-ID bits runs as somebody else, whom an ordinary user cannot kill.
    Ok(!outcomes.is_empty() && outcomes.iter().all(|outcome| *outcome == Err(Errno::EPERM)))
}

/// Every process that can be seen, with its parent.
fn parents() -> io::Result<HashMap<i32, u32>> {
    let mut parents = HashMap::new();
    for entry in std::fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        // A process that ended meanwhile has no file any more.
        let Ok(stat) = std::fs::read(format!("/proc/{pid}/stat")) else { continue };
        if let Some(parent) = parent_in(&stat) {
            parents.insert(pid, parent);
        }
    }
    Ok(parents)
}

/// The parent in a line of proc_pid_stat(5): the second field after the name, which may itself hold `)` and blanks.
fn parent_in(stat: &[u8]) -> Option<u32> {
    let end_of_name = stat.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end_of_name + 1..)?).ok()?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn descendants_of(ancestor: u32, parents: &HashMap<i32, u32>) -> Vec<i32> {
    let mut children: HashMap<u32, Vec<i32>> = HashMap::new();
    for (&pid, &parent) in parents {
        children.entry(parent).or_default().push(pid);
    }
    let mut found = Vec::new();
    let mut pending = vec![ancestor];
    while let Some(parent) = pending.pop() {
        for pid in children.remove(&parent).unwrap_or_default() {
            found.push(pid);
            pending.extend(u32::try_from(pid));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_cannot_forge_its_parent() {
        assert_eq!(parent_in(b"12 (x) S 1 (y) R 77 12 12"), Some(77));
        assert_eq!(parent_in(b"12 (a b) S 3 12 12"), Some(3));
        assert_eq!(parent_in(b"12"), None);
    }

    #[test]
    fn descendants_are_found_at_every_depth_and_nobody_else() {
        let parents = HashMap::from([(2, 1), (3, 2), (4, 3), (5, 1), (6, 5), (7, 7)]);
        let mut found = descendants_of(2, &parents);
        found.sort_unstable();
        assert_eq!(found, [3, 4]);
    }
}
