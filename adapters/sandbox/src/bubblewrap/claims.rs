//! What the backend claims to enforce.

use crate::stage::devices::{self, Guard};
use crate::view::ProcView;
use isobox_domain::enforcement::{Control, Enforcement};

/// What was found by trying.
#[derive(Clone, Debug)]
pub(super) struct Findings {
    /// Which `/proc` a Sandbox can have.
    pub(super) proc_view: ProcView,
    /// Why it cannot have a fresh one.
    pub(super) why_not_fresh: Option<String>,
}

/// What is claimed of a control.
pub(super) fn claim(control: Control, findings: &Findings) -> Enforcement {
    let by = |mechanism: &str| Enforcement::Enforced { mechanism: mechanism.to_owned() };
    match control {
        Control::Filesystem => filesystem("mount namespace with a new root, read-only system directories and /proc"),
        Control::Network => by("network namespace with loopback only"),
        Control::Processes => processes(findings),
        Control::Privileges => by("user namespace, no capabilities, no_new_privs, seccomp"),
        Control::Syscalls => by("seccomp filter"),
        Control::Ipc => by("IPC, UTS and cgroup namespaces"),
        Control::Environment => by("cleared environment, PID namespace"),
        Control::Credentials => by("private HOME, no /run, no host sockets, seccomp against keyrings"),
        Control::Limits => not("the policy sets no limits"),
    }
}

fn filesystem(mechanism: &str) -> Enforcement {
    let mechanism = mechanism.to_owned();
    match devices::guard() {
        Ok(Guard::NotOwner | Guard::ReadOnly) => Enforcement::Enforced { mechanism },
        Ok(Guard::None) => Enforcement::PartiallyEnforced {
            mechanism,
            reason: "as root without CAP_SYS_ADMIN, isobox cannot keep the workload from changing the modes of \
                     /dev/null and the like"
                .to_owned(),
        },
        Err(error) => not(&format!("read /proc/self/status: {error}")),
    }
}

fn not(reason: &str) -> Enforcement {
    Enforcement::NotEnforced { reason: reason.to_owned() }
}

fn processes(findings: &Findings) -> Enforcement {
    let mechanism = "PID namespace that ends with its stage".to_owned();
    match (findings.proc_view, &findings.why_not_fresh) {
        (ProcView::Fresh, _) => Enforcement::Enforced { mechanism },
        (ProcView::OfHost, why) => Enforcement::PartiallyEnforced {
            mechanism,
            reason: format!(
                "a fresh /proc is refused here ({}), so that the command lines of host processes can be read",
                why.as_deref().unwrap_or("no reason was given")
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
    if findings.proc_view == ProcView::OfHost {
        limitations.push("the workload can read what the host's /proc tells about other processes".to_owned());
    }
    limitations
}
