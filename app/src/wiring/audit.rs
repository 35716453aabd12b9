//! The adapters behind the transparency log and its keys.

use super::{Directories, Location, Store, open_store};
use crate::failure::{Failure, FailureKind};
use crate::use_case::audit::{LogProbe, Ports};
use isobox_domain::escape::Escaped;
use isobox_domain::fact::Fact;
use isobox_git::GixRepository;
use isobox_host::FsAuditKeys;
use isobox_ports::{AuditKeys, HostProbe};
use std::fs::File;
use std::io::Read;
use std::path::Path;

impl Store {
    /// Hands the ports of the log to `act`.
    pub(crate) fn with_audit_ports<T>(&self, act: impl FnOnce(&Ports<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
        let own = self.own("audit")?;
        let (name, keys) = (own.log_name(), FsAuditKeys::new(Directories::from_environment()));
        act(&Ports { name: &name, log: own, updates: own, keys: &keys })
    }
}

/// Hands the user's keys to `act`.
pub(crate) fn with_audit_keys<T>(act: impl FnOnce(&dyn AuditKeys) -> T) -> T {
    act(&FsAuditKeys::new(Directories::from_environment()))
}

/// A probe of the log of a project.
pub(super) struct ProjectLogProbe<'a>(pub(super) &'a GixRepository);

impl HostProbe for ProjectLogProbe<'_> {
    fn facts(&self) -> Vec<Fact> {
        let location = Location::of_project(self.0);
        // Without a store there is no log, and what is wrong with one its own probe tells.
        let Ok(store) = open_store(&location.records) else { return Vec::new() };
        Store::new(store, &location).with_audit_ports(|ports| Ok(LogProbe(*ports).facts())).unwrap_or_default()
    }
}

/// What is in a file that the user named, of at most `limit` bytes; one byte more of one that is longer.
pub(crate) fn read_file(path: &Path, limit: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(limit as u64 + 1).read_to_end(&mut bytes));
    match read {
        Ok(_) => Ok(bytes),
        Err(error) => Err(Failure::new(FailureKind::Usage, format!("read {}", Escaped::path(path))).because(error)),
    }
}
