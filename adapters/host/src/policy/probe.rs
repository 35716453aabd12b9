//! What is there in place of a project's policy.

use super::YamlPolicySource;
use isobox_domain::escape::Escaped;
use isobox_domain::fact::{Fact, Refused};
use isobox_ports::{HostProbe, PolicyError, PolicySource};

impl HostProbe for YamlPolicySource {
    fn facts(&self) -> Vec<Fact> {
        let shown = Escaped::path(&self.host_path()).to_string();
        vec![match self.load() {
            Ok(Some(policy)) => Fact::Policy(shown, policy.tool_calls),
            Ok(None) => Fact::NoPolicy(shown),
            Err(error) => Fact::BadPolicy(vec![refused(&error)]),
        }]
    }
}

fn refused(error: &PolicyError) -> Refused {
    match error {
        PolicyError::Invalid { excerpt, hint, .. } => {
            let excerpt = excerpt.as_ref().map(|excerpt| format!("\n{excerpt}")).unwrap_or_default();
            Refused { reason: format!("{error}{excerpt}"), hint: hint.clone() }
        }
        PolicyError::Io { source, .. } => Refused { reason: format!("{error}: {source}"), hint: None },
    }
}
