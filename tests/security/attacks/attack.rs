//! One attack, and what came of it.

use super::inside;
use isobox_tests::Case;
use libtest_mimic::Failed;

/// What came of an attack.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Something stopped it: what the kernel answered.
    Stopped(String),
    /// It did what it wanted to do: what that is, as the end of a sentence.
    GotThrough(String),
    /// This machine has nothing to attack: why.
    Untried(String),
}

/// A way around one control.
pub(crate) struct Attack {
    /// The rest of the name of its tests.
    pub(crate) name: &'static str,
    /// Words by which a report that admits a gap may name this one.
    pub(crate) named: &'static [&'static str],
    /// Tries it in a Sandbox of a case, which is fresh.
    pub(crate) attempt: fn(&Case) -> Verdict,
}

impl Attack {
    /// Tries it. The case has a record afterwards.
    pub(crate) fn try_on(&self, case: &Case) -> Result<Verdict, Failed> {
        let verdict = (self.attempt)(case);
        match &verdict {
            Verdict::Stopped(how) if how.is_empty() => Err(format!("{}: nothing was heard", self.name).into()),
            _ => Ok(verdict),
        }
    }

    /// Whether a reason names this gap.
    pub(crate) fn is_named_in(&self, reason: &str) -> bool {
        self.named.iter().any(|word| reason.contains(word))
    }
}

/// What came of a Python program inside, by what it says last; see [`inside::PRELUDE`].
pub(crate) fn python(case: &Case, program: &str) -> Verdict {
    let run = case.run_command(&["/usr/bin/python3", "-c", &inside::program(program)]);
    assert_eq!(run.code, 0, "{run:?}");
    let through: Vec<&str> = run.stdout.lines().filter_map(|line| line.strip_prefix("through ")).collect();
    let stopped: Vec<&str> = run.stdout.lines().filter_map(|line| line.strip_prefix("stopped ")).collect();
    match (through.is_empty(), stopped.is_empty()) {
        (false, _) => Verdict::GotThrough(through.join(", ")),
        (true, false) => Verdict::Stopped(stopped.join(", ")),
        (true, true) => match run.stdout.strip_prefix("untried ") {
            Some(reason) => Verdict::Untried(reason.trim().to_owned()),
            None => panic!("the attack said nothing: {run:?}"),
        },
    }
}

/// The same where what counts is an effect outside: `happened` says whether there was one.
pub(crate) fn python_with_effect(case: &Case, program: &str, happened: impl FnOnce() -> Option<String>) -> Verdict {
    match (python(case, program), happened()) {
        (_, Some(what)) => Verdict::GotThrough(what),
        (Verdict::GotThrough(what), None) => Verdict::Stopped(format!("without an effect outside: {what}")),
        (other, None) => other,
    }
}
