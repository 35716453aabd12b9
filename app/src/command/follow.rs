//! `isobox logs --follow`.

use super::act::{NamedOpen, settled};
use super::look::tell_of_redacted;
use crate::cli::LogsArguments;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::output::console::Console;
use crate::output::redacting::Redacted;
use crate::output::stdout::{self, unwritten};
use crate::output::text;
use crate::use_case::logs;
use crate::use_case::open_tasks::Meant;
use isobox_ports::{Flow, Role};
use std::io::{self, Write};

/// Prints what a Task writes as it comes, until it is over.
pub(super) fn follow(console: Console, arguments: &LogsArguments) -> Result<ExitCode, Failure> {
    let NamedOpen { store, meant } = NamedOpen::find(&arguments.place, &arguments.task)?;
    let mut printer = Printer::new(arguments)?;
    let selected = match meant {
        Meant::Recorded(selected) => *selected,
        Meant::Open(attempt) => {
            attempt.follow(&mut |role, bytes| printer.print(role, bytes))?;
            printer.trouble.take().map_or(Ok(()), Err).map_err(unwritten)?;
            settled(console, &arguments.place, &store, &*attempt)?
        }
    };
    let ports = logs::Ports { objects: store.objects() };
    let artifacts = &selected.record.artifacts;
    printer.stdout.print_rest(&ports, "standard output", artifacts.stdout)?;
    printer.stderr.print_rest(&ports, "standard error", artifacts.stderr)?;
    let Printer { stdout, stderr, redacted, .. } = printer;
    // What was held back is written, and counted.
    drop((stdout, stderr));
    if arguments.redact {
        tell_of_redacted(console, &redacted)?;
    }
    console.line(&format!("isobox task {}: completed {}", selected.record.task, text::outcome(&selected.record)));
    Ok(ExitCode::SUCCESS)
}

struct Printer {
    stdout: Printed,
    stderr: Printed,
    redacted: Redacted,
    trouble: Option<io::Error>,
}

/// One output: where it goes, if it is wanted, and how much of it went there.
struct Printed {
    to: Option<Box<dyn Write>>,
    length: u64,
}

impl Printer {
    fn new(arguments: &LogsArguments) -> Result<Self, Failure> {
        let is_all = arguments.stdout == arguments.stderr;
        let stdout = (is_all || arguments.stdout).then(stdout::for_content).transpose()?;
        let stderr = match (is_all, arguments.stderr) {
            (true, _) => Some(stdout::for_error_content()?),
            (false, true) => Some(stdout::for_content()?),
            (false, false) => None,
        };
        let redacted = Redacted::default();
        let redacting = |to: Box<dyn Write>| if arguments.redact { redacted.writer(to) } else { to };
        let printed = |to: Option<Box<dyn Write>>| Printed { to: to.map(redacting), length: 0 };
        Ok(Self { stdout: printed(stdout), stderr: printed(stderr), redacted: redacted.clone(), trouble: None })
    }

    fn print(&mut self, role: Role, bytes: &[u8]) -> Flow {
        let output = match role {
            Role::Stdout => &mut self.stdout,
            _ => &mut self.stderr,
        };
        output.length += bytes.len() as u64;
        let Some(to) = &mut output.to else { return Flow::Continue };
        match to.write_all(bytes).and_then(|()| to.flush()) {
            Ok(()) => Flow::Continue,
            Err(error) => {
                self.trouble = Some(error);
                Flow::Closed
            }
        }
    }
}

impl Printed {
    fn print_rest(
        &mut self,
        ports: &logs::Ports<'_>,
        what: &str,
        artifact: Option<isobox_domain::content::ContentRef>,
    ) -> Result<(), Failure> {
        let Some(to) = &mut self.to else { return Ok(()) };
        let mut rest = AfterFirst { to, left_out: self.length };
        logs::copy(ports, what, artifact, &mut rest)?.map_err(unwritten)
    }
}

/// Passes everything on but the first bytes.
struct AfterFirst<'a> {
    to: &'a mut dyn Write,
    left_out: u64,
}

impl Write for AfterFirst<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left_out = usize::try_from(self.left_out).unwrap_or(usize::MAX).min(bytes.len());
        self.left_out -= left_out as u64;
        self.to.write_all(&bytes[left_out..])?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
