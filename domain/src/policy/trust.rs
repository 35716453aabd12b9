//! Which policies of a project a user trusts, and what one that is not trusted yet would do.

use super::{ProjectPolicy, Value};
use crate::content::ContentId;
use crate::limit::Limit;

/// The policies that a user trusts in one project, each by the digest of its whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedPolicies {
    digests: Vec<ContentId>,
    values: Vec<(String, Value)>,
}

/// A key of an untrusted policy that is worth a look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The key.
    pub key: &'static str,
    /// The value that would hold.
    pub value: Value,
    /// What the policy that was trusted last has there, where it differs.
    pub was: Option<Value>,
}

impl TrustedPolicies {
    /// Most policies that are kept for a project: branches differ, and who goes back to one is not asked again.
    pub const MOST: usize = 16;

    /// Digests of whole policy files, the one that was trusted last first, and what that one says, if that is known.
    pub fn new(mut digests: Vec<ContentId>, values: Vec<(String, Value)>) -> Self {
        digests.truncate(Self::MOST);
        Self { digests, values }
    }

    /// The digests, the one that was trusted last first; at most [`TrustedPolicies::MOST`].
    pub fn digests(&self) -> &[ContentId] {
        &self.digests
    }

    /// Keys and values of the policy that was trusted last, as [`ProjectPolicy::values`] gives them.
    pub fn values(&self) -> &[(String, Value)] {
        &self.values
    }

    /// Whether the policy file with this digest is trusted.
    pub fn contains(&self, digest: &ContentId) -> bool {
        self.digests.contains(digest)
    }

    /// The same with `policy`, whose file has `digest`, trusted last. What was trusted longest ago may be forgotten.
    #[must_use]
    pub fn with(self, digest: ContentId, policy: &ProjectPolicy) -> Self {
        let others = self.digests.into_iter().filter(|known| *known != digest);
        let digests = std::iter::once(digest).chain(others).collect();
        Self::new(digests, policy.values().into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// What `policy` would do: where it differs from the most restrictive one, or from the one that was trusted last.
    /// What is different from that one comes last, and then whatever weakens a Sandbox most.
    pub fn effects(&self, policy: &ProjectPolicy) -> Vec<Effect> {
        let narrowest = ProjectPolicy::default().values();
        let effect = |((key, value), (_, narrowest)): ((&'static str, Value), (&'static str, Value))| {
            let before = self.values.iter().find(|(known, _)| known == key).map(|(_, before)| before.clone());
            let was = before.filter(|before| *before != value);
            (value != narrowest || was.is_some()).then_some(Effect { key, value, was })
        };
        let mut effects: Vec<Effect> = policy.values().into_iter().zip(narrowest).filter_map(effect).collect();
        effects.sort_by_key(|effect| (effect.was.is_some(), weight(effect.key)));
        effects
    }
}

/// The keys, by how much they can weaken a Sandbox: the last one most.
const BY_WEIGHT: [&str; 30] = [
    Limit::Output.key(),
    Limit::OpenFiles.key(),
    Limit::FileSize.key(),
    Limit::Inodes.key(),
    Limit::Disk.key(),
    Limit::IdleTime.key(),
    Limit::CpuTime.key(),
    Limit::Cpu.key(),
    Limit::Processes.key(),
    Limit::Memory.key(),
    Limit::Time.key(),
    "tasks.max",
    "records.views",
    "promotion.block",
    "promotion.require",
    "verification.commands",
    "preflight.rules",
    "tool_call.enabled",
    "require",
    "workspace.protected",
    "filesystem.hide",
    "filesystem.expose_workspace",
    "development_environment.path_mode",
    "caches",
    "filesystem.write",
    "filesystem.read",
    "reuse_inputs",
    "network.allow",
    "network.default",
    "runtime_backend",
];

fn weight(key: &str) -> Option<usize> {
    BY_WEIGHT.iter().position(|known| *known == key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{NetworkAccess, ToolCalls};

    fn digest(number: u8) -> ContentId {
        ContentId::new([number; 32])
    }

    fn open() -> ProjectPolicy {
        let mut open = ProjectPolicy { tool_calls: ToolCalls::Enabled, ..ProjectPolicy::default() };
        open.sandbox.network = NetworkAccess::Inherited;
        open
    }

    fn shown(effects: Vec<Effect>) -> Vec<(&'static str, String, Option<String>)> {
        let text = |value: Value| value.to_string();
        effects.into_iter().map(|effect| (effect.key, text(effect.value), effect.was.map(text))).collect()
    }

    #[test]
    fn only_what_was_trusted_is_and_the_oldest_is_forgotten() {
        let mut trusted = TrustedPolicies::default();
        assert!(!trusted.contains(&digest(0)));
        for number in 0..=TrustedPolicies::MOST as u8 {
            trusted = trusted.with(digest(number), &open());
        }
        assert!(!trusted.contains(&digest(0)) && trusted.contains(&digest(1)));
        let again = trusted.clone().with(digest(1), &open());
        assert_eq!((again.digests().len(), again.digests()[0]), (TrustedPolicies::MOST, digest(1)));
    }

    #[test]
    fn a_first_policy_shows_what_differs_from_the_narrowest() {
        assert_eq!(TrustedPolicies::default().effects(&ProjectPolicy::default()), []);
        let expected =
            [("tool_call.enabled", "true".to_owned(), None), ("network.default", "inherited".to_owned(), None)];
        assert_eq!(shown(TrustedPolicies::default().effects(&open())), expected);
    }

    #[test]
    fn a_changed_policy_shows_what_it_was_even_where_it_is_narrow_again() {
        let trusted = TrustedPolicies::default().with(digest(1), &open());
        let mut changed = open();
        changed.sandbox.network = NetworkAccess::Deny;
        let expected = [
            ("tool_call.enabled", "true".to_owned(), None),
            ("network.default", "deny".to_owned(), Some("inherited".to_owned())),
        ];
        assert_eq!(shown(trusted.effects(&changed)), expected);
    }
    #[test]
    fn every_key_has_a_weight_and_what_is_different_comes_after_what_is_not() {
        for (key, _) in open().values() {
            assert!(weight(key).is_some(), "{key}");
        }
        let trusted = TrustedPolicies::default().with(digest(1), &open());
        let changed = ProjectPolicy { views: crate::policy::ViewLimit::All, ..open() };
        let keys: Vec<_> = trusted.effects(&changed).into_iter().map(|effect| effect.key).collect();
        assert_eq!(keys, ["tool_call.enabled", "network.default", "records.views"]);
        let keys: Vec<_> = TrustedPolicies::default().effects(&changed).into_iter().map(|effect| effect.key).collect();
        assert_eq!(keys, ["records.views", "tool_call.enabled", "network.default"]);
    }
}
