//! Whether the Sandbox around the Stage is what it has to be, looked at from inside before the workload starts.

use crate::protocol::Reach;
use std::io;

/// Fields of `/proc/self/status` and what they have to hold. See proc_pid_status(5).
const REQUIRED: [(&str, &str, &str); 6] = [
    ("CapInh:", "0000000000000000", "inheritable capabilities are left"),
    ("CapPrm:", "0000000000000000", "capabilities are left"),
    ("CapEff:", "0000000000000000", "effective capabilities are left"),
    ("CapAmb:", "0000000000000000", "ambient capabilities are left"),
    ("NoNewPrivs:", "1", "privileges can be gained by executing a program"),
    ("Seccomp:", "2", "no system call filter is in force"),
];

/// Refuses a Sandbox with a capability or without a filter, and where it is to have one, without a PID namespace of its own.
pub(super) fn verify(reach: Reach) -> io::Result<()> {
    if reach == Reach::Namespace && std::process::id() != 1 {
        return Err(io::Error::other("the sandbox has no PID namespace of its own"));
    }
    let status = std::fs::read_to_string("/proc/self/status")?;
    match fault(&status) {
        Some(fault) => Err(io::Error::other(format!("the sandbox is not closed: {fault}"))),
        None => Ok(()),
    }
}

fn fault(status: &str) -> Option<&'static str> {
    let holds = |name: &str, value: &str| {
        status.lines().any(|line| line.strip_prefix(name).is_some_and(|found| found.trim() == value))
    };
    REQUIRED.iter().find(|(name, value, _)| !holds(name, value)).map(|(_, _, fault)| *fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOSED: &str = "Name:\tx\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n\
        CapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n";

    #[test]
    fn one_capability_or_a_missing_filter_is_a_fault() {
        assert_eq!(fault(CLOSED), None);
        for (from, to, expected) in [
            ("CapEff:\t0000000000000000", "CapEff:\t0000000000200000", "effective capabilities are left"),
            ("NoNewPrivs:\t1", "NoNewPrivs:\t0", "privileges can be gained by executing a program"),
            ("Seccomp:\t2\n", "", "no system call filter is in force"),
        ] {
            assert_eq!(fault(&CLOSED.replace(from, to)), Some(expected));
        }
    }
}
