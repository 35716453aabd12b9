//! `isobox update`.

use crate::cli::UpdateArguments;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::output::console::Console;
use crate::output::update as shown;
use crate::use_case::update::{self as use_case, Refused};
use crate::wiring;
use isobox_domain::escape::Escaped;
use isobox_domain::update_target::UpdateTarget;

/// Looks for a newer release, installs it, or goes back to the one before.
pub(super) fn update(console: Console, arguments: &UpdateArguments) -> Result<ExitCode, Failure> {
    wiring::with_update_ports(|ports| match arguments.rollback {
        true => {
            let (target, version) = use_case::roll_back(ports).map_err(refused)?;
            remark(console, &target);
            match arguments.json {
                true => super::help::print(&format!("{:#}", shown::rolled_back_document(&target, &version))),
                false => super::help::print(&shown::rolled_back(&target, &version)),
            }
        }
        false => wiring::with_publisher(arguments, |publisher| {
            let plan = use_case::check(ports, publisher).map_err(refused)?;
            remark(console, &plan.target);
            let kept = match arguments.check {
                true => None,
                false => use_case::perform(ports, publisher, &plan).map_err(refused)?,
            };
            let done = kept.map_or(shown::Done::Checked, shown::Done::Updated);
            match arguments.json {
                true => super::help::print(&format!("{:#}", shown::document(&plan, &done))),
                false => super::help::print(&shown::text(&plan, &done)),
            }
        }),
    })
}

/// Tells what else a person should know about the program that is replaced.
fn remark(console: Console, target: &UpdateTarget) {
    target.remarks().iter().for_each(|remark| console.warning(remark));
}

fn refused(refused: Refused) -> Failure {
    match refused {
        Refused::NoTarget => Failure::new(FailureKind::General, "there is no `isobox` on PATH to update")
            .with_hint("put the directory of the program on PATH, e.g. ~/.local/bin"),
        Refused::Target(target, refusal) => {
            let message = format!("isobox does not replace {}", Escaped(&target.file));
            Failure::new(FailureKind::General, message).because(format!("it {}", refusal.why)).with_hint(refusal.hint)
        }
        Refused::Error(error) => error.into(),
    }
}
