//! A policy file over another one that it extends.

use super::{HideRule, Requirements, WrittenPolicy};
use crate::limit::{Limit, Limits};
use crate::preflight::PreflightRule;
use crate::repo_path::RepoPath;

impl WrittenPolicy {
    /// This policy over `below`, which it extends.
    ///
    /// A key that is written here takes the place of the one below, as a whole. Of what is required, hidden, protected,
    /// checked and blocked, each policy adds to the other: extending one takes none of that away. `is_written` tells of the keys of this
    /// policy, since a limit that is written as none is as good as one that is not.
    #[must_use]
    pub fn over(self, below: Self, is_written: &dyn Fn(&str) -> bool) -> Self {
        Self {
            tool_calls: self.tool_calls.or(below.tool_calls),
            backend: self.backend.or(below.backend),
            path_mode: self.path_mode.or(below.path_mode),
            network: self.network.or(below.network),
            network_allow: self.network_allow.or(below.network_allow),
            workspace: self.workspace.or(below.workspace),
            read: self.read.or(below.read),
            require: both(self.require, below.require, |own: &mut Requirements, more| {
                own.add(&more);
            }),
            write: self.write.or(below.write),
            hide: both(self.hide, below.hide, add::<HideRule>),
            protected: both(self.protected, below.protected, add::<RepoPath>),
            reuse_inputs: self.reuse_inputs.or(below.reuse_inputs),
            caches: self.caches.or(below.caches),
            preflight: both(self.preflight, below.preflight, |own, more| {
                *own =
                    PreflightRule::ALL.into_iter().filter(|rule| own.contains(rule) || more.contains(rule)).collect();
            }),
            views: self.views.or(below.views),
            tasks: self.tasks.or(below.tasks),
            promotion_require: both(self.promotion_require, below.promotion_require, add),
            promotion_block: both(self.promotion_block, below.promotion_block, add),
            verification: self.verification.or(below.verification),
            limits: limits_over(self.limits, below.limits, is_written),
        }
    }
}

fn limits_over(own: Limits, below: Limits, is_written: &dyn Fn(&str) -> bool) -> Limits {
    let of = |limit: Limit| if is_written(limit.key()) { own.of(limit) } else { below.of(limit) };
    Limit::ALL.into_iter().fold(Limits::NONE, |limits, limit| limits.with(limit, of(limit)))
}

fn both<T>(own: Option<T>, below: Option<T>, add: impl FnOnce(&mut T, T)) -> Option<T> {
    match (own, below) {
        (Some(mut own), Some(below)) => {
            add(&mut own, below);
            Some(own)
        }
        (own, below) => own.or(below),
    }
}

fn add<T: PartialEq>(own: &mut Vec<T>, more: Vec<T>) {
    let missing: Vec<T> = more.into_iter().filter(|one| !own.contains(one)).collect();
    own.extend(missing);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{DependencyCache, NetworkAccess, Requirement};

    fn rule(text: &str) -> HideRule {
        HideRule::parse(text).expect("a rule")
    }

    fn required(names: &[&str]) -> Option<Requirements> {
        Some(names.iter().filter_map(|name| Requirement::parse(name)).collect())
    }

    fn below() -> WrittenPolicy {
        WrittenPolicy {
            network: Some(NetworkAccess::Deny),
            read: Some(vec![b"/opt".to_vec()]),
            caches: Some(vec![DependencyCache::Cargo]),
            require: required(&["network"]),
            hide: Some(vec![rule("**/.env")]),
            preflight: Some(vec![PreflightRule::ALL[0]]),
            limits: Limits::NONE.with(Limit::Time, Some(1000)).with(Limit::Memory, Some(1 << 20)),
            ..WrittenPolicy::default()
        }
    }

    #[test]
    fn what_says_nothing_changes_nothing() {
        assert_eq!(WrittenPolicy::default().over(below(), &|_| false), below());
        assert_eq!(below().over(WrittenPolicy::default(), &|_| true), below());
    }

    #[test]
    fn a_key_takes_the_place_of_the_one_below_and_what_is_stricter_adds_up() {
        let own = WrittenPolicy {
            network: Some(NetworkAccess::Inherited),
            read: Some(Vec::new()),
            require: required(&["ipc"]),
            hide: Some(vec![rule("*.pem"), rule("**/.env")]),
            preflight: Some(Vec::new()),
            limits: Limits::NONE.with(Limit::Memory, Some(2 << 20)),
            ..WrittenPolicy::default()
        };
        // The limit of time is written as none.
        let is_written = |key: &str| ["limits.memory", "limits.time"].contains(&key);
        let merged = own.over(below(), &is_written);
        let expected = WrittenPolicy {
            network: Some(NetworkAccess::Inherited),
            read: Some(Vec::new()),
            require: required(&["network", "ipc"]),
            hide: Some(vec![rule("*.pem"), rule("**/.env")]),
            limits: Limits::NONE.with(Limit::Memory, Some(2 << 20)),
            ..below()
        };
        assert_eq!(merged, expected);
    }
}
