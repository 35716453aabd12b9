//! `isobox verify`.

use super::look::Named;
use crate::cli::{SampleFlag, VerifyArguments};
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::output::console::Console;
use crate::output::stdout::{for_documents, unwritten};
use crate::output::verify as shown;
use crate::output::working::Working;
use crate::use_case::audit::compare::{Known, compare};
use crate::use_case::audit::prove::parse_older;
use crate::use_case::verify;
use crate::wiring::{self, Store};
use isobox_domain::verification::{Sample, Thoroughness, Verification};
use isobox_ports::{Advance, TellAdvance};
use isobox_store_format::log::MAX_NOTE;
use std::io::Write;

/// Milliseconds of a day.
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Compares what a store holds with what was written to it. What is wrong is told on standard output, and the answer is no.
pub(super) fn verify(console: Console, arguments: &VerifyArguments) -> Result<ExitCode, Failure> {
    let how = thoroughness(arguments);
    let working = Working::start_percent(console, "verifying");
    let advance = |advance: Advance| working.reach(100 * advance.done_bytes / advance.all_bytes.max(1));
    let found = match arguments.tasks.is_empty() {
        true => verify_store(arguments, how, &advance)?,
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

fn verify_store(
    arguments: &VerifyArguments,
    how: Thoroughness,
    tell: TellAdvance<'_>,
) -> Result<Verification, Failure> {
    let older = arguments.since.as_deref().map(|path| wiring::read_file(path, MAX_NOTE)).transpose()?;
    let older = older.as_deref().map(parse_older).transpose()?;
    let store = Store::find(&arguments.place, None)?;
    let mut found = store.verifier().verify(how, tell)?;
    let known = Known { key: arguments.key.as_ref(), older: older.as_ref() };
    store.with_audit_ports(|ports| compare(ports, known, &mut found, tell))?;
    Ok(found)
}

fn verify_tasks(arguments: &VerifyArguments) -> Result<Verification, Failure> {
    let mut all = Verification::default();
    for typed in &arguments.tasks {
        let Named { store, selected, .. } = Named::find(&arguments.place, typed)?;
        all.merge(verify::record(store.verifier(), &selected.digest)?);
    }
    Ok(all)
}

fn thoroughness(arguments: &VerifyArguments) -> Thoroughness {
    let sample = arguments.sample.map(|sample| match sample {
        SampleFlag::Part(sample) => sample,
        SampleFlag::Today(of) => Sample::of_day(wiring::clock().now().unix_ms() / DAY_MS, of),
    });
    match (arguments.quick, sample) {
        _ if arguments.deep || !arguments.tasks.is_empty() => Thoroughness::Deep,
        (true, _) => Thoroughness::Quick,
        (false, Some(sample)) => Thoroughness::Sampled(sample),
        (false, None) => Thoroughness::Full,
    }
}
