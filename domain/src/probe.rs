//! Attacks on the controls of a Sandbox that were tried from inside, and what came of them.

use crate::enforcement::{Control, ControlReport};

/// What came of an attack, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeOutcome {
    /// It was stopped: what the kernel answered.
    Held(String),
    /// It did what it was to do: what that was.
    GotThrough(String),
    /// It could not be tried: why.
    NotTried(String),
}

impl ProbeOutcome {
    /// The name in records and output.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Held(_) => "held",
            Self::GotThrough(_) => "got_through",
            Self::NotTried(_) => "not_tried",
        }
    }

    /// What was answered, what was reached, or why nothing was tried.
    pub fn detail(&self) -> &str {
        match self {
            Self::Held(detail) | Self::GotThrough(detail) | Self::NotTried(detail) => detail,
        }
    }
}

/// One attack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeResult {
    /// The control that it attacks.
    pub control: Control,
    /// What was tried, as the rest of a sentence that begins with "it tried to".
    pub tried: String,
    /// What came of it.
    pub outcome: ProbeOutcome,
}

/// The attacks that got through a control that is said to be enforced.
pub fn contradictions<'a>(
    controls: &'a [ControlReport],
    results: &'a [ProbeResult],
) -> impl Iterator<Item = &'a ProbeResult> {
    let is_enforced =
        |control: Control| controls.iter().any(|report| report.control == control && report.enforcement.is_enforced());
    let got_through = results.iter().filter(|result| matches!(result.outcome, ProbeOutcome::GotThrough(_)));
    got_through.filter(move |result| is_enforced(result.control))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::enforcement::Enforcement;

    #[test]
    fn only_what_got_through_an_enforced_control_contradicts_the_report() {
        let enforced = Enforcement::Enforced { mechanism: "a wall".to_owned() };
        let admitted = Enforcement::NotEnforced { reason: "there is none".to_owned() };
        let controls = [
            ControlReport { control: Control::Network, enforcement: enforced },
            ControlReport { control: Control::Ipc, enforcement: admitted },
        ];
        let tried = |control, outcome| ProbeResult { control, tried: "pass".to_owned(), outcome };
        let results = [
            tried(Control::Network, ProbeOutcome::Held("refused".to_owned())),
            tried(Control::Network, ProbeOutcome::NotTried("no route".to_owned())),
            tried(Control::Network, ProbeOutcome::GotThrough("it answered".to_owned())),
            tried(Control::Ipc, ProbeOutcome::GotThrough("it was there".to_owned())),
        ];
        assert_eq!(contradictions(&controls, &results).collect::<Vec<_>>(), [&results[2]]);
    }
}
