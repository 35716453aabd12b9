//! Whether the policy of a project is trusted.

use super::YamlPolicySource;
use crate::policy_pins::FsPolicyPins;
use isobox_domain::escape::Escaped;
use isobox_domain::fact::{Fact, PolicyTrust};
use isobox_ports::{HostProbe, PolicyPins, PolicySource};
use std::path::PathBuf;

/// Looks whether this user trusts the policy of a project. A policy that is missing or wrong is another probe's to tell.
#[derive(Clone, Debug)]
pub struct PolicyTrustProbe {
    source: YamlPolicySource,
    pins: FsPolicyPins,
    common_dir: PathBuf,
}

impl PolicyTrustProbe {
    /// For the policy in `source`, of the repository with the common Git directory `common_dir`.
    pub const fn new(source: YamlPolicySource, pins: FsPolicyPins, common_dir: PathBuf) -> Self {
        Self { source, pins, common_dir }
    }
}

impl HostProbe for PolicyTrustProbe {
    fn facts(&self) -> Vec<Fact> {
        let Ok(Some(file)) = self.source.read() else { return Vec::new() };
        let is_trusted = self.pins.load(&self.common_dir).contains(&file.digest);
        let trust = if is_trusted { PolicyTrust::Given } else { PolicyTrust::Missing };
        vec![Fact::PolicyTrust(Escaped::path(&self.source.host_path()).to_string(), trust)]
    }
}
