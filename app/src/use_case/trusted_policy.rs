//! The policy of a project, once its user trusts it, as it holds under the user's own.

use crate::failure::Failure;
use isobox_domain::policy::{Effect, ProjectPolicy, TrustedPolicies, ViewLimit};
use isobox_domain::promotion::PromotionGate;
use isobox_ports::{PolicyPins, PolicySource};
use std::path::Path;

/// What it touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    /// The project's policy.
    pub(crate) project: &'a dyn PolicySource,
    /// The user's own, a Ceiling.
    pub(crate) user: &'a dyn PolicySource,
    /// What the user trusts.
    pub(crate) pins: &'a dyn PolicyPins,
}

/// A policy that the user has not trusted yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Untrusted {
    /// What it would do.
    pub(crate) effects: Vec<Effect>,
    /// Whether another one was trusted before.
    pub(crate) novelty: Novelty,
}

/// Whether a policy of a project was trusted before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Novelty {
    /// None was.
    First,
    /// Another one was.
    Changed,
}

/// Puts a policy to whoever can trust it. A failure says no, and nothing is kept.
pub(crate) type Ask<'a> = &'a mut dyn FnMut(&Untrusted) -> Result<(), Failure>;

/// The policy of the project with the common Git directory `host_path`; `None` where it has none.
///
/// The file is read once: what is asked about is what is pinned and used. A policy that is pinned asks nobody.
pub(crate) fn load(ports: &Ports<'_>, host_path: &Path, ask: Ask<'_>) -> Result<Option<ProjectPolicy>, Failure> {
    let Some(file) = ports.project.read()? else { return Ok(None) };
    let mut policy = file.written.resolved();
    let trusted = ports.pins.load(host_path);
    if !trusted.contains(&file.digest) {
        ask(&untrusted(&trusted, &policy))?;
        // Somebody may have changed what is trusted while the question was open.
        ports.pins.change(host_path, &mut |trusted| trusted.with(file.digest, &policy))?;
    }
    // Which keys were narrowed is told by whoever is asked for the Effective Policy.
    ports.user.written()?.unwrap_or_default().narrow(&mut policy);
    Ok(Some(policy))
}

fn untrusted(trusted: &TrustedPolicies, policy: &ProjectPolicy) -> Untrusted {
    let novelty = if trusted.digests().is_empty() { Novelty::First } else { Novelty::Changed };
    Untrusted { effects: trusted.effects(policy), novelty }
}

/// How many Views are kept, for what looks at no more of a policy. One that is not trusted or cannot be read removes none.
pub(crate) fn views(ports: &Ports<'_>, host_path: &Path) -> ViewLimit {
    let refuse = &mut |_: &Untrusted| Err(Failure::new(crate::failure::FailureKind::Policy, "it is not trusted"));
    match load(ports, host_path, refuse) {
        Ok(policy) => policy.unwrap_or_default().views,
        Err(_) => ViewLimit::All,
    }
}

/// What is asked of every Promotion. A policy that is not trusted counts as well: all that it can do here is keep more out.
pub(crate) fn gate(ports: &Ports<'_>) -> Result<PromotionGate, Failure> {
    let file = ports.project.read()?;
    let mut policy = file.map_or_else(ProjectPolicy::default, |file| file.written.resolved());
    ports.user.written()?.unwrap_or_default().narrow(&mut policy);
    Ok(policy.promotion)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::FailureKind;
    use isobox_domain::content::ContentId;
    use isobox_domain::policy::{NetworkAccess, ToolCalls, WrittenPolicy};
    use isobox_ports::fake::InMemoryPolicyPins;
    use isobox_ports::{PolicyError, PolicyFile};

    /// A file with this digest that enables tool calls and opens the network, or none.
    struct Written(Option<u8>);

    impl PolicySource for Written {
        fn read(&self) -> Result<Option<PolicyFile>, PolicyError> {
            let written = WrittenPolicy {
                tool_calls: Some(ToolCalls::Enabled),
                network: Some(NetworkAccess::Inherited),
                views: Some(ViewLimit::Newest(0)),
                ..WrittenPolicy::default()
            };
            Ok(self.0.map(|number| PolicyFile { digest: ContentId::new([number; 32]), written, places: Vec::new() }))
        }
    }

    /// A user's own policy that keeps the network shut.
    struct Shut;

    impl PolicySource for Shut {
        fn read(&self) -> Result<Option<PolicyFile>, PolicyError> {
            let written = WrittenPolicy { network: Some(NetworkAccess::Deny), ..WrittenPolicy::default() };
            Ok(Some(PolicyFile { digest: ContentId::new([0; 32]), written, places: Vec::new() }))
        }
    }

    fn here() -> &'static Path {
        Path::new("/home/ana/app/.git")
    }

    /// Loads the policy `project`; what it was asked about.
    fn asked(pins: &InMemoryPolicyPins, project: Option<u8>, answer: Result<(), ()>) -> (bool, Vec<Untrusted>) {
        let (project, mut asked) = (Written(project), Vec::new());
        let ports = Ports { project: &project, user: &Shut, pins };
        let loaded = load(&ports, here(), &mut |untrusted| {
            asked.push(untrusted.clone());
            answer.map_err(|()| Failure::new(FailureKind::Policy, "no"))
        });
        (loaded.is_ok(), asked)
    }

    #[test]
    fn a_policy_is_asked_about_once_and_another_one_anew() {
        let pins = InMemoryPolicyPins::default();
        let (is_loaded, questions) = asked(&pins, Some(1), Ok(()));
        assert_eq!((is_loaded, questions.len(), questions[0].novelty), (true, 1, Novelty::First));
        let keys: Vec<_> = questions[0].effects.iter().map(|effect| effect.key).collect();
        assert_eq!(keys, ["records.views", "tool_call.enabled", "network.default"]);
        assert_eq!(asked(&pins, Some(1), Err(())), (true, Vec::new()));
        let (is_loaded, questions) = asked(&pins, Some(2), Err(()));
        assert_eq!((is_loaded, questions.len(), questions[0].novelty), (false, 1, Novelty::Changed));
        assert_eq!(asked(&pins, Some(1), Err(())), (true, Vec::new()));
    }

    #[test]
    fn a_no_pins_nothing() {
        let pins = InMemoryPolicyPins::default();
        assert!(!asked(&pins, Some(1), Err(())).0);
        assert_eq!(pins.load(here()), TrustedPolicies::default());
    }

    #[test]
    fn a_project_without_a_policy_asks_nobody() {
        assert_eq!(asked(&InMemoryPolicyPins::default(), None, Err(())), (true, Vec::new()));
    }

    #[test]
    fn what_is_trusted_is_still_narrowed_by_the_users_own() {
        let pins = InMemoryPolicyPins::default();
        let ports = Ports { project: &Written(Some(1)), user: &Shut, pins: &pins };
        let policy = load(&ports, here(), &mut |_| Ok(())).expect("trusted").expect("a policy");
        assert_eq!(policy.sandbox.network, NetworkAccess::Deny);
    }

    #[test]
    fn a_policy_that_is_not_trusted_removes_no_view() {
        let pins = InMemoryPolicyPins::default();
        let ports = Ports { project: &Written(Some(1)), user: &Shut, pins: &pins };
        assert_eq!(views(&ports, here()), ViewLimit::All);
        load(&ports, here(), &mut |_| Ok(())).expect("trusted");
        assert_eq!(views(&ports, here()), ViewLimit::Newest(0));
        let none = Ports { project: &Written(None), ..ports };
        assert_eq!(views(&none, here()), ViewLimit::default());
    }
}
