//! Finds out whether this machine and project are ready, without changing either.

use isobox_domain::finding::{Finding, findings};
use isobox_ports::HostProbe;

/// What it touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    /// In the order in which a person reads what they find.
    pub(crate) probes: &'a [&'a dyn HostProbe],
}

/// Makes every Doctor Check. What one probe finds can explain what another one does.
pub(crate) fn doctor(ports: &Ports<'_>) -> Vec<Finding> {
    let facts: Vec<_> = ports.probes.iter().flat_map(|probe| probe.facts()).collect();
    findings(&facts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobox_domain::fact::{Fact, Trial};
    use isobox_domain::finding::Severity;

    struct Told(Vec<Fact>);

    impl HostProbe for Told {
        fn facts(&self) -> Vec<Fact> {
            self.0.clone()
        }
    }

    #[test]
    fn what_one_probe_finds_explains_what_another_one_does() {
        let remedy = "run sysctl".to_owned();
        let kernel = Told(vec![Fact::Restriction { setting: "a=1".to_owned(), remedy }]);
        let sandbox = Told(vec![Fact::SandboxStarts(Trial::Fails("no".to_owned()))]);
        let found = doctor(&Ports { probes: &[&sandbox, &kernel] });
        let told: Vec<_> = found.iter().map(|f| (f.check.as_str(), f.severity, f.fix.as_deref())).collect();
        let expected = ["sandbox.starts", "kernel.restriction"];
        assert_eq!(told, expected.map(|check| (check, Severity::Error, Some("run sysctl"))));
    }
}
