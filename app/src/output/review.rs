//! A person's part in a Promotion: report, question, answer.

use crate::failure::{Failure, FailureKind};
use crate::output::console::Console;
use crate::output::stdout::unwritten;
use crate::output::working::Working;
use crate::output::{answer, changes, text};
use crate::use_case::promote::Reviewer;
use isobox_domain::change::ChangeLine;
use isobox_domain::escape::Escaped;
use isobox_domain::event::Confirmation;
use isobox_domain::git_oid::GitOid;
use isobox_domain::promotion::{Extent, Overridden, PromotionPlan, Way};
use isobox_domain::report::{Finding, PromotionReport};
use isobox_ports::MergeTally;
use std::io::Write;

/// How a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asking {
    /// By a question on standard error, answered on standard input.
    Ask,
    /// Not at all: the flag `--yes` was given.
    AnsweredByFlag,
}

/// Reviews on standard output, asks on standard error.
pub(crate) struct StandardStreams<W: Write> {
    pub(crate) out: W,
    /// How the attempt is called that is reviewed.
    pub(crate) name: String,
    /// How its command ended, where it did not succeed.
    pub(crate) caveat: Option<String>,
    pub(crate) console: Console,
    pub(crate) asking: Asking,
    /// Tells that the Promotion goes on, once it is confirmed.
    pub(crate) working: Option<Working>,
}

impl<W: Write> Reviewer for StandardStreams<W> {
    fn begin(&mut self, plan: &PromotionPlan) -> Result<(), Failure> {
        writeln!(self.out, "Promotion of {} into {}", self.name, target(plan)).map_err(unwritten)?;
        self.caveat.iter().try_for_each(|caveat| writeln!(self.out, "  {caveat}")).map_err(unwritten)
    }

    fn line(&mut self, line: &ChangeLine, findings: &[Finding]) -> Result<(), Failure> {
        changes::reported(&mut self.out, line, findings).map_err(unwritten)
    }

    fn end(&mut self, report: &PromotionReport, extent: Extent) -> Result<(), Failure> {
        changes::report_totals(&mut self.out, report).map_err(unwritten)?;
        if extent.is_all() {
            return Ok(());
        }
        let left = text::counted(extent.left, "changed path");
        let written = writeln!(self.out, "  {left} left out, which can be promoted later");
        // Whoever is asked has all of it before them.
        written.and_then(|()| self.out.flush()).map_err(unwritten)
    }

    fn merged(&mut self, tally: &MergeTally) -> Result<(), Failure> {
        changes::merged(&mut self.out, tally).and_then(|()| self.out.flush()).map_err(unwritten)
    }

    fn overridden(&mut self, overridden: &Overridden) -> Result<(), Failure> {
        let entries = text::overridden(overridden).join(", ");
        writeln!(self.out, "in spite of the policy: {entries}").and_then(|()| self.out.flush()).map_err(unwritten)
    }

    fn pause(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(unwritten)
    }

    fn confirm(&mut self, plan: &PromotionPlan) -> Result<Confirmation, Failure> {
        let confirmation = self.confirmation(plan)?;
        self.out.flush().map_err(unwritten)?;
        self.working = Some(Working::start(self.console, "promoting"));
        Ok(confirmation)
    }
}

impl<W: Write> StandardStreams<W> {
    fn confirmation(&self, plan: &PromotionPlan) -> Result<Confirmation, Failure> {
        if self.asking == Asking::AnsweredByFlag {
            return Ok(Confirmation::Flag);
        }
        let caveat = self.caveat.iter().map(|caveat| format!("{caveat}. ")).collect::<String>();
        let question = format!("{caveat}Promote {} into {}? Type yes to go on: ", self.name, target(plan));
        let answer = answer::ask(self.console, &question)
            .map_err(|error| unconfirmed("the answer could not be read").because(error))?;
        match (answer.as_deref(), answer::is_typed()) {
            (Some(b"yes"), true) => Ok(Confirmation::Interactive),
            (Some(b"yes"), false) => Ok(Confirmation::Piped),
            (Some(_), _) => Err(unconfirmed("the answer was not `yes`")),
            (None, _) => Err(unconfirmed("there was no answer to read")),
        }
    }
}

/// Where a plan went, in words, with the commit that was made.
pub(crate) fn destination(plan: &PromotionPlan, made: Option<&GitOid>) -> String {
    match made {
        None => target(plan),
        Some(made) => format!("{}, as commit {}", target(plan), made.short()),
    }
}

/// The repository and branch that a plan writes to, in words.
pub(crate) fn target(plan: &PromotionPlan) -> String {
    if let Way::Branch(name) = &plan.way {
        let name = Escaped(name.strip_prefix(b"refs/heads/").unwrap_or(name));
        return format!("{} (the new branch {name})", Escaped(&plan.host_path));
    }
    let branch = match &plan.branch {
        Some(branch) => format!("branch {}", Escaped(branch.strip_prefix(b"refs/heads/").unwrap_or(branch))),
        None => "no branch".to_owned(),
    };
    format!("{} ({branch}, at {})", Escaped(&plan.host_path), plan.commit.short())
}

fn unconfirmed(why: &str) -> Failure {
    Failure::new(FailureKind::PromotionRefused, format!("it was not confirmed: {why}; nothing was changed"))
        .with_hint("answer yes, or pass --yes where the approval was given elsewhere")
}
