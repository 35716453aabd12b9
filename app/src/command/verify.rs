//! `isobox verify`.

use super::look::Named;
use crate::cli::{SampleFlag, VerifyArguments};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::output::console::Console;
use crate::output::stdout::{for_documents, unwritten};
use crate::output::verify as shown;
use crate::output::working::Working;
use crate::wiring::{self, Store};
use isobox_domain::verification::{Sample, Thoroughness, Verification};
use isobox_ports::Advance;
use std::io::Write;

/// Milliseconds of a day.
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Compares what a store holds with what was written to it. What is wrong is told on standard output, and the answer is no.
pub(super) fn verify(console: Console, arguments: &VerifyArguments) -> Result<ExitCode, Failure> {
    let how = thoroughness(arguments)?;
    let working = Working::start_percent(console, "verifying");
    let advance = |advance: Advance| working.reach(100 * advance.done_bytes / advance.all_bytes.max(1));
    let found = match arguments.tasks.is_empty() {
        true => Store::find(&arguments.place, None)?.verifier().verify(how, &advance)?,
        false => verify_tasks(arguments)?,
    };
    drop(working);
    let mut out = for_documents();
    let written = match arguments.json {
        true => writeln!(out, "{:#}", shown::document(how, &found)),
        false => shown::text(&mut out, how, &found),
    };
    written.and_then(|()| out.flush()).map_err(unwritten)?;
    Ok(if found.is_sound() { ExitCode::SUCCESS } else { ExitCode::NO })
}

fn verify_tasks(arguments: &VerifyArguments) -> Result<Verification, Failure> {
    let mut all = Verification::default();
    for typed in &arguments.tasks {
        let Named { store, selected } = Named::find(&arguments.place, typed)?;
        let gone = || Failure::new(FailureKind::Store, format!("the record {} is not there any more", selected.digest));
        all.merge(store.verifier().verify_record(&selected.digest)?.ok_or_else(gone)?);
    }
    Ok(all)
}

fn thoroughness(arguments: &VerifyArguments) -> Result<Thoroughness, Failure> {
    let sample = match arguments.sample {
        Some(SampleFlag::Part(sample)) => Some(sample),
        Some(SampleFlag::Today(of)) => {
            let today = Sample::of_day(wiring::clock().now().unix_ms() / DAY_MS, of);
            Some(today.ok_or_else(|| Failure::new(FailureKind::Usage, "there is no such part"))?)
        }
        None => None,
    };
    Ok(match (arguments.quick, sample) {
        _ if arguments.deep || !arguments.tasks.is_empty() => Thoroughness::Deep,
        (true, _) => Thoroughness::Quick,
        (false, Some(sample)) => Thoroughness::Sampled(sample),
        (false, None) => Thoroughness::Full,
    })
}
