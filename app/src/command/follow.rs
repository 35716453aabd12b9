//! `isobox logs --follow`.

use super::act::{NamedOpen, settled};
use super::logs::{open, require_times, stamping, tell_of_timeless, wanted};
use super::look::tell_of_redacted;
use crate::cli::LogsArguments;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::output::console::Console;
use crate::output::logs::{LogsOutput, Stamping};
use crate::output::redacting::Redacted;
use crate::output::stdout::{self, unwritten};
use crate::output::text;
use crate::use_case::logs::{self, LiveTimes};
use crate::use_case::open_tasks::Meant;
use isobox_domain::timeline::OutputStream;
use isobox_ports::{Flow, Role};
use std::io;

/// Prints what a Task writes as it comes, until it is over.
pub(super) fn follow(console: Console, arguments: &LogsArguments) -> Result<ExitCode, Failure> {
    let NamedOpen { store, meant } = NamedOpen::find(&arguments.place, &arguments.task)?;
    let (wanted, stamping) = (wanted(arguments), stamping(arguments));
    let redacted = Redacted::default();
    let counted = arguments.redact.then_some(&redacted);
    let out = LogsOutput::new(stdout::for_following()?, wanted, stamping, counted);
    let mut printer = Printer { out, times: LiveTimes::default(), trouble: None };
    let selected = match meant {
        Meant::Recorded(selected) => {
            require_times(&selected.record, stamping)?;
            *selected
        }
        Meant::Open(attempt) => {
            attempt.follow(&mut |role, bytes| printer.print(role, bytes))?;
            printer.trouble.take().map_or(Ok(()), Err).map_err(unwritten)?;
            settled(console, &arguments.place, &store, &*attempt)?
        }
    };
    // The last bytes may be in the record alone.
    let ports = logs::Ports { objects: store.objects() };
    let mut replay = open(console, &ports, &selected.record, wanted, stamping)?;
    for stream in OutputStream::BOTH {
        replay.skip(stream, printer.times.told(stream))?;
    }
    let Printer { mut out, .. } = printer;
    let timeless = replay.hand_over(&mut |piece| out.write(piece)).map_err(unwritten)?;
    out.finish().map_err(unwritten)?;
    if stamping == Stamping::Times {
        tell_of_timeless(console, &selected.record, timeless);
    }
    if arguments.redact {
        tell_of_redacted(console, &redacted)?;
    }
    console.line(&format!("isobox task {}: completed {}", selected.record.task, text::outcome(&selected.record)));
    Ok(ExitCode::SUCCESS)
}

/// Prints pieces as they come.
struct Printer {
    out: LogsOutput,
    times: LiveTimes,
    trouble: Option<io::Error>,
}

impl Printer {
    fn print(&mut self, role: Role, bytes: &[u8]) -> Flow {
        let stream = match role {
            Role::Stdout => OutputStream::Stdout,
            Role::Stderr => OutputStream::Stderr,
            _ => {
                self.times.learn(bytes);
                return Flow::Continue;
            }
        };
        let out = &mut self.out;
        match self.times.tell(stream, bytes, |piece| out.write(piece)).and_then(|()| out.flush(stream)) {
            Ok(()) => Flow::Continue,
            Err(error) => {
                self.trouble = Some(error);
                Flow::Closed
            }
        }
    }
}
