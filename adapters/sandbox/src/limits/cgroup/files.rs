//! The files of a control group, in both versions.

use super::site::{Bounds, Controller};
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

/// How long the kernel counts before it gives CPU time again, in microseconds.
const PERIOD_US: u64 = 100_000;

/// The Stage is in the group, too.
const STAGE: u64 = 1;

/// Sets what is asked for of `controllers`, and no more than `bounds`.
pub(super) fn set(
    group: &Path,
    version: Version,
    controllers: &[Controller],
    asked: &Limits,
    bounds: &Bounds,
) -> io::Result<()> {
    for controller in controllers {
        match (controller, version) {
            (Controller::Memory, Version::One) => set_memory_1(group, asked)?,
            (Controller::Memory, Version::Two) => set_memory_2(group, asked, bounds)?,
            (Controller::Pids, _) => {
                if let Some(most) =
                    least(asked.of(Limit::Processes).map(|most| most.saturating_add(STAGE)), bounds.pids)
                {
                    write(group, "pids.max", most)?;
                }
            }
            (Controller::Cpu, Version::One) => {
                if let Some(quota) = asked.of(Limit::Cpu).map(quota_us) {
                    write(group, "cpu.cfs_period_us", PERIOD_US)?;
                    write(group, "cpu.cfs_quota_us", quota)?;
                }
            }
            (Controller::Cpu, Version::Two) => {
                if let Some(quota) = asked.of(Limit::Cpu).map(quota_us) {
                    put(group, "cpu.max", &format!("{quota} {PERIOD_US}"))?;
                }
            }
            (Controller::CpuTime, _) => {}
        }
    }
    Ok(())
}

fn least(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    [one, other].into_iter().flatten().min()
}

/// Thousandths of a CPU are as many hundreds of microseconds of each period.
const fn quota_us(thousandths: u64) -> u64 {
    thousandths * PERIOD_US / 1000
}

fn set_memory_1(group: &Path, asked: &Limits) -> io::Result<()> {
    let Some(bytes) = asked.of(Limit::Memory) else { return Ok(()) };
    write(group, "memory.limit_in_bytes", bytes)?;
    // With swap, memory would be the smaller part of what is used. Where it is not accounted for, at least none is used
    // before memory is short.
    if group.join("memory.memsw.limit_in_bytes").exists() {
        return write(group, "memory.memsw.limit_in_bytes", bytes);
    }
    write(group, "memory.swappiness", 0)
}

fn set_memory_2(group: &Path, asked: &Limits, bounds: &Bounds) -> io::Result<()> {
    if let Some(bytes) = least(asked.of(Limit::Memory), bounds.memory) {
        write(group, "memory.max", bytes)?;
    }
    if asked.of(Limit::Memory).is_some() && group.join("memory.swap.max").exists() {
        write(group, "memory.swap.max", 0)?;
    }
    Ok(())
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
            let mut numbers = text.split_whitespace().map_while(|word| word.parse::<u64>().ok());
            let both = numbers.next().zip(numbers.next());
            let (quota, period) = both.ok_or_else(|| not_a_number("cpu.max", &text))?;
            Ok(quota * 1000 / period.max(1))
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
