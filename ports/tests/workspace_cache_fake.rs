//! The fake of a cache of pristine copies keeps the contract of its port.

use isobox_domain::git_oid::GitOid;
use isobox_domain::timestamp::Timestamp;
use isobox_ports::contract::workspace_cache::{WorkspaceCacheFixture, cases};
use isobox_ports::fake::InMemoryWorkspaceCache;
use isobox_ports::{CachedCopy, CopySeal, WorkspaceCache};
use libtest_mimic::Arguments;
use std::process::ExitCode;

#[derive(Default)]
struct Fixture {
    cache: InMemoryWorkspaceCache,
}

impl Fixture {
    fn copies(&self) -> Vec<CachedCopy> {
        self.cache.list().expect("memory is read")
    }

    fn change(&self, commit: &GitOid, change: impl Fn(&mut CachedCopy)) {
        let is_of = |copy: &CachedCopy| copy.seal.as_ref().is_some_and(|seal| seal.commit == *commit);
        for mut copy in self.copies().into_iter().filter(is_of) {
            change(&mut copy);
            self.cache.put(copy);
        }
    }
}

impl WorkspaceCacheFixture for Fixture {
    fn cache(&self) -> &dyn WorkspaceCache {
        &self.cache
    }

    fn make(&self) -> GitOid {
        let number = self.copies().len() as u8;
        let commit = GitOid::Sha1([number; 20]);
        let below = self.copies().into_iter().rev().map(|copy| copy.name).collect();
        let seal = CopySeal { source: "/app/.git".into(), commit, branch: None, bytes: 4096, paths: 1, below };
        let used_at = Timestamp::nearest(u64::from(number));
        self.cache.put(CachedCopy { name: format!("app/{number}"), seal: Some(seal), used_at, is_in_use: false });
        commit
    }

    fn hold(&self, commit: &GitOid) {
        self.change(commit, |copy| copy.is_in_use = true);
    }

    fn let_go(&self) {
        for copy in self.copies() {
            self.cache.put(CachedCopy { is_in_use: false, ..copy });
        }
    }

    fn damage(&self, commit: &GitOid) {
        self.change(commit, |copy| copy.seal = None);
    }

    fn remains(&self) -> usize {
        self.copies().len()
    }
}

fn main() -> ExitCode {
    libtest_mimic::run(&Arguments::from_args(), cases("in_memory", Fixture::default)).exit_code()
}
