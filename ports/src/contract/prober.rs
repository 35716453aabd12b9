//! Cases of [`Prober`].

use crate::{Exposed, Prober, RuntimeBackend};
use isobox_domain::enforcement::{Control, Enforcement};
use isobox_domain::policy::{BackendChoice, EffectivePolicy, SandboxPolicy, resolve};
use isobox_domain::probe::{ProbeOutcome, ProbeResult, contradictions};
use libtest_mimic::{Failed, Trial};
use std::sync::Arc;

/// A Prober, and a backend whose Sandboxes it attacks.
#[derive(Clone)]
pub struct Subject {
    /// What its cases are called after.
    pub name: &'static str,
    /// The Prober.
    pub prober: Arc<dyn Prober>,
    /// The backend.
    pub backend: Arc<dyn RuntimeBackend>,
}

type Case = fn(&Subject) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("every_control_but_limits_is_attacked", every_control_but_limits_is_attacked),
    ("each_result_says_what_was_tried_and_what_came_of_it", each_result_says_what_was_tried_and_what_came_of_it),
    ("nothing_gets_through_what_is_enforced", nothing_gets_through_what_is_enforced),
    ("what_is_not_enforced_is_got_through", what_is_not_enforced_is_got_through),
];

/// One case as a test of its own per subject. Where a backend cannot be used, they are ignored with the reason.
pub fn cases(subject: &Subject) -> Vec<Trial> {
    let unavailable = subject.backend.capabilities().unavailable;
    let trial = |(name, case): &(&str, Case)| {
        let (title, case, subject) = (format!("{}::{name}", subject.name), *case, subject.clone());
        match &unavailable {
            None => Trial::test(title, move || case(&subject)),
            Some(reason) => Trial::test(format!("{title} ({reason})"), || Ok(())).with_ignored_flag(true),
        }
    };
    CASES.iter().map(trial).collect()
}

fn probed(subject: &Subject) -> Result<(EffectivePolicy, Vec<ProbeResult>), Failed> {
    let backend = &*subject.backend;
    let asked = SandboxPolicy { backend: BackendChoice::Named(backend.name()), ..SandboxPolicy::default() };
    let policy = resolve(&asked, &[backend.capabilities()])?;
    let results = subject.prober.probe(backend, &policy, &Exposed::default())?;
    Ok((policy, results))
}

fn every_control_but_limits_is_attacked(subject: &Subject) -> Result<(), Failed> {
    let (_, results) = probed(subject)?;
    for control in Control::ALL.into_iter().filter(|control| *control != Control::Limits) {
        let is_tried =
            |result: &&ProbeResult| result.control == control && !matches!(result.outcome, ProbeOutcome::NotTried(_));
        assert!(results.iter().any(|result| is_tried(&result)), "{} in {results:?}", control.name());
    }
    Ok(())
}

fn each_result_says_what_was_tried_and_what_came_of_it(subject: &Subject) -> Result<(), Failed> {
    let (_, results) = probed(subject)?;
    assert!(
        results.iter().all(|result| !result.tried.is_empty() && !result.outcome.detail().is_empty()),
        "{results:?}"
    );
    Ok(())
}

fn nothing_gets_through_what_is_enforced(subject: &Subject) -> Result<(), Failed> {
    let (policy, results) = probed(subject)?;
    assert_eq!(contradictions(&policy.controls, &results).collect::<Vec<_>>(), Vec::<&ProbeResult>::new());
    Ok(())
}

fn what_is_not_enforced_is_got_through(subject: &Subject) -> Result<(), Failed> {
    let (policy, results) = probed(subject)?;
    let open = policy.controls.iter().filter(|report| {
        report.control != Control::Limits && matches!(report.enforcement, Enforcement::NotEnforced { .. })
    });
    for report in open {
        let got_through = |result: &ProbeResult| {
            result.control == report.control && matches!(result.outcome, ProbeOutcome::GotThrough(_))
        };
        assert!(results.iter().any(got_through), "{} in {results:#?}", report.control.name());
    }
    Ok(())
}
