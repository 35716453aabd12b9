//! `isobox man`: pages made from the definitions of the commands.

use crate::cli::{Arguments, ManArguments};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::output::stdout::{for_documents, unwritten};
use clap::CommandFactory;
use std::io::Write;

/// Prints the page of a command, or of isobox itself.
pub(super) fn man(arguments: &ManArguments) -> Result<ExitCode, Failure> {
    let mut isobox = Arguments::command();
    isobox.build();
    let mut command = &isobox;
    for word in &arguments.command {
        command = command.find_subcommand(word).ok_or_else(|| {
            Failure::new(FailureKind::Usage, format!("there is no page for `{}`", arguments.command.join(" ")))
                .with_hint("`isobox help` lists the commands")
        })?;
    }
    let page = clap_mangen::Man::new(command.clone()).source(concat!("isobox ", env!("CARGO_PKG_VERSION")));
    let mut out = for_documents();
    page.render(&mut out).and_then(|()| out.flush()).map_err(unwritten)?;
    Ok(ExitCode::SUCCESS)
}
