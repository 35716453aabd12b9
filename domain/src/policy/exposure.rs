//! What each thing that a person exposes by choice takes from which control.

use super::{DependencyCache, ReuseInput, ReuseKind, SandboxPolicy};
use crate::enforcement::{Control, ControlReport, Enforcement};
use crate::escape::Escaped;
use crate::masking;

/// Something that was exposed by choice, and what holds less because of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exposure {
    /// What was exposed, for people: `local_integration=/run/user/1000/agent.sock`.
    pub what: String,
    /// The control that it weakens.
    pub control: Control,
    /// What gets past it because of that.
    pub why: String,
}

/// What `asked` exposes and what that weakens, in the order in which it was asked for.
pub fn exposures(asked: &SandboxPolicy) -> Vec<Exposure> {
    let read = asked.read.iter().map(|path| of_path("filesystem.read", path));
    let ruled = read.chain(asked.files.write.iter().map(|rule| of_path("filesystem.write", &rule.path)));
    let inputs = asked.reuse_inputs.iter().filter_map(of_input);
    let shown = asked.files.unsafe_shown.iter().map(|path| Exposure {
        what: format!("--unsafe-expose {}", Escaped(path)),
        control: Control::Credentials,
        why: format!("the workload reads {}, which is never shown otherwise", Escaped(path)),
    });
    let caches = asked.caches.iter().flat_map(|cache| of_cache(*cache));
    ruled.chain(inputs).chain(shown).chain(caches).collect()
}

/// Files of the host, by whichever rule they are shown. The workload reads a copy as it reads the file itself.
fn of_path(rule: &str, path: &[u8]) -> Exposure {
    let why = format!("the workload reads whatever secrets are in {}", Escaped(path));
    Exposure { what: format!("{rule}={}", Escaped(path)), control: Control::Credentials, why }
}

/// A later workload of the project finds what an earlier one left in its cache, which is as hostile as that was.
fn of_cache(cache: DependencyCache) -> [Exposure; 2] {
    let exposure = |control, why: String| Exposure { what: format!("caches={}", cache.name()), control, why };
    let name = cache.name();
    [
        exposure(
            Control::Environment,
            format!(
                "the {name} cache may hold what earlier workloads wrote: those of the project in its layer, those of the backend `host` in what lies below"
            ),
        ),
        exposure(
            Control::Credentials,
            format!(
                "the workload reads what {name} downloaded on this machine, packages of private registries included"
            ),
        ),
    ]
}

fn of_input(input: &ReuseInput) -> Option<Exposure> {
    let value = Escaped(input.value.as_bytes());
    let (control, why) = match input.kind {
        // An installation is looked for by rules that leave secrets out.
        ReuseKind::HostBinary | ReuseKind::CredentialRef => return None,
        ReuseKind::Path => {
            let exposure = of_path(input.kind.name(), input.path().0);
            return Some(Exposure { what: format!("{}={value}", input.kind.name()), ..exposure });
        }
        ReuseKind::EnvVar if masking::is_secret_name(&input.value) => {
            (Control::Credentials, format!("the workload has the value of {value}, by its name a secret"))
        }
        ReuseKind::EnvVar => {
            (Control::Environment, format!("the workload has the value of {value}, which the caller chose"))
        }
        ReuseKind::LocalIntegration => (
            Control::Credentials,
            format!("the workload talks to whoever listens on {value}, with whatever that does for it"),
        ),
    };
    Some(Exposure { what: format!("{}={value}", input.kind.name()), control, why })
}

/// `report` with what `exposures` take from it.
pub(super) fn weakened(report: ControlReport, exposures: &[Exposure]) -> ControlReport {
    let why: Vec<&str> = exposures
        .iter()
        .filter(|exposure| exposure.control == report.control)
        .map(|exposure| exposure.why.as_str())
        .collect();
    if why.is_empty() {
        return report;
    }
    let why = why.join("; ");
    let enforcement = match report.enforcement {
        Enforcement::Enforced { mechanism } => Enforcement::PartiallyEnforced { mechanism, reason: why },
        Enforcement::PartiallyEnforced { mechanism, reason } => {
            Enforcement::PartiallyEnforced { mechanism, reason: format!("{reason}; {why}") }
        }
        nothing @ Enforcement::NotEnforced { .. } => nothing,
    };
    ControlReport { control: report.control, enforcement }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::WriteRule;

    fn report(enforcement: Enforcement) -> ControlReport {
        ControlReport { control: Control::Credentials, enforcement }
    }

    #[test]
    fn files_are_exposed_in_the_same_words_by_whichever_rule() {
        let mut asked = SandboxPolicy { read: vec![b"/opt/x".to_vec()], ..SandboxPolicy::default() };
        asked.files.write = vec![WriteRule::discarding(b"/opt/x".to_vec())];
        asked.reuse_inputs = ["/opt/x", "/opt/x:rw"]
            .map(|value| ReuseInput { kind: ReuseKind::Path, value: value.to_owned(), digest: None })
            .to_vec();
        let exposures = exposures(&asked);
        let what: Vec<&str> = exposures.iter().map(|exposure| exposure.what.as_str()).collect();
        assert_eq!(what, ["filesystem.read=/opt/x", "filesystem.write=/opt/x", "path=/opt/x", "path=/opt/x:rw"]);
        for Exposure { control, why, .. } in exposures {
            assert_eq!(
                (control, why.as_str()),
                (Control::Credentials, "the workload reads whatever secrets are in /opt/x")
            );
        }
    }

    #[test]
    fn what_is_exposed_takes_from_its_own_control_alone_and_never_adds() {
        let input = ReuseInput { kind: ReuseKind::EnvVar, value: "API_TOKEN".to_owned(), digest: None };
        let asked = SandboxPolicy { reuse_inputs: vec![input], ..SandboxPolicy::default() };
        let exposures = exposures(&asked);
        let why = "the workload has the value of API_TOKEN, by its name a secret";
        assert_eq!((exposures[0].control, exposures[0].why.as_str()), (Control::Credentials, why));
        let held = Enforcement::Enforced { mechanism: "private HOME".to_owned() };
        let partially = |reason: &str| Enforcement::PartiallyEnforced {
            mechanism: "private HOME".to_owned(),
            reason: reason.to_owned(),
        };
        assert_eq!(weakened(report(held.clone()), &exposures), report(partially(why)));
        assert_eq!(weakened(report(partially("x")), &exposures), report(partially(&format!("x; {why}"))));
        let nothing = report(Enforcement::NotEnforced { reason: "host".to_owned() });
        assert_eq!(weakened(nothing.clone(), &exposures), nothing);
        let other = ControlReport { control: Control::Network, enforcement: held };
        assert_eq!(weakened(other.clone(), &exposures), other);
    }
}
