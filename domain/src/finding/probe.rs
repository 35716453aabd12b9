//! Findings about attacks from inside a Sandbox: whether what is called enforced holds.

use super::Finding;
use crate::enforcement::{ControlReport, Enforcement};
use crate::fact::Fact;
use crate::probe::{ProbeOutcome, ProbeResult};

/// One finding a control that was attacked, or one that none was.
pub(super) fn judge(fact: &Fact) -> Option<Vec<Finding>> {
    match fact {
        Fact::Probed(controls, results) => {
            Some(controls.iter().filter_map(|report| of_control(report, results)).collect())
        }
        Fact::NotProbed(why) => Some(vec![
            Finding::project("probe", "brought a Sandbox up to attack it from inside", why)
                .warning("whether its controls hold was not tried"),
        ]),
        _ => None,
    }
}

fn of_control(report: &ControlReport, results: &[ProbeResult]) -> Option<Finding> {
    let of_this: Vec<&ProbeResult> = results.iter().filter(|result| result.control == report.control).collect();
    if of_this.is_empty() {
        return None;
    }
    let found: Vec<String> = of_this.iter().map(|result| line(result)).collect();
    let check = format!("probe.{}", report.control.name());
    let finding = Finding::project(check, "attacked the control from inside a Sandbox", found.join("\n"));
    let got_through = of_this.iter().any(|result| matches!(result.outcome, ProbeOutcome::GotThrough(_)));
    Some(match &report.enforcement {
        Enforcement::Enforced { .. } if got_through => finding
            .error("it is called enforced and does not hold here: `run --probe` and `tool --probe` refuse every Task"),
        _ if got_through => {
            finding.warning(format!("it is called {}, and every record says so", report.enforcement.word()))
        }
        _ => finding,
    })
}

fn line(result: &ProbeResult) -> String {
    let word = match result.outcome {
        ProbeOutcome::Held(_) => "held",
        ProbeOutcome::GotThrough(_) => "got through",
        ProbeOutcome::NotTried(_) => "not tried",
    };
    format!("{word}: {} ({})", result.tried, result.outcome.detail())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::enforcement::Control;
    use crate::finding::Severity;

    fn judged(enforcement: Enforcement, outcome: ProbeOutcome) -> Finding {
        let control = Control::Network;
        let result = ProbeResult { control, tried: "pass".to_owned(), outcome };
        let fact = Fact::Probed(vec![ControlReport { control, enforcement }], vec![result]);
        judge(&fact).expect("findings").remove(0)
    }

    #[test]
    fn what_got_through_is_an_error_where_it_is_called_enforced() {
        let enforced = || Enforcement::Enforced { mechanism: "a wall".to_owned() };
        let open = || Enforcement::NotEnforced { reason: "no wall".to_owned() };
        let through = || ProbeOutcome::GotThrough("it was there".to_owned());
        let held = ProbeOutcome::Held("refused".to_owned());
        let finding = judged(enforced(), through());
        assert_eq!((finding.severity, finding.check.as_str()), (Severity::Error, "probe.network"));
        assert_eq!(finding.found, "got through: pass (it was there)");
        assert_eq!(judged(open(), through()).severity, Severity::Warning);
        assert_eq!(judged(enforced(), held).severity, Severity::Ok);
        assert_eq!(judged(enforced(), ProbeOutcome::NotTried("why".to_owned())).severity, Severity::Ok);
    }
}
