//! Standard output: raw when it is piped, escaped when it is a terminal; and the caller's streams of `run` and `tool`.

use crate::failure::{Failure, FailureKind};
use crate::output::caller_stream::CallerStream;
use crate::output::open_line;
use crate::output::pager::{Pager, Paging};
use crate::output::redacting::Redacted;
use crate::output::session_terminal::SessionTerminal;
use crate::output::terminal::TerminalWriter;
use crate::use_case::attempt::{Caller, Session};
use isobox_domain::record::SandboxKind;
use isobox_ports::StderrPlace;
use std::fs::{File, Metadata};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

/// Whether what goes to standard output is seen by a terminal.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Standard output for what a workload produced.
pub(crate) fn for_content() -> Result<Box<dyn Write>, Failure> {
    content(io::stdout(), is_terminal())
}

/// Standard output for what a person reads from its beginning: through a pager, where one is of use.
pub(crate) fn for_reading(paging: Paging) -> Result<Box<dyn Write>, Failure> {
    match Pager::start(paging) {
        Some(pager) => Ok(Box::new(BufWriter::new(pager))),
        None => Ok(Box::new(BufWriter::new(for_content()?))),
    }
}

/// Standard output for what is escaped and coloured already: through a pager, where one is of use.
pub(crate) fn for_painted(paging: Paging) -> Result<Box<dyn Write>, Failure> {
    match Pager::start_for_painted(paging) {
        Some(pager) => Ok(Box::new(BufWriter::new(pager))),
        None => Ok(Box::new(BufWriter::new(CallerStream::new(unbuffered(io::stdout())?)))),
    }
}

/// Where captured output goes.
pub(crate) struct Logs {
    /// Standard output.
    pub(crate) stdout: Box<dyn Write>,
    /// Standard error; `None` where a person reads both in one pager.
    pub(crate) stderr: Option<Box<dyn Write>>,
}

impl Logs {
    /// The same without what is secret-shaped, which is counted in `redacted`.
    pub(crate) fn redacted(self, redacted: &Redacted) -> Self {
        let writer = |stream| redacted.writer(stream);
        Self { stdout: writer(self.stdout), stderr: self.stderr.map(writer) }
    }
}

/// The streams for captured output, each where it came from, or a pager for what would be seen on a terminal.
pub(crate) fn for_logs(paging: Paging) -> Result<Logs, Failure> {
    Ok(match Pager::start(paging) {
        Some(pager) if io::stderr().is_terminal() => Logs { stdout: Box::new(BufWriter::new(pager)), stderr: None },
        Some(pager) => Logs { stdout: Box::new(BufWriter::new(pager)), stderr: Some(for_error_content()?) },
        None => for_following()?,
    })
}

/// The same for output that is printed as it comes.
pub(crate) fn for_following() -> Result<Logs, Failure> {
    Ok(Logs { stdout: watched_content()?, stderr: Some(watched_error_content()?) })
}

/// Whether standard output and standard error are the same terminal, pipe or file.
pub(crate) fn is_also_stderr() -> bool {
    let found =
        |stream: &dyn AsFd| stream.as_fd().try_clone_to_owned().and_then(|stream| File::from(stream).metadata());
    let [stdout, stderr] = [found(&io::stdout()), found(&io::stderr())];
    let place = |found: &Metadata| (found.dev(), found.ino(), found.rdev());
    matches!((stdout, stderr), (Ok(stdout), Ok(stderr)) if place(&stdout) == place(&stderr))
}

/// Standard error for what a workload wrote to it.
pub(crate) fn for_error_content() -> Result<Box<dyn Write>, Failure> {
    content(io::stderr(), io::stderr().is_terminal())
}

/// Standard output for isobox's own documents and tables, in which everything hostile is escaped already.
pub(crate) fn for_documents() -> BufWriter<io::StdoutLock<'static>> {
    BufWriter::new(io::stdout().lock())
}

/// The caller's streams as `run` and `tool` pass them on. A session where a person reads and types has a terminal of its own.
pub(crate) fn caller(kind: SandboxKind) -> Result<Caller, Failure> {
    let stdin = io::stdin();
    if kind == SandboxKind::Session && stdin.is_terminal() && is_terminal() {
        return on_terminal();
    }
    let stdin = match stdin.is_terminal() {
        true => None,
        false => Some(Box::new(unbuffered(stdin)?) as _),
    };
    Ok(Caller { stdin, stdout: watched_content()?, stderr: watched_error_content()?, terminal: None })
}

/// The caller's streams for a verification: its input is empty, and both outputs go to standard error, so that standard output
/// stays the report of the Promotion.
pub(crate) fn verification_caller() -> Result<Caller, Failure> {
    Ok(Caller { stdin: None, stdout: watched_error_content()?, stderr: watched_error_content()?, terminal: None })
}

/// Standard output for what a workload produced, before isobox has something to say about it.
fn watched_content() -> Result<Box<dyn Write>, Failure> {
    for_content().map(open_line::on_stdout)
}

/// The same of standard error.
fn watched_error_content() -> Result<Box<dyn Write>, Failure> {
    for_error_content().map(open_line::on_stderr)
}

fn on_terminal() -> Result<Caller, Failure> {
    let failed = |error| Failure::new(FailureKind::General, "read from the terminal").because(error);
    let (terminal, keys) = SessionTerminal::open(unbuffered(io::stdin())?).map_err(failed)?;
    // What draws on a terminal has to reach it as it is.
    let stdout = open_line::on_stdout(Box::new(CallerStream::new(unbuffered(io::stdout())?)));
    let stderr = if io::stderr().is_terminal() { StderrPlace::Terminal } else { StderrPlace::Apart };
    let terminal = Some(Session { terminal: Box::new(terminal), stderr });
    Ok(Caller { stdin: Some(keys), stdout, stderr: watched_error_content()?, terminal })
}

/// The failure of a write to standard output. A reader that went away wanted no more: see [`is_unwanted`].
pub(crate) fn unwritten(error: io::Error) -> Failure {
    Failure::new(FailureKind::General, "write to standard output").because(error)
}

/// Whether a command failed only because nobody reads its output any more.
pub(crate) fn is_unwanted(failure: &Failure) -> bool {
    let cause = failure.source.as_ref().and_then(|source| source.downcast_ref::<io::Error>());
    cause.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn content(stream: impl AsFd, is_terminal: bool) -> Result<Box<dyn Write>, Failure> {
    let stream = CallerStream::new(unbuffered(stream)?);
    Ok(if is_terminal { Box::new(TerminalWriter::new(stream)) } else { Box::new(stream) })
}

fn unbuffered(stream: impl AsFd) -> Result<File, Failure> {
    let duplicate = stream.as_fd().try_clone_to_owned();
    let failed = |error| Failure::new(FailureKind::General, "duplicate a standard stream").because(error);
    duplicate.map(File::from).map_err(failed)
}
