//! What is there in place of a project's policy.

use super::YamlPolicySource;
use isobox_domain::escape::Escaped;
use isobox_domain::fact::Fact;
use isobox_ports::{HostProbe, PolicySource};

impl HostProbe for YamlPolicySource {
    fn facts(&self) -> Vec<Fact> {
        let shown = Escaped::path(&self.host_path()).to_string();
        vec![match self.load() {
            Ok(Some(policy)) => Fact::Policy(shown, policy.tool_calls),
            Ok(None) => Fact::NoPolicy(shown),
            Err(error) => Fact::BadPolicy(error.mistakes()),
        }]
    }
}
