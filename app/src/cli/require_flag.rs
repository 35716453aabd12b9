//! What a command line requires besides the policy.

use clap::Args;
use isobox_domain::policy::{Requirement, Requirements};

/// What has to be enforced.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RequireFlag {
    /// Refuse to start unless this is enforced here, besides what the policy requires; repeatable, or with commas between
    /// them (policy key `require`)
    #[arg(long, value_name = "CONTROL", value_delimiter = ',', value_parser = parse_requirement)]
    require: Vec<Requirement>,
}

impl RequireFlag {
    /// Everything that is required.
    pub(crate) fn requirements(&self) -> Requirements {
        self.require.iter().copied().collect()
    }
}

fn parse_requirement(text: &str) -> Result<Requirement, String> {
    let names = || Requirement::all().map(Requirement::name).collect::<Vec<_>>().join(", ");
    Requirement::parse(text).ok_or_else(|| format!("expected one of {}", names()))
}
