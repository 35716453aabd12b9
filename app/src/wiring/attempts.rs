//! The ports of an attempt, of what is left of one, and of a Promotion.

use super::told_workspaces::ToldWorkspaces;
use super::{Project, Store, clock, open_records, stopwatch};
use crate::failure::{Failure, FailureKind};
use crate::output::console::Console;
use crate::use_case::laps::Laps;
use crate::use_case::{attempt, promote, recover, settle, trusted_policy};
use isobox_domain::promotion::PromotionGate;
use isobox_host::{POLICY_PATH, RandomTaskIds};
use isobox_manifest::Ecosystems;
use isobox_sandbox::{Holders, SandboxProber};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

impl Project {
    /// Hands the ports of an attempt to `act`.
    pub(crate) fn with_attempt_ports<T>(
        &self,
        console: Console,
        store: &Store,
        laps: &Laps<'_>,
        act: impl FnOnce(&attempt::Ports<'_>) -> T,
    ) -> T {
        let variable = |name: &str| std::env::var_os(name);
        act(&attempt::Ports {
            repository: &self.repository,
            workspaces: &self.told_workspaces(console),
            backends: &self.backends.in_order(),
            attempts: store.store(),
            turns: store.store(),
            records: store.store(),
            objects: store.store(),
            views: store.views(),
            clock: clock(),
            stopwatch: stopwatch(),
            task_ids: &RandomTaskIds,
            prober: &SandboxProber,
            caches: &self.dependency_caches(&variable),
            copies: &self.copies,
            laps,
        })
    }

    /// Its Workspaces, whose long operations `console` tells of.
    pub(crate) fn told_workspaces(&self, console: Console) -> ToldWorkspaces<'_> {
        ToldWorkspaces { inner: &self.workspaces, console, headway: self.workspaces.headway() }
    }

    /// The ports of a recovery with these Workspaces.
    pub(crate) fn recover_ports<'a>(
        &'a self,
        store: &'a Store,
        workspaces: &'a ToldWorkspaces<'_>,
    ) -> recover::Ports<'a> {
        recover::Ports {
            workspaces,
            held: &Holders,
            copies: &self.copies,
            attempts: store.store(),
            records: store.store(),
            objects: store.store(),
            views: store.views(),
            clock: clock(),
        }
    }

    /// The ports that settle a killed Promotion.
    pub(crate) fn settle_ports(&self) -> settle::Ports<'_> {
        settle::Ports { repository: &self.repository, open_records: &open_records }
    }

    /// The ports of a Promotion.
    pub(crate) fn promote_ports<'a>(&'a self, store: &'a Store) -> promote::Ports<'a> {
        promote::Ports {
            repository: &self.repository,
            attempts: store.store(),
            records: store.store(),
            objects: store.store(),
            manifests: &Ecosystems,
            views: store.views(),
            clock: clock(),
            open_records: &open_records,
            policy: self,
            verifier: None,
        }
    }

    /// The records directory, as a Promotion's receipt keeps it.
    pub(crate) fn records_directory(&self) -> Vec<u8> {
        self.location.records.as_os_str().as_bytes().to_vec()
    }
}

impl promote::Policing for Project {
    fn gate(&self) -> Result<PromotionGate, Failure> {
        let is_left_out = !self.repository.root().join(POLICY_PATH).exists();
        // A checkout that leaves it out, or lost it, would otherwise ask for less than its commit does.
        if is_left_out && self.repository.has_in_head(Path::new(POLICY_PATH))? {
            let message = format!("the policy that HEAD has is not in the working tree: {POLICY_PATH}");
            return Err(Failure::new(FailureKind::Policy, message).with_hint(format!(
                "`git show HEAD:{POLICY_PATH} > {POLICY_PATH}` brings it back; commit that it is gone if it is to go"
            )));
        }
        self.with_policy_ports(trusted_policy::gate)
    }
}
