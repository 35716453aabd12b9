//! Where one policy allows more than another one.

use super::read::contains;
use super::{BackendChoice, BackendName, Effect, ProjectPolicy, ReuseInput, WriteRule, WrittenPolicy};

/// It contains nothing: everything is within it.
const HOST: BackendChoice = BackendChoice::Named(BackendName::Host);

impl ProjectPolicy {
    /// Where this policy would let a workload do more than `trusted` lets it, with the value of either. The paths of both
    /// are resolved.
    pub fn beyond(&self, trusted: &Self) -> Vec<Effect> {
        let (own, known) = (&self.sandbox, &trusted.sandbox);
        let ceiling = WrittenPolicy {
            backend: Some(known.backend),
            path_mode: Some(known.path_mode),
            network: Some(known.network),
            workspace: Some(known.workspace),
            require: Some(known.require.clone()),
            limits: known.limits,
            ..WrittenPolicy::default()
        };
        let mut keys: Vec<&str> = ceiling.narrow(&mut self.clone()).into_iter().map(|widening| widening.key).collect();
        // Where a backend was chosen, `auto` may take a weaker one.
        if own.backend == BackendChoice::Auto && !matches!(known.backend, BackendChoice::Auto | HOST) {
            keys.push("runtime_backend");
        }
        if !own.network_allow.iter().all(|rule| known.network_allow.contains(rule)) {
            keys.push("network.allow");
        }
        if !own.read.iter().all(|path| known.read.iter().any(|shown| contains(shown, path))) {
            keys.push("filesystem.read");
        }
        let is_known = |input: &ReuseInput| {
            known.reuse_inputs.iter().any(|known| (known.kind, &known.value) == (input.kind, &input.value))
        };
        if !own.reuse_inputs.iter().all(is_known) {
            keys.push("reuse_inputs");
        }
        if !own.caches.iter().all(|cache| known.caches.contains(cache)) {
            keys.push("caches");
        }
        if !own.files.unsafe_shown.iter().all(|path| known.files.unsafe_shown.contains(path)) {
            keys.push("filesystem.read");
        }
        let is_written = |rule: &WriteRule| known.files.write.iter().any(|known| contains(&known.path, &rule.path));
        if !own.files.write.iter().all(is_written) {
            keys.push("filesystem.write");
        }
        if !known.files.hide.iter().all(|rule| own.files.hide.contains(rule)) {
            keys.push("filesystem.hide");
        }
        if !known.files.protected.iter().all(|path| own.files.protected.contains(path)) {
            keys.push("workspace.protected");
        }
        let values = self.values().into_iter().zip(trusted.values());
        let wider = values.filter(|((key, _), _)| keys.contains(key));
        wider.map(|((key, value), (_, now))| Effect { key, value, was: Some(now) }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::ContentId;
    use crate::policy::{DependencyCache, HideRule, NetworkAccess, PathMode, ReuseKind, WorkspaceExposure};
    use crate::repo_path::RepoPath;

    fn keys(asked: &ProjectPolicy, trusted: &ProjectPolicy) -> Vec<&'static str> {
        asked.beyond(trusted).into_iter().map(|effect| effect.key).collect()
    }

    fn wide() -> ProjectPolicy {
        let mut wide = ProjectPolicy::default();
        wide.sandbox.backend = BackendChoice::Named(BackendName::Host);
        wide.sandbox.path_mode = PathMode::Inherited;
        wide.sandbox.network = NetworkAccess::Inherited;
        wide.sandbox.network_allow = vec!["crates.io".to_owned()];
        wide.sandbox.read = vec![b"/opt/go".to_vec()];
        wide
    }

    #[test]
    fn to_leave_the_backend_to_isobox_is_more_than_one_that_was_chosen() {
        let (auto, mut chosen) = (ProjectPolicy::default(), ProjectPolicy::default());
        chosen.sandbox.backend = BackendChoice::Named(BackendName::Bubblewrap);
        assert_eq!((keys(&auto, &chosen), keys(&chosen, &auto)), (vec!["runtime_backend"], vec![]));
        chosen.sandbox.backend = HOST;
        assert!(keys(&auto, &chosen).is_empty());
    }

    #[test]
    fn every_key_that_lets_a_workload_do_more_is_named() {
        let mut narrow = ProjectPolicy::default();
        narrow.sandbox.workspace = WorkspaceExposure::ReadOnly;
        let expected = [
            "runtime_backend",
            "development_environment.path_mode",
            "network.default",
            "network.allow",
            "filesystem.expose_workspace",
            "filesystem.read",
        ];
        assert_eq!(keys(&wide(), &narrow), expected);
        assert_eq!(keys(&narrow, &wide()), [""; 0]);
        assert_eq!(keys(&wide(), &wide()), [""; 0]);
    }

    #[test]
    fn what_is_no_longer_hidden_or_protected_and_what_is_exposed_besides_is_more() {
        let mut trusted = ProjectPolicy::default();
        trusted.sandbox.files.hide = vec![HideRule::parse("**/.env").expect("a rule")];
        trusted.sandbox.files.protected = vec![RepoPath::parse(&b".github"[..]).expect("a path")];
        let mut asked = ProjectPolicy::default();
        asked.sandbox.files.write = vec![WriteRule::discarding(b"/opt/go".to_vec())];
        let token = ReuseInput { kind: ReuseKind::EnvVar, value: "TOKEN".to_owned(), digest: None };
        asked.sandbox.reuse_inputs = vec![token.clone()];
        asked.sandbox.caches = vec![DependencyCache::Pip];
        let expected = ["filesystem.write", "filesystem.hide", "workspace.protected", "reuse_inputs", "caches"];
        assert_eq!(keys(&asked, &trusted), expected);
        // The value of a variable is not what is trusted.
        let digest = Some(ContentId::new([7; 32]));
        trusted.sandbox.reuse_inputs = vec![token.clone()];
        let mut again = trusted.clone();
        again.sandbox.reuse_inputs = vec![ReuseInput { digest, ..token }];
        assert_eq!(keys(&again, &trusted), [""; 0]);
    }

    #[test]
    fn a_path_in_one_that_is_shown_is_shown_and_one_beside_it_is_not() {
        let (mut asked, trusted) = (wide(), wide());
        asked.sandbox.read = vec![b"/opt/go/bin".to_vec()];
        assert_eq!(keys(&asked, &trusted), [""; 0]);
        for path in [&b"/opt"[..], b"/opt/gopher"] {
            asked.sandbox.read = vec![b"/opt/go".to_vec(), path.to_vec()];
            assert_eq!(keys(&asked, &trusted), ["filesystem.read"]);
        }
    }
}
