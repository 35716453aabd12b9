//! Finds out whether this machine and project are ready, without changing either.

use crate::failure::{Failure, FailureKind, one_line};
use crate::use_case::attempt::choose;
use isobox_domain::fact::Fact;
use isobox_domain::finding::{Finding, findings};
use isobox_domain::policy::SandboxPolicy;
use isobox_ports::{Exposed, HostProbe, Prober, RuntimeBackend};

/// What it touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    /// In the order in which a person reads what they find.
    pub(crate) probes: &'a [&'a dyn HostProbe],
    /// What attacks a Sandbox from inside, if that is asked for.
    pub(crate) attack: Option<Attack<'a>>,
}

/// What a policy exposes of this host, its paths resolved in place; the error says what is wrong with one.
pub(crate) type Expose<'a> = dyn Fn(&mut SandboxPolicy) -> Result<Exposed, Failure> + 'a;

/// What it takes to attack a Sandbox.
#[derive(Clone, Copy)]
pub(crate) struct Attack<'a> {
    /// In order of preference.
    pub(crate) backends: &'a [&'a dyn RuntimeBackend],
    pub(crate) prober: &'a dyn Prober,
    /// What a policy exposes.
    pub(crate) expose: &'a Expose<'a>,
}

/// Makes every Doctor Check. What one probe finds can explain what another one does.
pub(crate) fn doctor(ports: &Ports<'_>) -> Vec<Finding> {
    let mut facts: Vec<_> = ports.probes.iter().flat_map(|probe| probe.facts()).collect();
    if let Some(attack) = &ports.attack {
        let asked = facts.iter().find_map(|fact| match fact {
            Fact::Asked(asked) => Some((**asked).clone()),
            _ => None,
        });
        let probed = probe(attack, asked.unwrap_or_default());
        facts.push(probed.unwrap_or_else(|failure| Fact::NotProbed(one_line(&failure))));
    }
    findings(&facts)
}

/// Attacks a Sandbox as it was asked for.
fn probe(attack: &Attack<'_>, mut asked: SandboxPolicy) -> Result<Fact, Failure> {
    let exposed = (attack.expose)(&mut asked)?;
    let (backend, policy) = choose(attack.backends, &asked)?;
    let results = attack.prober.probe(backend, &policy, &exposed);
    let results = results.map_err(|error| Failure::new(FailureKind::General, one_line(&error)))?;
    Ok(Fact::Probed(policy.controls, results))
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobox_domain::enforcement::Control;
    use isobox_domain::fact::Trial;
    use isobox_domain::finding::Severity;
    use isobox_ports::fake::{Performance, ScriptedBackend, ScriptedProber};

    struct Told(Vec<Fact>);

    impl HostProbe for Told {
        fn facts(&self) -> Vec<Fact> {
            self.0.clone()
        }
    }

    #[test]
    fn a_sandbox_is_attacked_as_the_policy_asks_for_it() {
        let backend = ScriptedBackend::new(|_| Performance::exiting(0));
        let told = Told(vec![Fact::Asked(Box::default())]);
        let found = |prober: &dyn Prober| {
            let attack = Attack { backends: &[&backend], prober, expose: &|_| Ok(Exposed::default()) };
            let found = doctor(&Ports { probes: &[&told], attack: Some(attack) });
            found.into_iter().filter(|finding| finding.check.starts_with("probe")).collect::<Vec<_>>()
        };
        let held = found(&ScriptedProber::default());
        assert!(held.len() > 5 && held.iter().all(|finding| finding.severity == Severity::Ok), "{held:?}");
        let broken = found(&ScriptedProber::getting_through(Control::Ipc));
        let errors: Vec<_> = broken.iter().filter(|finding| finding.severity == Severity::Error).collect();
        assert_eq!(errors.iter().map(|finding| finding.check.as_str()).collect::<Vec<_>>(), ["probe.ipc"]);
    }

    #[test]
    fn what_one_probe_finds_explains_what_another_one_does() {
        let remedy = "run sysctl".to_owned();
        let kernel = Told(vec![Fact::Restriction { setting: "a=1".to_owned(), remedy }]);
        let sandbox = Told(vec![Fact::SandboxStarts(Trial::Fails("no".to_owned()))]);
        let found = doctor(&Ports { probes: &[&sandbox, &kernel], attack: None });
        let told: Vec<_> = found.iter().map(|f| (f.check.as_str(), f.severity, f.fix.as_deref())).collect();
        let expected = ["sandbox.starts", "kernel.restriction"];
        assert_eq!(told, expected.map(|check| (check, Severity::Error, Some("run sysctl"))));
    }
}
