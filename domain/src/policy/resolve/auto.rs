//! Which backend `auto` means on this machine.

use super::{Capabilities, Refusal, Unmet, listed, unmet};
use crate::enforcement::{Control, Enforcement};
use crate::policy::{BackendName, SandboxPolicy};

/// The first backend that enforces what is required and is outdone by none that does, and why it is taken.
pub(super) fn choose<'a>(
    asked: &SandboxPolicy,
    backends: &'a [Capabilities],
) -> Result<(&'a Capabilities, String), Refusal> {
    let mut able: Vec<&Capabilities> = Vec::new();
    let mut passed_over: Vec<(BackendName, Obstacle)> = Vec::new();
    for candidate in backends.iter().filter(|candidate| candidate.backend != BackendName::Host) {
        match obstacle(asked, candidate) {
            None => able.push(candidate),
            Some(obstacle) => passed_over.push((candidate.backend, obstacle)),
        }
    }
    let outdone_by_none = |one: &&&Capabilities| able.iter().all(|other| more_than(other, one).is_none());
    let Some(chosen) = able.iter().find(outdone_by_none) else { return Err(refusal(passed_over)) };
    let outdone = able.iter().take_while(|one| one.backend != chosen.backend);
    let outdone = outdone.map(|one| format!("{} enforces less", one.backend.name()));
    let passed_over =
        passed_over.iter().map(|(backend, obstacle)| format!("{}: {}", backend.name(), obstacle.in_words()));
    let others: Vec<String> = outdone.chain(passed_over).collect();
    let required = asked.require.as_slice().iter().map(|required| required.name());
    let mut what = vec![Control::Filesystem.name()];
    what.extend(required.filter(|name| *name != Control::Filesystem.name()));
    let what = what.join(", ");
    let why = format!("`auto` takes the first that enforces {what}, and none enforces more");
    Ok((chosen, if others.is_empty() { why } else { format!("{why}; {}", others.join("; ")) }))
}

/// Why a backend is none to take.
enum Obstacle {
    Machine(String),
    Unmet(Vec<Unmet>),
}

impl Obstacle {
    fn in_words(&self) -> String {
        match self {
            Self::Machine(reason) => reason.clone(),
            Self::Unmet(unmet) => listed(unmet),
        }
    }
}

fn obstacle(asked: &SandboxPolicy, candidate: &Capabilities) -> Option<Obstacle> {
    let unmet = unmet(asked, candidate);
    let obstacle = candidate.unavailable.clone().or_else(|| candidate.obstacle(asked));
    match (obstacle, candidate.enforcement(Control::Filesystem)) {
        (Some(reason), _) => Some(Obstacle::Machine(reason)),
        (None, Some(Enforcement::Enforced { .. })) => (!unmet.is_empty()).then_some(Obstacle::Unmet(unmet)),
        (None, _) => Some(Obstacle::Machine("it does not contain the filesystem here".to_owned())),
    }
}

/// A control that `other` enforces and `one` does not, if it enforces all that `one` does.
fn more_than(other: &Capabilities, one: &Capabilities) -> Option<Control> {
    let is_as_strong = Control::ALL.into_iter().all(|control| other.enforces(control) || !one.enforces(control));
    let more = Control::ALL.into_iter().find(|control| other.enforces(*control) && !one.enforces(*control));
    more.filter(|_| is_as_strong)
}

fn refusal(passed_over: Vec<(BackendName, Obstacle)>) -> Refusal {
    // One reason, such as a limit that the policy does not set, may stand in the way of each.
    let mut told: Vec<(Vec<&str>, String)> = Vec::new();
    for (backend, obstacle) in &passed_over {
        let words = obstacle.in_words();
        match told.iter_mut().find(|(_, known)| *known == words) {
            Some((backends, _)) => backends.push(backend.name()),
            None => told.push((vec![backend.name()], words)),
        }
    }
    let told = told.into_iter().map(|(backends, words)| format!("{}: {words}", backends.join(", ")));
    let reasons = told.collect::<Vec<_>>().join("; ");
    let unmet: Vec<Unmet> = passed_over
        .into_iter()
        .flat_map(|(_, obstacle)| match obstacle {
            Obstacle::Unmet(unmet) => unmet,
            Obstacle::Machine(_) => Vec::new(),
        })
        .collect();
    if unmet.is_empty() { Refusal::NoBackend { reasons } } else { Refusal::Unmet { reasons, unmet } }
}
