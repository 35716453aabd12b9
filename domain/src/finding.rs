//! Doctor Findings: what facts about a machine and a project mean for a person who wants to work with isobox.

mod machine;
mod policy;
mod probe;
mod project;
mod sandbox;

use crate::fact::Fact;

/// How much a finding stands in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Ready, or of no consequence in this version.
    Ok,
    /// Something does not work as it should, or is refused until it is seen to.
    Warning,
    /// Tasks cannot be attempted here.
    Error,
}

impl Severity {
    /// The name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The machine and the user's installation: looked at every time.
    Machine,
    /// The project around the directory that was asked about.
    Project,
}

impl Subject {
    /// The name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::Project => "project",
        }
    }
}

/// The result of one Doctor Check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The check, by a name that scripts can rely on, e.g. `sandbox.starts`.
    pub check: String,
    /// What it is about.
    pub subject: Subject,
    /// How much it stands in the way.
    pub severity: Severity,
    /// What was tried.
    pub tried: &'static str,
    /// What came of it. May have several lines.
    pub found: String,
    /// What that means for the person; `None` where nothing follows.
    pub consequence: Option<String>,
    /// What to do about it, if that is known.
    pub fix: Option<String>,
}

impl Finding {
    fn of(subject: Subject, check: impl Into<String>, tried: &'static str, found: impl Into<String>) -> Self {
        let (check, found) = (check.into(), found.into());
        Self { check, subject, severity: Severity::Ok, tried, found, consequence: None, fix: None }
    }

    fn machine(check: impl Into<String>, tried: &'static str, found: impl Into<String>) -> Self {
        Self::of(Subject::Machine, check, tried, found)
    }

    fn project(check: impl Into<String>, tried: &'static str, found: impl Into<String>) -> Self {
        Self::of(Subject::Project, check, tried, found)
    }

    fn warning(self, consequence: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..self.note(consequence) }
    }

    fn error(self, consequence: impl Into<String>) -> Self {
        Self { severity: Severity::Error, ..self.note(consequence) }
    }

    fn note(self, consequence: impl Into<String>) -> Self {
        Self { consequence: Some(consequence.into()), ..self }
    }

    fn fix(self, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..self }
    }

    fn fix_if_known(self, fix: Option<String>) -> Self {
        Self { fix, ..self }
    }
}

/// What `facts` mean, in their order; a fact that only explains another one has no finding of its own.
pub fn findings(facts: &[Fact]) -> Vec<Finding> {
    facts
        .iter()
        .flat_map(|fact| {
            let of_project = || policy::judge(fact, facts).or_else(|| project::judge(fact));
            let one = || machine::judge(fact).or_else(|| sandbox::judge(fact, facts)).or_else(of_project);
            probe::judge(fact).unwrap_or_else(|| one().into_iter().collect())
        })
        .collect()
}

/// The worst severity among `findings`.
pub fn worst(findings: &[Finding]) -> Severity {
    findings.iter().map(|finding| finding.severity).max().unwrap_or(Severity::Ok)
}

#[cfg(test)]
mod tests;
