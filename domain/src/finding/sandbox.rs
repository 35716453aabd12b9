//! Findings about what contains a workload: the program, the kernel, and a Sandbox that was started.

use super::Finding;
use crate::fact::{Fact, Namespace, OverlayPlace, Trial};

/// The oldest `bwrap` with every option that isobox uses.
const OLDEST_BUBBLEWRAP: (u32, u32) = (0, 8);
const NO_TASKS: &str = "`isobox tool` and `isobox run` refuse every Task, unless `run` is asked for `--backend host`, which contains nothing";

pub(super) fn judge(fact: &Fact, facts: &[Fact]) -> Option<Finding> {
    Some(match fact {
        Fact::Bubblewrap(trial) => bubblewrap(trial, facts),
        Fact::SandboxStarts(trial) => starts(trial, facts),
        Fact::SandboxLacks(what) => {
            Finding::machine("sandbox.controls", "asked the backend which controls it enforces here", what)
                .warning("the Effective Policy of every record says so")
        }
        Fact::Restriction { setting, remedy } => restriction(setting, remedy, facts),
        Fact::Opens(namespace, trial) => opens(*namespace, trial, facts),
        Fact::Landlock(trial) => {
            landlock("landlock.abi", "built a ruleset per ABI, with every right of it required", trial)
        }
        Fact::Overlay(place, trial) => overlay(*place, trial, facts),
        Fact::Cgroups(groups) => cgroups(groups),
        _ => return None,
    })
}

/// What to do where no setting of the kernel forbids user namespaces, and none opens; see user_namespaces(7).
const CONFINED: &str = "leave the chroot or container that this is, or let it make user namespaces: \
    `docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined`, for example";

fn is_confined(facts: &[Fact]) -> bool {
    facts.iter().any(|fact| matches!(fact, Fact::Opens(Namespace::User, Trial::Fails(_))))
}

fn starts_here(facts: &[Fact]) -> bool {
    facts.iter().any(|fact| matches!(fact, Fact::SandboxStarts(Trial::Works(_))))
}

fn bubblewrap(trial: &Trial, facts: &[Fact]) -> Finding {
    let tried = "looked for `bwrap` on PATH, and asked it for its version";
    let version = facts.iter().find_map(|fact| match fact {
        Fact::BubblewrapVersion(major, minor) => Some((*major, *minor)),
        _ => None,
    });
    let install = "install bubblewrap 0.8 or newer, e.g. with `apt install bubblewrap`";
    match trial {
        Trial::Fails(why) if starts_here(facts) => Finding::machine("bubblewrap.program", tried, why)
            .note("the backend `bubblewrap` cannot be used; `landlock` needs no program"),
        Trial::Fails(why) => Finding::machine("bubblewrap.program", tried, why).error(NO_TASKS).fix(install),
        Trial::Works(found) if version.is_some_and(|version| version < OLDEST_BUBBLEWRAP) => {
            Finding::machine("bubblewrap.program", tried, found)
                .warning("isobox needs bubblewrap 0.8: an older one lacks options that it uses")
                .fix(install)
        }
        Trial::Works(found) => Finding::machine("bubblewrap.program", tried, found),
    }
}

fn starts(trial: &Trial, facts: &[Fact]) -> Finding {
    let tried = "started `true` in a Sandbox, as `isobox tool` would";
    match trial {
        Trial::Works(found) => Finding::machine("sandbox.starts", tried, found),
        Trial::Fails(why) => {
            let remedy = facts.iter().find_map(|fact| match fact {
                Fact::Restriction { remedy, .. } => Some(remedy.clone()),
                _ => None,
            });
            let remedy = remedy.or_else(|| is_confined(facts).then(|| CONFINED.to_owned()));
            Finding::machine("sandbox.starts", tried, why).error(NO_TASKS).fix_if_known(remedy)
        }
    }
}

fn restriction(setting: &str, remedy: &str, facts: &[Fact]) -> Finding {
    let finding = Finding::machine("kernel.restriction", "read the settings that restrict namespaces", setting);
    match starts_here(facts) {
        true => finding.note("none for you: a Sandbox starts all the same"),
        false => finding.error(NO_TASKS).fix(remedy),
    }
}

fn opens(namespace: Namespace, trial: &Trial, facts: &[Fact]) -> Finding {
    let check = format!("namespace.{}", namespace.name());
    let tried = "opened one in a process of its own, and used it";
    match trial {
        Trial::Works(found) => Finding::machine(check, tried, found),
        Trial::Fails(why) if starts_here(facts) => {
            Finding::machine(check, tried, why).warning("`bwrap` may do here what this user may not")
        }
        Trial::Fails(why) => {
            Finding::machine(check, tried, why).warning("a Sandbox has one of its own, so that none starts without it")
        }
    }
}

fn landlock(check: &str, tried: &'static str, trial: &Trial) -> Finding {
    match trial {
        Trial::Works(found) => Finding::machine(check, tried, found),
        Trial::Fails(why) => {
            Finding::machine(check, tried, format!("not here: {why}")).note("the backend `landlock` cannot be used")
        }
    }
}

fn overlay(place: OverlayPlace, trial: &Trial, facts: &[Fact]) -> Finding {
    let check = "overlay.mounts";
    let tried = match place {
        OverlayPlace::Workspaces => {
            "looked up what came of mounting an overlay where workspaces lie, when a task last tried"
        }
        OverlayPlace::Memory => {
            "mounted an overlay in memory, and made a file in it in a Sandbox: nothing is remembered of trying it \
             where workspaces lie, and looking makes nothing there"
        }
    };
    let no_sandbox = facts.iter().any(|fact| matches!(fact, Fact::SandboxStarts(Trial::Fails(_))));
    match (place, trial) {
        (OverlayPlace::Workspaces, Trial::Works(found)) => Finding::machine(check, tried, found),
        (OverlayPlace::Memory, Trial::Works(found)) => {
            Finding::machine(check, tried, found).note("the next task tries it where workspaces lie")
        }
        (_, Trial::Fails(why)) if no_sandbox => {
            Finding::machine(check, tried, why).note("none of its own: it is tried in a Sandbox, and none starts")
        }
        (OverlayPlace::Workspaces, Trial::Fails(why)) => Finding::machine(check, tried, why)
            .warning("each task copies the files of its commit, which takes time and room")
            .fix(
                "use Linux 5.11 or newer, and let isobox's state directory lie on a local file system such as ext4 or xfs, \
                 e.g. with XDG_STATE_HOME",
            ),
        (OverlayPlace::Memory, Trial::Fails(why)) => Finding::machine(check, tried, why).note(
            "the next task tries it where workspaces lie; if that fails, too, each task copies the files of its commit",
        ),
    }
}

fn cgroups(groups: &Result<Vec<String>, String>) -> Finding {
    let finding = |found: String| {
        Finding::machine("cgroups.delegation", "looked where this user may make a control group", found)
    };
    match groups {
        Ok(limits) => finding(limits.join(", ")),
        Err(why) => finding(why.clone()).note(
            "limits of memory, processes and CPUs are held by what isobox counts and by resource limits, as far as those go; \
             with systemd, `systemd-run --user --scope isobox …` runs where it has delegated a group to you",
        ),
    }
}
