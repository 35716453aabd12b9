//! What a workload ran into, once it is over.

use super::cgroup::Group;
use super::means::Force;
use super::room::Room;
use crate::protocol::Report;
use isobox_domain::limit::{ExceededLimit, Limit, LimitEffect};
use isobox_domain::outcome::Exit;
use isobox_ports::EndCause;
use nix::sys::signal::Signal;

/// What was seen while it ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// The limit that it was ended for.
    pub(super) breach: Option<ExceededLimit>,
    /// Whether nothing more could be written at some moment.
    pub(super) was_full: bool,
    /// Whether no file could be made at some moment.
    pub(super) had_no_inode: bool,
    /// The most processes and threads that were counted.
    pub(super) peak_tasks: u64,
    /// Whether it is ended for having too many, for nothing else keeps them few.
    pub(super) hard_tasks: bool,
}

/// Everything that it ran into, what ended it first.
pub(super) fn exceeded(force: &Force, seen: Seen, report: Option<&Report>) -> Vec<ExceededLimit> {
    let exit = report.and_then(|report| match report.cause {
        EndCause::Exited(exit) => Some(exit),
        _ => None,
    });
    let found = [
        force.group.as_ref().zip(force.value(Limit::Memory)).and_then(|(group, most)| out_of_memory(group, most)),
        by_signal(force, exit, Limit::CpuTime, Signal::SIGXCPU),
        by_signal(force, exit, Limit::FileSize, Signal::SIGXFSZ),
        too_many_processes(force, &seen),
        full(force, &seen),
        no_inode(force, &seen),
    ];
    let breach = seen.breach;
    let limit = breach.as_ref().map(|breach| breach.limit);
    let others = found.into_iter().flatten().filter(|found| Some(found.limit) != limit);
    let mut all: Vec<_> = breach.into_iter().chain(others).collect();
    all.sort_by_key(|exceeded| exceeded.effect != LimitEffect::Ended);
    all
}

fn reached(
    force: &Force,
    limit: Limit,
    observed: Option<u64>,
    evidence: String,
    effect: LimitEffect,
) -> Option<ExceededLimit> {
    let value = force.value(limit)?;
    Some(ExceededLimit { limit, value, observed: observed.unwrap_or(value).max(value), evidence, effect })
}

/// Whether the kernel killed a process of a group for having more than `value` bytes. What is left of such a workload is of
/// no use, so that it is ended as a whole.
pub(super) fn out_of_memory(group: &Group, value: u64) -> Option<ExceededLimit> {
    let kills = group.oom_kills().filter(|kills| *kills > 0)?;
    let observed = group.peak_memory().unwrap_or(value).max(value);
    let (limit, effect) = (Limit::Memory, LimitEffect::Ended);
    Some(ExceededLimit { limit, value, observed, evidence: format!("oom_kill {kills}"), effect })
}

/// A shell tells with 128 + n that a command of its died of signal n.
fn by_signal(force: &Force, exit: Option<Exit>, limit: Limit, signal: Signal) -> Option<ExceededLimit> {
    let number = signal as u8;
    let (evidence, effect) = match exit? {
        Exit::Signal(found) if found == number => (signal.to_string(), LimitEffect::Ended),
        Exit::Code(code) if code == 128 + number => (format!("exit code {code}, {signal}"), LimitEffect::Refused),
        _ => return None,
    };
    reached(force, limit, None, evidence, effect)
}

fn too_many_processes(force: &Force, seen: &Seen) -> Option<ExceededLimit> {
    let value = force.value(Limit::Processes)?;
    match force.group.as_ref().and_then(|group| group.refused_processes()) {
        Some(0) => None,
        Some(times) => reached(force, Limit::Processes, None, format!("pids.events max {times}"), LimitEffect::Refused),
        None if seen.peak_tasks >= value && !seen.hard_tasks => {
            let evidence = "isobox counted as many as may be".to_owned();
            reached(force, Limit::Processes, Some(seen.peak_tasks), evidence, LimitEffect::Refused)
        }
        None => None,
    }
}

fn full(force: &Force, seen: &Seen) -> Option<ExceededLimit> {
    let room = Room::look(force.room.as_ref()?)?;
    let is_full = seen.was_full || room.is_full();
    is_full.then(|| reached(force, Limit::Disk, None, "statvfs: no block was free".to_owned(), LimitEffect::Refused))?
}

fn no_inode(force: &Force, seen: &Seen) -> Option<ExceededLimit> {
    let room = Room::look(force.room.as_ref()?)?;
    let is_full = seen.had_no_inode || room.has_no_inode();
    is_full
        .then(|| reached(force, Limit::Inodes, None, "statvfs: no inode was free".to_owned(), LimitEffect::Refused))?
}
