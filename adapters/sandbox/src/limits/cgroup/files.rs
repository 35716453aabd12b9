//! The files of a control group, in both versions.

use super::bounds::{Bounds, PERIOD_US, Quota, STAGE};
use super::site::Controller;
use isobox_domain::limit::{Limit, Limits};
use std::fs;
use std::io;
use std::path::Path;

/// The version of a hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    One,
    Two,
}

impl Version {
    /// As people are told.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::One => "cgroup v1",
            Self::Two => "cgroup v2",
        }
    }
}

/// Sets what is asked for of `controllers`, and no more than `bounds`, which are of every controller there is.
pub(super) fn set(
    group: &Path,
    version: Version,
    controllers: &[Controller],
    asked: &Limits,
    bounds: &Bounds,
) -> io::Result<()> {
    let is_had = |limit| Controller::of(limit).is_some_and(|controller| controllers.contains(&controller));
    match version {
        Version::One => set_1(group, &Bounds::default().with(asked, is_had)),
        Version::Two => set_2(group, bounds.with(asked, is_had)),
    }
}

fn set_1(group: &Path, wanted: &Bounds) -> io::Result<()> {
    if let Some(bytes) = wanted.memory {
        write(group, "memory.limit_in_bytes", bytes)?;
        // With swap, memory would be the smaller part of what is used. Where it is not accounted for, at least none is used
        // before memory is short.
        match group.join("memory.memsw.limit_in_bytes").exists() {
            true => write(group, "memory.memsw.limit_in_bytes", bytes)?,
            false => write(group, "memory.swappiness", 0)?,
        }
    }
    if let Some(most) = wanted.pids {
        write(group, "pids.max", most)?;
    }
    if let Some(quota) = wanted.cpu {
        write(group, "cpu.cfs_period_us", PERIOD_US)?;
        write(group, "cpu.cfs_quota_us", quota.us())?;
    }
    Ok(())
}

fn set_2(group: &Path, wanted: Bounds) -> io::Result<()> {
    // The kernel may be built without swap.
    let is_there = |file: &str| file != "memory.swap.max" || group.join(file).exists();
    wanted.files().filter(|(file, _)| is_there(file)).try_for_each(|(file, text)| put(group, file, &text))
}

/// The value that is in force, in the unit of the limit.
pub(super) fn in_force(group: &Path, version: Version, limit: Limit) -> io::Result<u64> {
    match (limit, version) {
        (Limit::Memory, Version::One) => number(group, "memory.limit_in_bytes"),
        (Limit::Memory, Version::Two) => number(group, "memory.max"),
        (Limit::Processes, _) => Ok(number(group, "pids.max")?.saturating_sub(STAGE)),
        (Limit::Cpu, Version::One) => {
            Ok(number(group, "cpu.cfs_quota_us")? * 1000 / number(group, "cpu.cfs_period_us")?.max(1))
        }
        (Limit::Cpu, Version::Two) => {
            let text = fs::read_to_string(group.join("cpu.max"))?;
            Quota::parse(&text).map(Quota::thousandths).ok_or_else(|| not_a_number("cpu.max", &text))
        }
        _ => Err(io::Error::other("this limit is none of a control group")),
    }
}

pub(super) fn oom_kills(group: &Path, version: Version) -> io::Result<u64> {
    match version {
        Version::One => field(group, "memory.oom_control", "oom_kill"),
        Version::Two => field(group, "memory.events", "oom_kill"),
    }
}

pub(super) fn peak_memory(group: &Path, version: Version) -> io::Result<u64> {
    match version {
        Version::One => number(group, "memory.max_usage_in_bytes"),
        Version::Two => number(group, "memory.peak"),
    }
}

pub(super) fn refused_processes(group: &Path, _version: Version) -> io::Result<u64> {
    field(group, "pids.events", "max")
}

pub(super) fn cpu_time_ms(group: &Path, version: Version) -> io::Result<u64> {
    match version {
        Version::One => Ok(number(group, "cpuacct.usage")? / 1_000_000),
        Version::Two => Ok(field(group, "cpu.stat", "usage_usec")? / 1000),
    }
}

fn write(group: &Path, file: &str, value: u64) -> io::Result<()> {
    put(group, file, &value.to_string())
}

fn put(group: &Path, file: &str, text: &str) -> io::Result<()> {
    fs::write(group.join(file), text)
        .map_err(|error| io::Error::new(error.kind(), format!("write {text} to {file}: {error}")))
}

fn number(group: &Path, file: &str) -> io::Result<u64> {
    let text = fs::read_to_string(group.join(file))?;
    text.trim().parse().map_err(|_| not_a_number(file, &text))
}

/// A number by its name in a file of lines `NAME NUMBER`.
fn field(group: &Path, file: &str, name: &str) -> io::Result<u64> {
    let text = fs::read_to_string(group.join(file))?;
    let found = text.lines().find_map(|line| line.split_once(' ').filter(|(key, _)| *key == name));
    found.and_then(|(_, value)| value.trim().parse().ok()).ok_or_else(|| not_a_number(file, &text))
}

fn not_a_number(file: &str, text: &str) -> io::Error {
    io::Error::other(format!("{file} of a control group says `{}`", text.trim()))
}
