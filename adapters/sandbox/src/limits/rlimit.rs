//! Limits that the kernel keeps for each process, and that are inherited: setrlimit(2).

use isobox_domain::limit::{Limit, Limits};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::io;

/// One of them, as the Stage sets it for the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rlimit {
    resource: u64,
    soft: u64,
    hard: u64,
}

/// What can be limited, by the number that stands for it in a plan.
const RESOURCES: [Resource; 5] = [
    Resource::RLIMIT_CORE,
    Resource::RLIMIT_CPU,
    Resource::RLIMIT_FSIZE,
    Resource::RLIMIT_NOFILE,
    Resource::RLIMIT_NPROC,
];
const CORE: u64 = 0;
const CPU: u64 = 1;
const FILE_SIZE: u64 = 2;
const OPEN_FILES: u64 = 3;
const PROCESSES: u64 = 4;

/// Length of one as bytes.
const BYTES: usize = 24;

/// Seconds between the signal that asks a process to end and the one that does not ask: getrlimit(2), "RLIMIT_CPU".
const CPU_GRACE_S: u64 = 2;

impl Rlimit {
    /// One as bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        [self.resource, self.soft, self.hard].into_iter().flat_map(u64::to_le_bytes).collect()
    }

    /// What some bytes say; `None` if that is nothing.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: [u8; BYTES] = bytes.try_into().ok()?;
        let mut numbers = bytes.chunks_exact(8).filter_map(|number| Some(u64::from_le_bytes(number.try_into().ok()?)));
        Some(Self { resource: numbers.next()?, soft: numbers.next()?, hard: numbers.next()? })
    }
}

/// What is set for a workload: no core dumps in any case, for they would be taken for results. `processes` is the most that
/// its user may have in the user namespace, if that is to hold.
pub(super) fn wanted(asked: &Limits, processes: Option<u64>) -> Vec<Rlimit> {
    let one = |resource, value: u64, grace: u64| Rlimit { resource, soft: value, hard: value.saturating_add(grace) };
    let seconds = |ms: u64| ms.div_ceil(1000);
    let all = [
        Some(one(CORE, 0, 0)),
        asked.of(Limit::CpuTime).map(|ms| one(CPU, seconds(ms), CPU_GRACE_S)),
        asked.of(Limit::FileSize).map(|bytes| one(FILE_SIZE, bytes, 0)),
        asked.of(Limit::OpenFiles).map(|count| one(OPEN_FILES, count, 0)),
        processes.map(|count| one(PROCESSES, count, 0)),
    ];
    all.into_iter().flatten().filter_map(within_own).collect()
}

/// No more than this process has itself, whose children inherit that.
fn within_own(wanted: Rlimit) -> Option<Rlimit> {
    let resource = RESOURCES.get(usize::try_from(wanted.resource).ok()?)?;
    let (_, own) = getrlimit(*resource).ok()?;
    Some(Rlimit { soft: wanted.soft.min(own), hard: wanted.hard.min(own), ..wanted })
}

/// What is in force of a limit, if it is among `set`.
pub(super) fn applied(set: &[Rlimit], limit: Limit) -> Option<u64> {
    let resource = match limit {
        Limit::FileSize => FILE_SIZE,
        Limit::OpenFiles => OPEN_FILES,
        _ => return None,
    };
    set.iter().find(|rlimit| rlimit.resource == resource).map(|rlimit| rlimit.soft)
}

/// Sets them for this process and its children, and reads each back. Called in the child that becomes the workload.
pub(crate) fn apply(all: &[Rlimit]) -> io::Result<()> {
    for Rlimit { resource, soft, hard } in all {
        let known = usize::try_from(*resource).ok().and_then(|number| RESOURCES.get(number));
        let resource = known.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        setrlimit(*resource, *soft, *hard)?;
        if getrlimit(*resource)? != (*soft, *hard) {
            return Err(io::Error::from_raw_os_error(libc::EPERM));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_survives_its_way_through_a_plan() {
        let asked = Limits::NONE.with(Limit::CpuTime, Some(1500)).with(Limit::OpenFiles, Some(64));
        let wanted = wanted(&asked, Some(7));
        assert_eq!(wanted.len(), 4);
        for rlimit in &wanted {
            assert_eq!(Rlimit::decode(&rlimit.encode()), Some(*rlimit));
        }
        assert_eq!(Rlimit::decode(&wanted[0].encode()[1..]), None);
        assert_eq!(applied(&wanted, Limit::OpenFiles), Some(64));
        // Whole seconds, rounded up: less than was asked for would be another limit.
        assert_eq!((wanted[1].soft, wanted[1].hard), (2, 4));
    }
}
