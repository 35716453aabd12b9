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
        let Some(effect) = beyond.iter().find(|effect| effect.key == what.key()) else { continue };
        if !allowed(what) && !is_by_name(what) {
            return Err(refused(what, effect));
        }
        asked.sandbox.unsafe_overrides.push(what);
        weaker.push(effect.clone());
    }
    Ok(weaker)
}

fn refused(what: UnsafeOverride, Effect { key, value, was }: &Effect) -> Failure {
    let (flag, word) = (what.weakening_flag(), what.flag());
    let file = was.as_ref().map(ToString::to_string).unwrap_or_default();
    let message =
        format!("`{flag} {value}` is weaker than the project's policy, where `{key}` is {file}; nothing was started");
    Failure::new(FailureKind::Policy, message)
        .with_hint(format!("leave it out, or add {word}: it holds for this session alone, and is recorded"))
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn what_is_stronger_or_the_same_needs_none_and_is_not_noted() {
        let mut asked = open();
        asked.sandbox.workspace = WorkspaceExposure::ReadOnly;
        assert_eq!(note(&mut asked, &open(), &|_| false).expect("it is no weaker"), []);
        assert_eq!(asked.sandbox.unsafe_overrides, []);
    }
}
