//! What holds of a project's policy under the user's own, and where each value comes from.

use crate::failure::{Failure, FailureKind};
use isobox_domain::limit::Limit;
use isobox_domain::policy::{ProjectPolicy, Value, Widening, WrittenPolicy};
use isobox_ports::PolicySource;

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The project's file.
    Project,
    /// The user's file narrowed it.
    User,
    /// Nobody wrote it: it is the most restrictive value.
    Default,
}

/// A key, its value as a policy file would have it, and where that comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PolicyValue {
    pub(crate) key: &'static str,
    pub(crate) value: String,
    pub(crate) origin: Origin,
    /// What the project asks for, where the user's own policy narrowed it.
    pub(crate) narrowed: Option<String>,
}

/// Every key with the value that holds of what is `written` for a project, under the user's own policy.
pub(crate) fn values(written: &WrittenPolicy, ceiling: &WrittenPolicy) -> Vec<PolicyValue> {
    let mut policy = written.clone().resolved();
    let asked = policy.values();
    // `auto` is narrowed to a backend without being wider: values are compared, not what was too wide.
    ceiling.narrow(&mut policy);
    let of = |(key, value): (&'static str, Value)| {
        let origin = match () {
            () if !asked.contains(&(key, value.clone())) => Origin::User,
            () if is_written(written, key) => Origin::Project,
            () => Origin::Default,
        };
        let before = asked.iter().find(|(name, _)| *name == key).map(|(_, before)| before.to_string());
        let narrowed = before.filter(|_| origin == Origin::User);
        PolicyValue { key, value: value.to_string(), origin, narrowed }
    };
    policy.values().into_iter().map(of).collect()
}

/// What is written for a project, key by key.
pub(crate) fn written(written: &WrittenPolicy) -> Vec<PolicyValue> {
    let values = written.clone().resolved().values().into_iter();
    let of = |(key, value): (_, Value)| PolicyValue {
        key,
        value: value.to_string(),
        origin: Origin::Project,
        narrowed: None,
    };
    values.filter(|(key, _)| is_written(written, key)).map(of).collect()
}

/// Refuses what the command line asks for beyond the user's own policy: it was typed on purpose, so that another value
/// in its place would surprise. Only `auto`, which asks for no backend in particular, becomes the one that the user chose.
pub(crate) fn require_within(user: &dyn PolicySource, policy: &mut ProjectPolicy) -> Result<(), Failure> {
    let mut within = policy.clone();
    let widened = user.written()?.unwrap_or_default().narrow(&mut within);
    match widened.first() {
        None => {
            policy.sandbox.backend = within.sandbox.backend;
            Ok(())
        }
        Some(Widening { key }) => {
            let what = format!("your own policy allows less than this command line asks for: `{key}`");
            Err(Failure::new(FailureKind::Policy, what).with_hint(
                "leave the flag out, or change your own policy; `isobox policy show --effective` shows both",
            ))
        }
    }
}

fn is_written(written: &WrittenPolicy, key: &str) -> bool {
    match key {
        "tool_call.enabled" => written.tool_calls.is_some(),
        "runtime_backend" => written.backend.is_some(),
        "development_environment.path_mode" => written.path_mode.is_some(),
        "network.default" => written.network.is_some(),
        "network.allow" => written.network_allow.is_some(),
        "filesystem.expose_workspace" => written.workspace.is_some(),
        "filesystem.read" => written.read.is_some(),
        "require" => written.require.is_some(),
        "filesystem.write" => written.write.is_some(),
        "filesystem.hide" => written.hide.is_some(),
        "workspace.protected" => written.protected.is_some(),
        "reuse_inputs" => written.reuse_inputs.is_some(),
        "caches" => written.caches.is_some(),
        "preflight.rules" => written.preflight.is_some(),
        "records.views" => written.views.is_some(),
        "promotion.require" => written.promotion_require.is_some(),
        "promotion.block" => written.promotion_block.is_some(),
        "verification.commands" => written.verification.is_some(),
        "tasks.max" => written.tasks.is_some(),
        key => Limit::ALL.iter().any(|limit| limit.key() == key && written.limits.of(*limit).is_some()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobox_domain::content::ContentId;
    use isobox_domain::policy::{BackendChoice, BackendName, NetworkAccess, ToolCalls};
    use isobox_ports::{PolicyError, PolicyFile};

    struct Written(Option<WrittenPolicy>);

    impl PolicySource for Written {
        fn read(&self) -> Result<Option<PolicyFile>, PolicyError> {
            Ok(self.0.clone().map(|written| PolicyFile {
                digest: ContentId::new([0; 32]),
                written,
                places: Vec::new(),
            }))
        }
    }

    #[test]
    fn each_value_is_told_with_where_it_comes_from() {
        let project = WrittenPolicy {
            tool_calls: Some(ToolCalls::Enabled),
            network: Some(NetworkAccess::Inherited),
            ..WrittenPolicy::default()
        };
        let user = WrittenPolicy { network: Some(NetworkAccess::Deny), ..WrittenPolicy::default() };
        let values = values(&project, &user);
        let narrowed =
            values.iter().find(|value| value.key == "network.default").and_then(|value| value.narrowed.clone());
        assert_eq!(narrowed.as_deref(), Some("inherited"));
        let of = |key: &str| {
            let found = values.iter().find(|value| value.key == key).expect("the key");
            (found.value.clone(), found.origin)
        };
        assert_eq!(of("tool_call.enabled"), ("true".to_owned(), Origin::Project));
        assert_eq!(of("network.default"), ("deny".to_owned(), Origin::User));
        assert_eq!(of("runtime_backend"), ("auto".to_owned(), Origin::Default));
    }

    #[test]
    fn a_backend_that_the_user_chose_for_auto_is_the_users() {
        let chosen = BackendChoice::Named(BackendName::Bubblewrap);
        let user = WrittenPolicy { backend: Some(chosen), ..WrittenPolicy::default() };
        for (asked, origin) in
            [(Some(BackendChoice::Auto), Origin::User), (None, Origin::User), (Some(chosen), Origin::Project)]
        {
            let values = values(&WrittenPolicy { backend: asked, ..WrittenPolicy::default() }, &user);
            let found = values.iter().find(|value| value.key == "runtime_backend").expect("the key");
            assert_eq!((found.value.as_str(), found.origin), ("bubblewrap", origin), "{asked:?}");
        }
    }

    #[test]
    fn a_command_line_beyond_the_users_own_policy_is_refused() {
        let user = Written(Some(WrittenPolicy { network: Some(NetworkAccess::Deny), ..WrittenPolicy::default() }));
        let mut asked = ProjectPolicy::default();
        require_within(&user, &mut asked).expect("it is within");
        asked.sandbox.network = NetworkAccess::Inherited;
        let refused = require_within(&user, &mut asked).expect_err("a refusal");
        assert!(refused.to_string().contains("`network.default`"), "{refused}");
    }

    #[test]
    fn no_command_line_gets_past_the_backend_that_the_user_chose() {
        let chosen = BackendChoice::Named(BackendName::Bubblewrap);
        let user = Written(Some(WrittenPolicy { backend: Some(chosen), ..WrittenPolicy::default() }));
        let mut asked = ProjectPolicy::default();
        asked.sandbox.backend = BackendChoice::Auto;
        require_within(&user, &mut asked).expect("it asks for none in particular");
        assert_eq!(asked.sandbox.backend, chosen);
    }
}
