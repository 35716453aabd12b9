//! `isobox feedback`: what was rejected, and why, for whoever made the changes.

use super::look::Named;
use crate::cli::{FeedbackArguments, FeedbackFormat, Place};
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::output::console::Console;
use crate::output::feedback as told;
use crate::output::stdout::{self, unwritten};
use crate::use_case::review::{self, Ports};
use std::io::{BufWriter, Write};

/// Prints what was rejected.
pub(super) fn feedback(console: Console, arguments: &FeedbackArguments) -> Result<ExitCode, Failure> {
    let named = Named::find_to_show(console, &arguments.place, &arguments.task)?;
    print(console, &named, &arguments.place, arguments.format).map(|()| ExitCode::SUCCESS)
}

/// The same of a Task that was found.
pub(super) fn print(console: Console, named: &Named, place: &Place, format: FeedbackFormat) -> Result<(), Failure> {
    let ports: Ports<'_> = named.store.review_ports()?;
    let record = &named.selected.record;
    let mut out = BufWriter::new(stdout::for_content()?);
    let count = match format {
        FeedbackFormat::Markdown => {
            let mut text = told::Markdown::new(&mut out, record.task);
            review::each_told(&ports, record, &mut |each| text.write(each).map_err(unwritten))?;
            text.count()
        }
        FeedbackFormat::Json => {
            let mut document = told::Json::begin(&mut out, &named.selected).map_err(unwritten)?;
            review::each_told(&ports, record, &mut |each| document.write(each).map_err(unwritten))?;
            document.end().map_err(unwritten)?
        }
    };
    out.flush().map_err(unwritten)?;
    if count == 0 {
        let flags = place.flags();
        console.line(&format!("nothing of {} was rejected, next: isobox review{flags} {}", record.task, record.task));
    }
    Ok(())
}
