//! `isobox logs`.

use super::look::{Named, tell_of_nothing, tell_of_redacted};
use crate::cli::LogsArguments;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, one_line};
use crate::output::console::Console;
use crate::output::logs::{LogsOutput, Stamping, Wanted};
use crate::output::redacting::Redacted;
use crate::output::stdout::{self, unwritten};
use crate::output::text;
use crate::use_case::logs::{self, Order, Replay};
use isobox_domain::record::TaskRecord;
use isobox_domain::timeline::OutputStream;

/// Prints captured output: both streams in the order in which they came, each where it came from or, on a terminal, through a
/// pager; or the one that was asked for on standard output.
pub(super) fn logs(console: Console, arguments: &LogsArguments) -> Result<ExitCode, Failure> {
    if arguments.follow {
        return super::follow::follow(console, arguments);
    }
    let Named { store, selected, .. } = Named::find_to_show(console, &arguments.place, &arguments.task)?;
    let ports = logs::Ports { objects: store.objects() };
    let (wanted, record) = (wanted(arguments), &selected.record);
    if !has_output(record, wanted) {
        tell_of_nothing(console, record, "printed nothing", &arguments.place);
        return Ok(ExitCode::SUCCESS);
    }
    let stamping = stamping(arguments);
    require_times(record, stamping)?;
    let redacted = Redacted::default();
    let counted = arguments.redact.then_some(&redacted);
    let replay = open(console, &ports, record, wanted, stamping)?;
    let mut out = LogsOutput::new(stdout::for_logs(console.paging)?, wanted, stamping, counted);
    let timeless = replay.hand_over(&mut |piece| out.write(piece)).map_err(unwritten)?;
    out.finish().map_err(unwritten)?;
    if stamping == Stamping::Times {
        tell_of_timeless(console, record, timeless);
    }
    if arguments.redact {
        tell_of_redacted(console, &redacted)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Which outputs the command line asks for.
pub(super) const fn wanted(arguments: &LogsArguments) -> Wanted {
    match (arguments.stdout, arguments.stderr) {
        (true, false) => Wanted::One(OutputStream::Stdout),
        (false, true) => Wanted::One(OutputStream::Stderr),
        _ => Wanted::Both,
    }
}

/// What the command line asks for before each line.
pub(super) const fn stamping(arguments: &LogsArguments) -> Stamping {
    if arguments.timestamps { Stamping::Times } else { Stamping::Nothing }
}

fn has_output(record: &TaskRecord, wanted: Wanted) -> bool {
    let artifacts = &record.artifacts;
    let outputs = [(OutputStream::Stdout, artifacts.stdout), (OutputStream::Stderr, artifacts.stderr)];
    outputs.iter().any(|(stream, artifact)| wanted.has(*stream) && artifact.is_some())
}

/// Fails if times are asked for of a record that has none.
pub(super) fn require_times(record: &TaskRecord, stamping: Stamping) -> Result<(), Failure> {
    if stamping == Stamping::Nothing || record.artifacts.timeline.is_some() {
        return Ok(());
    }
    let message = format!("the record of {} does not say when its output came", record.task);
    Err(Failure::new(FailureKind::General, message)
        .with_hint("it was made without times: leave --timestamps out to see the output"))
}

/// Opens the outputs of a record. A timeline that cannot be read is told of, and hides no output.
pub(super) fn open(
    console: Console,
    ports: &logs::Ports<'_>,
    record: &TaskRecord,
    wanted: Wanted,
    stamping: Stamping,
) -> Result<Replay, Failure> {
    let order = match stamping {
        Stamping::Times => Order::ByLine,
        Stamping::Nothing => Order::Exact,
    };
    let (replay, unreadable) = Replay::open(ports, &record.artifacts, |stream| wanted.has(stream), order)?;
    if let Some(failure) = unreadable
        && (stamping == Stamping::Times || wanted == Wanted::Both)
    {
        console.warning(&format!("when the output came cannot be read, all of it is printed: {}", one_line(&failure)));
    }
    Ok(replay)
}

/// Tells how much of the output has no time.
pub(super) fn tell_of_timeless(console: Console, record: &TaskRecord, bytes: u64) {
    if bytes > 0 {
        let bytes = text::counted(bytes, "byte");
        console.warning(&format!("{bytes} of the output of {} came at a time that is not on record", record.task));
    }
}
