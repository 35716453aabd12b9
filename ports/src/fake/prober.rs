//! A Prober that tells what it was made with.

use crate::{Exposed, ProbeError, Prober, RuntimeBackend};
use isobox_domain::enforcement::Control;
use isobox_domain::policy::EffectivePolicy;
use isobox_domain::probe::{ProbeOutcome, ProbeResult};

/// Attacks nothing: every control but the limits is said to have held, unless an attack is said to get through it.
#[derive(Clone, Debug, Default)]
pub struct ScriptedProber(Vec<Control>);

impl ScriptedProber {
    /// One whose attack on `control` gets through.
    pub fn getting_through(control: Control) -> Self {
        Self(vec![control])
    }
}

impl Prober for ScriptedProber {
    fn probe(&self, _: &dyn RuntimeBackend, _: &EffectivePolicy, _: &Exposed) -> Result<Vec<ProbeResult>, ProbeError> {
        let attacked = Control::ALL.into_iter().filter(|control| *control != Control::Limits);
        let result = |control| ProbeResult {
            control,
            tried: "pass".to_owned(),
            outcome: match self.0.contains(&control) {
                true => ProbeOutcome::GotThrough("nobody stood in the way".to_owned()),
                false => ProbeOutcome::Held("there is nothing to get to".to_owned()),
            },
        };
        Ok(attacked.map(result).collect())
    }
}
