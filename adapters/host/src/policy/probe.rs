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
            Err(error) => Fact::BadPolicy(mistakes(&error)),
        }]
    }
}

fn mistakes(error: &PolicyError) -> Vec<Refused> {
    match error {
        PolicyError::Invalid { excerpt, hint, further, .. } => {
            let excerpt = excerpt.as_ref().map(|excerpt| format!("\n{excerpt}")).unwrap_or_default();
            let first = Refused { reason: format!("{error}{excerpt}"), hint: hint.as_deref().map(str::to_owned) };
            let further = further.iter().map(|reason| Refused { reason: reason.clone(), hint: None });
            std::iter::once(first).chain(further).collect()
        }
        PolicyError::Io { source, .. } => vec![Refused { reason: format!("{error}: {source}"), hint: None }],
    }
}
