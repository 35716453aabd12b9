//! `isobox report`: what a person should look at in what a Task changed, the most important first.

use super::look::{Named, tell_of_nothing};
use super::repo_paths;
use crate::cli::{ReportArguments, ReportFormat};
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::output::console::Console;
use crate::output::report::{self as told, Told};
use crate::output::stdout::{self, unwritten};
use crate::use_case::ranked_report::rank;
use isobox_domain::promotion::Selection;
use std::io::{BufWriter, Write};

/// Tells what deserves a look.
pub(super) fn report(console: Console, arguments: &ReportArguments) -> Result<ExitCode, Failure> {
    let selection = Selection { only: repo_paths::parse(&arguments.paths)?, ..Selection::default() };
    let named = Named::find_to_show(console, &arguments.place, &arguments.task)?;
    let ports = named.store.report_ports();
    let report = rank(ports.objects, &named.selected.record, &selection)?;
    let summary = report.totals().summary();
    if arguments.format == ReportFormat::Text && summary.changed() + summary.not_captured == 0 {
        tell_of_nothing(console, &named.selected.record, "changed nothing there", &arguments.place);
        return Ok(ExitCode::SUCCESS);
    }
    let mut out: Box<dyn Write> = match arguments.format {
        ReportFormat::Text => stdout::for_reading(console.paging)?,
        _ => Box::new(BufWriter::new(stdout::for_content()?)),
    };
    let told = Told { ports, selected: &named.selected, report: &report };
    match arguments.format {
        ReportFormat::Text => told::text::write(&mut out, &told),
        ReportFormat::Json => told::json::write(&mut out, &told),
        ReportFormat::Markdown => told::markdown::write(&mut out, &told),
        ReportFormat::Sarif => told::sarif::write(&mut out, &told),
    }?;
    out.flush().map_err(unwritten)?;
    Ok(ExitCode::SUCCESS)
}
