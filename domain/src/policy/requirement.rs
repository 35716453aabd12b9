//! What has to be enforced, or nothing is started.

use super::{BackendName, Capabilities, SandboxPolicy};
use crate::enforcement::{Control, Enforcement};
use crate::limit::Limit;
use std::fmt;

/// One thing that has to be enforced: an entry of `require`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Requirement {
    /// A control.
    Control(Control),
    /// One limit, which the policy has to set.
    Limit(Limit),
}

impl Requirement {
    /// Everything that can be required, in the order in which it is shown.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        Control::ALL.into_iter().map(Self::Control).chain(Limit::ALL.into_iter().map(Self::Limit))
    }

    /// The name in policies, records and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Control(control) => control.name(),
            // There is a control of that name.
            Self::Limit(limit @ Limit::Processes) => limit.key(),
            Self::Limit(limit) => limit.name(),
        }
    }

    /// What has this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::all().find(|known| known.name() == name)
    }
}

/// What is required, each once and in one order, however it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements(Vec<Requirement>);

impl Requirements {
    /// What is required, in the order of [`Requirement::all`].
    pub fn as_slice(&self) -> &[Requirement] {
        &self.0
    }

    /// Whether nothing is.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Requires what `others` do as well; whether that is more.
    pub fn add(&mut self, others: &Self) -> bool {
        let is_more = others.0.iter().any(|other| !self.0.contains(other));
        let both = std::mem::take(&mut self.0);
        *self = both.into_iter().chain(others.0.iter().copied()).collect();
        is_more
    }
}

impl FromIterator<Requirement> for Requirements {
    fn from_iter<I: IntoIterator<Item = Requirement>>(found: I) -> Self {
        let mut found: Vec<Requirement> = found.into_iter().collect();
        found.sort();
        found.dedup();
        Self(found)
    }
}

/// Something required that a backend does not enforce, or not wholly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// The backend.
    pub backend: BackendName,
    /// What is required.
    pub requirement: Requirement,
    /// What the backend does about it.
    pub enforcement: Enforcement,
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.requirement.name();
        match &self.enforcement {
            Enforcement::Enforced { mechanism } => write!(f, "`{name}` is enforced: {mechanism}"),
            Enforcement::PartiallyEnforced { reason, .. } => write!(f, "`{name}` is enforced in part alone: {reason}"),
            Enforcement::NotEnforced { reason } => write!(f, "`{name}` is not enforced: {reason}"),
        }
    }
}

/// What of `asked.require` the backend does not wholly enforce under `asked`.
pub(super) fn unmet(asked: &SandboxPolicy, backend: &Capabilities) -> Vec<Unmet> {
    let of = |requirement: &Requirement| {
        let enforcement = enforcement(*requirement, asked, backend)?;
        Some(Unmet { backend: backend.backend, requirement: *requirement, enforcement })
    };
    let required = asked.require.as_slice().iter().filter_map(of);
    required.filter(|required| !required.enforcement.is_enforced()).collect()
}

/// What is said of something of which nobody says that it is enforced.
pub(super) fn unsaid() -> Enforcement {
    Enforcement::NotEnforced { reason: "the runtime backend says nothing about it".to_owned() }
}

/// What is known of the enforcement; `None` where nobody has found it out yet.
fn enforcement(requirement: Requirement, asked: &SandboxPolicy, backend: &Capabilities) -> Option<Enforcement> {
    let not = |reason: &str| Enforcement::NotEnforced { reason: reason.to_owned() };
    let found = match requirement {
        Requirement::Control(control) => {
            let report = backend.controls.iter().find(|report| report.control == control);
            report.map(|report| super::resolve::under_policy(report, asked).enforcement)
        }
        Requirement::Limit(limit) if asked.limits.of(limit).is_none() => Some(not("the policy sets no such limit")),
        // Whoever starts something under this policy finds it out, and looks once more when it is in force.
        Requirement::Limit(_) if backend.limits.is_empty() => return None,
        Requirement::Limit(limit) => {
            let report = backend.limits.iter().find(|report| report.limit == limit);
            report.map(|report| report.enforcement.clone())
        }
    };
    Some(found.unwrap_or_else(unsaid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::{LimitReport, Limits};
    use crate::policy::EffectivePolicy;

    #[test]
    fn a_limit_that_is_required_has_to_be_set_and_to_hold() {
        let backend =
            |report| Capabilities { limits: vec![report], ..Capabilities::of(BackendName::Landlock, Vec::new()) };
        let mut asked = SandboxPolicy { require: of(&["memory"]), ..SandboxPolicy::default() };
        let held = backend(LimitReport::by(Limit::Memory, 1 << 30, "a group"));
        let reason = |unmet: Vec<Unmet>| unmet.iter().map(Unmet::to_string).collect::<Vec<_>>();
        assert_eq!(reason(unmet(&asked, &held)), ["`memory` is not enforced: the policy sets no such limit"]);
        asked.limits = asked.limits.with(Limit::Memory, Some(1 << 30));
        assert_eq!(unmet(&asked, &held), []);
        let not = backend(LimitReport::not(Limit::Memory, 1 << 30, "no group"));
        assert_eq!(reason(unmet(&asked, &not)), ["`memory` is not enforced: no group"]);
        // What nobody has found out is neither.
        let unknown = Capabilities { limits: Vec::new(), ..held.clone() };
        assert_eq!(unmet(&asked, &unknown), []);
        assert_eq!(enforcement(Requirement::Limit(Limit::Memory), &asked, &unknown), None);
        // The control of that name is not the limit.
        assert_eq!(of(&["processes", "limits.processes"]).as_slice().len(), 2);
    }

    #[test]
    fn a_limit_that_nobody_says_is_in_force_is_not_met() {
        let limits = Limits::NONE.with(Limit::Memory, Some(1 << 30)).with(Limit::Output, Some(1 << 20));
        let asked = SandboxPolicy { require: of(&["memory", "output"]), limits, ..SandboxPolicy::default() };
        let nothing = Capabilities::of(BackendName::Host, Vec::new());
        let policy = EffectivePolicy::claimed(asked, nothing);
        let unmet = |reports| policy.clone().with_limits(limits.in_force(reports)).unmet_limits();
        let told = unmet(Vec::new()).map(|unmet| unmet.to_string());
        assert_eq!(told.as_deref(), Some("`memory` is not enforced: the runtime backend says nothing about it"));
        // The output is kept by isobox itself, on every backend.
        assert_eq!(unmet(vec![LimitReport::by(Limit::Memory, 1 << 30, "a group")]), None);
    }

    fn of(names: &[&str]) -> Requirements {
        names.iter().map(|name| Requirement::parse(name).expect("a name")).collect()
    }

    #[test]
    fn what_is_required_is_each_once_and_in_one_order() {
        assert_eq!(of(&["network", "filesystem", "network"]), of(&["filesystem", "network"]));
        assert_eq!(Requirement::parse("netwrk"), None);
        for known in Requirement::all() {
            assert_eq!(Requirement::parse(known.name()), Some(known));
        }
    }

    #[test]
    fn adding_takes_nothing_away_and_says_whether_it_is_more() {
        let mut required = of(&["network"]);
        assert!(!required.add(&of(&["network"])) && !required.add(&Requirements::default()));
        assert_eq!(required, of(&["network"]));
        assert!(required.add(&of(&["ipc"])));
        assert_eq!(required, of(&["network", "ipc"]));
    }
}
