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
use isobox_domain::archive_name::ArchiveName;
use isobox_domain::escape::Escaped;
use isobox_domain::verification::{Defect, DefectKind, Sample, Thoroughness, Verification};
use isobox_ports::{Advance, StoreErrorKind, TellAdvance, Verifier};
use isobox_store_format::log::MAX_NOTE;
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

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
    if found.is_sound() {
        return Ok(ExitCode::SUCCESS);
    }
    if !arguments.json {
        advise(console, arguments, &found);
    }
    Ok(ExitCode::NO)
}

/// Says what can be done about it.
fn advise(console: Console, arguments: &VerifyArguments, found: &Verification) {
    let is_lost = |defect: &Defect| matches!(defect.kind, DefectKind::Damaged { .. } | DefectKind::Missing { .. });
    let archives = arguments.tasks.iter().filter(|typed| ArchiveName::parse(typed.as_bytes()).is_some()).count();
    if archives > 0 && archives == arguments.tasks.len() {
        console.line("what is in an archive cannot be mended: get another copy of it, or export the tasks again");
    } else if found.defects.iter().any(is_lost) {
        let flags = arguments.place.flags();
        console.line(&format!("next: isobox store repair --dry-run{flags}, which says what can be brought back"));
    }
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
        if let Some(ArchiveName { host_path, task: None }) = ArchiveName::parse(typed.as_bytes()) {
            all.merge(verify_archive(Path::new(OsStr::from_bytes(host_path)))?);
            continue;
        }
        let Named { store, selected, .. } = Named::find(&arguments.place, typed)?;
        all.merge(verify::record(store.verifier(), &selected.digest)?);
    }
    Ok(all)
}

/// All of an Archive. That it cannot even be opened for what is wrong with it is what was found.
fn verify_archive(host_path: &Path) -> Result<Verification, Failure> {
    match wiring::damaged_archive(host_path) {
        Ok(archive) => Ok(archive.verify(Thoroughness::Deep, &|_| {})?),
        Err(error) if error.kind == StoreErrorKind::Damaged => {
            let (file, reason) = (Escaped::path(host_path).to_string(), error.source.to_string());
            let kind = DefectKind::Damaged { file, offset: 0, reason, object: None };
            let mut found = Verification::default();
            found.add(Defect::new(kind, Vec::new()));
            Ok(found)
        }
        Err(error) => Err(error.into()),
    }
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
