//! What a command line weakens of a project's policy: each by a flag that says so, or not at all.

use crate::failure::{Failure, FailureKind};
use isobox_domain::policy::{BackendChoice, Effect, ProjectPolicy, UnsafeOverride};

/// Notes in `asked` which keys are weaker there than in `file`, the project's policy; all of them must be `allowed`.
///
/// What is named one by one, such as a path that is shown, is as explicit as can be, and asks for no other word. Neither
/// does `host` where the project leaves the backend to isobox: it is taken only where it is asked for by name.
pub(crate) fn note(
    asked: &mut ProjectPolicy,
    file: &ProjectPolicy,
    allowed: &dyn Fn(UnsafeOverride) -> bool,
) -> Result<Vec<Effect>, Failure> {
    let beyond = asked.beyond(file);
    let is_by_name = |what| what == UnsafeOverride::Backend && file.sandbox.backend == BackendChoice::Auto;
    let mut weaker = Vec::new();
    for what in UnsafeOverride::ALL {
        let of_this: Vec<_> = beyond.iter().filter(|effect| what.is_about(effect.key)).cloned().collect();
        let Some(first) = of_this.first() else { continue };
        if !allowed(what) && !is_by_name(what) {
            return Err(refused(what, first));
        }
        asked.sandbox.unsafe_overrides.push(what);
        weaker.extend(of_this);
    }
    Ok(weaker)
}

fn refused(what: UnsafeOverride, Effect { key, value, was }: &Effect) -> Failure {
    let (typed, word) = (what.as_typed(key, value), what.flag());
    let file = was.as_ref().map(ToString::to_string).unwrap_or_default();
    let message =
        format!("`{typed}` is weaker than the project's policy, where `{key}` is {file}; nothing was started");
    Failure::new(FailureKind::Policy, message)
        .with_hint(format!("leave it out, or add {word}: it holds for this session alone, and is recorded"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobox_domain::limit::{Limit, Limits};
    use isobox_domain::policy::{BackendName, NetworkAccess, WorkspaceExposure};

    fn open() -> ProjectPolicy {
        let mut open = ProjectPolicy::default();
        open.sandbox.network = NetworkAccess::Inherited;
        open.sandbox.read = vec![b"/opt/go".to_vec()];
        open
    }

    #[test]
    fn what_is_weaker_needs_its_own_word_and_is_noted() {
        let refused = note(&mut open(), &ProjectPolicy::default(), &|_| false).expect_err("a refusal");
        let message = "`--network inherited` is weaker than the project's policy, where `network.default` is deny; nothing \
                       was started";
        assert_eq!(refused.to_string(), message);
        let other = note(&mut open(), &ProjectPolicy::default(), &|what| what != UnsafeOverride::Network);
        assert!(other.is_err());
        let mut asked = open();
        let weaker = note(&mut asked, &ProjectPolicy::default(), &|_| true).expect("it is meant");
        assert_eq!(asked.sandbox.unsafe_overrides, [UnsafeOverride::Network]);
        assert_eq!(weaker.len(), 1);
    }

    #[test]
    fn host_is_asked_for_by_its_name_unless_the_project_names_another_backend() {
        let host = || {
            let mut asked = ProjectPolicy::default();
            asked.sandbox.backend = BackendChoice::Named(BackendName::Host);
            asked
        };
        let mut asked = host();
        note(&mut asked, &ProjectPolicy::default(), &|_| false).expect("it is asked for by name");
        assert_eq!(asked.sandbox.unsafe_overrides, [UnsafeOverride::Backend]);
        let mut contained = ProjectPolicy::default();
        contained.sandbox.backend = BackendChoice::Named(BackendName::Bubblewrap);
        note(&mut host(), &contained, &|_| false).expect_err("a refusal");
    }

    #[test]
    fn any_limit_may_be_lower_and_none_higher_without_a_word() {
        let limited = |memory, time| {
            let mut policy = ProjectPolicy::default();
            policy.sandbox.limits = Limits::NONE.with(Limit::Memory, memory).with(Limit::Time, time);
            policy
        };
        let file = limited(Some(1 << 30), Some(60_000));
        for mut stronger in [limited(Some(1 << 29), Some(60_000)), file.clone()] {
            assert_eq!(note(&mut stronger, &file, &|_| false).expect("it is no weaker"), []);
        }
        let mut wider = limited(None, Some(61_000));
        let refused = note(&mut wider, &file, &|what| what != UnsafeOverride::Limits).expect_err("a refusal");
        let message = "`--limit time=61s` is weaker than the project's policy, where `limits.time` is 1m; nothing was \
                       started";
        assert_eq!(refused.to_string(), message);
        let weaker = note(&mut wider, &file, &|what| what == UnsafeOverride::Limits).expect("it is meant");
        assert_eq!(weaker.iter().map(|effect| effect.key).collect::<Vec<_>>(), ["limits.time", "limits.memory"]);
        assert_eq!(wider.sandbox.unsafe_overrides, [UnsafeOverride::Limits]);
    }

    #[test]
    fn what_is_stronger_or_the_same_needs_none_and_is_not_noted() {
        let mut asked = open();
        asked.sandbox.workspace = WorkspaceExposure::ReadOnly;
        assert_eq!(note(&mut asked, &open(), &|_| false).expect("it is no weaker"), []);
        assert_eq!(asked.sandbox.unsafe_overrides, []);
    }
}
