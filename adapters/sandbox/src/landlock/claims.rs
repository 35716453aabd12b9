//! What the backend claims to enforce.

use super::findings::{Findings, Walls};
use crate::view::ProcView;
use isobox_domain::enforcement::{Control, Enforcement};

/// The version of Landlock from which TCP can be ruled on.
const TCP_SINCE: u64 = 4;

/// The version of Landlock from which signals and abstract sockets stay within a Sandbox.
const SCOPED_SINCE: u64 = 6;

fn by(mechanism: &str) -> Enforcement {
    Enforcement::Enforced { mechanism: mechanism.to_owned() }
}

/// What is claimed of a control.
pub(super) fn claim(control: Control, findings: &Findings) -> Enforcement {
    match &findings.walls {
        Walls::Namespaces { proc_view, why_not_fresh, .. } => {
            in_namespaces(control, *proc_view, why_not_fresh.as_deref())
        }
        Walls::Alone(why) => alone(control, findings.landlock_abi, why),
    }
}

fn in_namespaces(control: Control, proc_view: ProcView, why_not_fresh: Option<&str>) -> Enforcement {
    match control {
        Control::Filesystem => {
            by("mount namespace with a new root, read-only system directories and /proc; Landlock behind it")
        }
        Control::Network => by("network namespace with loopback only"),
        Control::Processes => processes(proc_view, why_not_fresh),
        Control::Privileges => by("user namespace, no capabilities, no_new_privs, seccomp"),
        Control::Syscalls => by("seccomp filter"),
        Control::Ipc => by("IPC, UTS and cgroup namespaces"),
        Control::Environment => by("cleared environment, PID namespace"),
        Control::Credentials => by("private HOME, no /run, no host sockets, seccomp against keyrings"),
        Control::Limits => Enforcement::NotEnforced { reason: "the policy sets no limits".to_owned() },
    }
}

/// What holds where nothing has a namespace.
fn alone(control: Control, landlock_abi: u64, why: &str) -> Enforcement {
    let partially = |mechanism: &str, reason: &str| Enforcement::PartiallyEnforced {
        mechanism: mechanism.to_owned(),
        reason: format!("{reason}; there are no namespaces: {why}"),
    };
    match control {
        Control::Filesystem => partially(
            "Landlock",
            "paths are the host's own; names, sizes and times of everything can be looked at and watched, and modes, groups, \
             times and extended attributes changed of whatever the user owns; the accounts of this machine and what /proc \
             tells of it can be read",
        ),
        Control::Network if landlock_abi >= TCP_SINCE => {
            by("seccomp: no socket but connected pairs; Landlock refuses TCP besides")
        }
        Control::Network => by("seccomp: no socket but connected pairs"),
        Control::Processes if landlock_abi >= SCOPED_SINCE => partially(
            "subreaper, and Landlock against signals and tracing",
            "host processes and their command lines can be seen in /proc, and those of the user be slowed",
        ),
        Control::Processes => partially(
            "subreaper, and Landlock against tracing",
            "host processes and their command lines can be seen in /proc, and those of the user be signalled, the stage \
             included, whose workload then lives on",
        ),
        Control::Privileges => by("no capabilities, no_new_privs, seccomp"),
        Control::Syscalls => by("seccomp filter"),
        Control::Ipc => partially(
            "seccomp: no System V IPC and no message queues",
            "the host name, the cgroup and the lists of System V IPC can be read",
        ),
        Control::Environment => by("cleared environment, Landlock against looking into other processes"),
        Control::Credentials => partially(
            "private HOME, Landlock, no Unix sockets but pairs, seccomp against keyrings",
            "the user's files cannot be read, but their modes can be changed; /proc lists the sockets of the host and the \
             keys of the user",
        ),
        Control::Limits => Enforcement::NotEnforced { reason: "the policy sets no limits".to_owned() },
    }
}

fn processes(proc_view: ProcView, why_not_fresh: Option<&str>) -> Enforcement {
    let mechanism = "PID namespace that ends with its stage".to_owned();
    match proc_view {
        ProcView::Fresh => Enforcement::Enforced { mechanism },
        ProcView::OfHost => Enforcement::PartiallyEnforced {
            mechanism,
            reason: format!(
                "a fresh /proc is refused here ({}), so that the command lines of host processes can be read",
                why_not_fresh.unwrap_or("no reason was given")
            ),
        },
    }
}

/// What is known not to work, as sentences for people.
pub(super) fn limitations(findings: &Findings) -> Vec<String> {
    let mut limitations = vec![
        "the workload can read the host paths of its Workspace and of isobox in /proc/self/mountinfo".to_owned(),
        "32-bit programs cannot run".to_owned(),
    ];
    if findings.landlock_abi < SCOPED_SINCE {
        limitations.push(format!(
            "Landlock of ABI {} does not keep abstract sockets and signals apart, which namespaces do",
            findings.landlock_abi
        ));
    }
    if findings.proc_view() == ProcView::OfHost {
        limitations.push("the workload can read what the host's /proc tells about other processes".to_owned());
    }
    if let Walls::Alone(_) = findings.walls {
        limitations.push(
            "the workload sees its Workspace at the host's path, has neither /tmp nor /dev/shm, and cannot use sockets \
             between its own processes but socketpair(2); nothing can be hidden, protected or copied for \
             it, and no socket of the host be shown to it"
                .to_owned(),
        );
    }
    limitations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn landlock_is_said_to_refuse_tcp_where_it_can() {
        let says = |abi| match alone(Control::Network, abi, "no") {
            Enforcement::Enforced { mechanism } => mechanism.contains("Landlock"),
            _ => false,
        };
        assert_eq!([3, 4].map(says), [false, true]);
    }
}
