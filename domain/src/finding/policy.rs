//! Findings about policies: what a project's file says, whether it is trusted, and whether anything starts under it here.

use super::Finding;
use super::project::NO_TASKS;
use crate::fact::{Exposable, ExposingKey, Fact, PolicyTrust, Refused};
use crate::policy::read::ADVICE;
use crate::policy::{BackendName, Capabilities, EffectivePolicy, SandboxPolicy, ToolCalls, resolve};

pub(super) fn judge(fact: &Fact, facts: &[Fact]) -> Option<Finding> {
    Some(match fact {
        Fact::NoPolicy(_) | Fact::Policy(..) | Fact::BadPolicy(_) => policy(fact),
        Fact::BadUserPolicy(mistakes) => self::mistakes("policy.user", "read your own policy, strictly", mistakes),
        Fact::PolicyTrust(path, trust) => self::trust(path, *trust),
        Fact::Asked(asked) => sandbox(asked, facts),
        Fact::Exposes(key, ..) => exposed_first(*key, fact, facts)?,
        _ => return None,
    })
}

fn policy(fact: &Fact) -> Finding {
    let tried = "read the policy of the trusted checkout, strictly";
    match fact {
        Fact::Policy(path, ToolCalls::Enabled) => Finding::project("policy", tried, path),
        Fact::Policy(path, ToolCalls::Disabled) => {
            Finding::project("policy", tried, format!("{path}: `tool_call.enabled` is not true"))
                .warning("`isobox tool` is refused in this project")
                .fix("set it to true if agents may use `isobox tool` here")
        }
        Fact::NoPolicy(path) => Finding::project("policy", tried, format!("there is none at {path}"))
            .warning("`isobox tool` is refused in this project")
            .fix("run `isobox init`, and commit what it writes"),
        Fact::BadPolicy(mistakes) => self::mistakes("policy", tried, mistakes),
        _ => Finding::project("policy", tried, ""),
    }
}

fn trust(path: &str, trust: PolicyTrust) -> Finding {
    let finding = Finding::project("policy.trust", "looked for the digest of the policy among those you trust", path);
    match trust {
        PolicyTrust::Given => finding,
        PolicyTrust::Missing => finding
            .warning("`isobox tool` and `isobox run` ask about it first, and are refused where nobody can answer")
            .fix("look at it by `isobox policy show`, then run `isobox policy trust`"),
    }
}

fn mistakes(check: &str, tried: &'static str, mistakes: &[Refused]) -> Finding {
    let found: Vec<_> = mistakes.iter().map(|mistake| mistake.reason.as_str()).collect();
    let fix: Vec<_> = mistakes.iter().filter_map(|mistake| mistake.hint.as_deref()).collect();
    let finding = Finding::project(check, tried, found.join("\n"));
    finding.error(NO_TASKS).fix_if_known((!fix.is_empty()).then(|| fix.join("\n")))
}

/// Whether a Sandbox as the policy asks for it can be made at all.
fn sandbox(asked: &SandboxPolicy, facts: &[Fact]) -> Finding {
    let tried = "resolved what the policy asks of a Sandbox against what the backends can do here";
    let backends = facts.iter().filter_map(|fact| match fact {
        Fact::Backend(capabilities) => Some((**capabilities).clone()),
        _ => None,
    });
    let find = |found: String| Finding::project("policy.sandbox", tried, found);
    match resolve(asked, &backends.collect::<Vec<Capabilities>>()) {
        Ok(effective) => holds(&effective, find(in_words(&effective))),
        // Whatever keeps every Sandbox from starting here is another check's to judge; it is no mistake of the policy.
        Err(refusal) if refusal.is_of_this_machine() => find(refusal.to_string())
            .warning("nothing starts on this machine under this policy: see `sandbox.starts` of `isobox doctor`")
            .fix(refusal.hint()),
        Err(refusal) => find(refusal.to_string()).error(NO_TASKS).fix(refusal.hint()),
    }
}

fn in_words(effective: &EffectivePolicy) -> String {
    let (backend, network) = (effective.backend.name(), effective.asked.network.name());
    format!("runtime_backend {backend}, network.default {network}")
}

fn holds(effective: &EffectivePolicy, finding: Finding) -> Finding {
    match effective.backend {
        BackendName::Host => finding
            .warning("it contains nothing: a workload can read and change whatever you can")
            .fix("write `runtime_backend: auto`, unless that is what you want"),
        BackendName::Bubblewrap | BackendName::Landlock => match unheld(effective) {
            None => finding,
            Some(limits) => finding
                .warning(format!("a workload may use more than the policy says: {limits}"))
                .fix("`isobox policy explain limit NAME` says why; `require: [limits]` refuses a Task instead"),
        },
    }
}

/// The limits that were asked for and do not hold here, or only in part.
fn unheld(effective: &EffectivePolicy) -> Option<String> {
    let unheld = effective.limits.iter().filter(|report| !report.enforcement.is_enforced());
    let said: Vec<_> = unheld.map(|report| format!("{} {}", report.limit.name(), report.enforcement.word())).collect();
    (!said.is_empty()).then(|| said.join(", "))
}

/// One finding for all that a key exposes, in the place of the first.
fn exposed_first(key: ExposingKey, fact: &Fact, facts: &[Fact]) -> Option<Finding> {
    let all: Vec<(&str, &Exposable)> = facts.iter().filter_map(|fact| exposed_by(key, fact)).collect();
    let is_first = exposed_by(key, fact).zip(all.first()).is_some_and(|(this, first)| std::ptr::eq(this.1, first.1));
    is_first.then(|| exposed(key, &all))
}

fn exposed_by(key: ExposingKey, fact: &Fact) -> Option<(&str, &Exposable)> {
    match fact {
        Fact::Exposes(by, written, found) if *by == key => Some((written, found)),
        _ => None,
    }
}

fn exposed(key: ExposingKey, all: &[(&str, &Exposable)]) -> Finding {
    let lines = all.iter().map(|(written, found)| match found {
        Exposable::Readable if key == ExposingKey::ReuseInputs => format!("{written} can be had"),
        Exposable::Readable => format!("{written} can be read"),
        Exposable::Unreadable(why) => format!("{written} cannot be read: {why}"),
        Exposable::Refused(why) => why.clone(),
    });
    let (check, tried) = match key {
        ExposingKey::Read => ("policy.read", "looked for every path of `filesystem.read`, and whether you may read it"),
        ExposingKey::Write => {
            ("policy.write", "looked for every path of `filesystem.write`, and whether you may read it")
        }
        ExposingKey::ReuseInputs => {
            ("policy.reuse_inputs", "looked for every Reuse Input, and whether you may read it")
        }
    };
    let finding = Finding::project(check, tried, lines.collect::<Vec<_>>().join("\n"));
    let is_any = |is_meant: fn(&Exposable) -> bool| all.iter().any(|(_, found)| is_meant(found));
    match () {
        () if is_any(|found| matches!(found, Exposable::Refused(_))) => finding.error(NO_TASKS).fix(advice(key)),
        () if is_any(|found| matches!(found, Exposable::Unreadable(_))) => finding
            .warning("a workload cannot read it either")
            .fix(format!("give yourself the permission, or take it out of `{}`", key.name())),
        () => finding,
    }
}

const fn advice(key: ExposingKey) -> &'static str {
    match key {
        ExposingKey::Read | ExposingKey::Write => ADVICE,
        ExposingKey::ReuseInputs => "name what is there and may be exposed, or take it out of `reuse_inputs`",
    }
}
