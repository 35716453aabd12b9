//! The workload's streams: live and byte for byte to the caller, and into the record.

use super::timeline::Timeline;
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::limit::{ExceededLimit, Limit, LimitEffect};
use isobox_domain::record::{OutputLoss, TaskRecord};
use isobox_domain::timeline::OutputStream;
use isobox_ports::{
    Attempt, CallerTerminal, Content, Flow, ObjectWriter, Role, StderrPlace, StoreError, Streams, TerminalRequest,
};
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// The caller's ends of the streams.
pub(crate) struct Caller {
    /// What to pass to the workload; `None` for nothing.
    pub(crate) stdin: Option<Content>,
    /// Where its standard output goes.
    pub(crate) stdout: Box<dyn Write>,
    /// Where its standard error goes.
    pub(crate) stderr: Box<dyn Write>,
    /// The caller's terminal, of a session that gets one of its own.
    pub(crate) terminal: Option<Session>,
}

/// A session that gets a terminal.
pub(crate) struct Session {
    /// The caller's.
    pub(crate) terminal: Box<dyn CallerTerminal>,
    /// Where its standard error goes.
    pub(crate) stderr: StderrPlace,
}

impl Session {
    /// The terminal that it gets.
    pub(super) fn wanted(&self) -> TerminalRequest {
        TerminalRequest { size: self.terminal.size(), stderr: self.stderr }
    }
}

/// Whether the caller received all output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// All of it, or all that the caller wanted: a reader that closed its end wanted no more.
    Whole,
    /// Not all, and why.
    Lost(String),
}

/// Both output streams and what was read of the input.
pub(super) struct Tee<'a> {
    stdin: Option<Content>,
    read: Arc<Mutex<Digest>>,
    stdout: Passage<'a>,
    stderr: Passage<'a>,
    terminal: Option<Session>,
    budget: Budget,
    timeline: Timeline<'a>,
}

/// How much of both outputs is kept.
struct Budget {
    limit: Option<u64>,
    passed_bytes: u64,
}

impl Budget {
    /// The part of the next piece that is within the limit.
    fn kept<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let left = self.limit.map_or(u64::MAX, |limit| limit.saturating_sub(self.passed_bytes));
        self.passed_bytes = self.passed_bytes.saturating_add(bytes.len() as u64);
        &bytes[..usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len())]
    }

    fn exceeded(&self) -> Option<ExceededLimit> {
        let value = self.limit.filter(|limit| self.passed_bytes > *limit)?;
        Some(ExceededLimit {
            limit: Limit::Output,
            value,
            observed: self.passed_bytes,
            evidence: "isobox's own counter; the rest was passed on and not kept".to_owned(),
            effect: LimitEffect::Unnoticed,
        })
    }
}

impl<'a> Tee<'a> {
    /// Keeps no more than `limit` bytes of both outputs, and in `timeline` when they came.
    pub(super) fn new(caller: Caller, attempt: &'a dyn Attempt, limit: Option<u64>, timeline: Timeline<'a>) -> Self {
        Self {
            stdin: caller.stdin,
            read: Arc::default(),
            stdout: Passage::new(caller.stdout, attempt, Role::Stdout),
            stderr: Passage::new(caller.stderr, attempt, Role::Stderr),
            terminal: caller.terminal,
            budget: Budget { limit, passed_bytes: 0 },
            timeline,
        }
    }

    /// Completes the outputs of `record`, and says how they reached the caller, and whether they were more than is kept.
    pub(super) fn finish(self, record: &mut TaskRecord) -> (Delivery, Option<ExceededLimit>) {
        let exceeded = self.budget.exceeded();
        record.stdin = self.read.lock().unwrap_or_else(PoisonError::into_inner).reference();
        let (stdout, out_dropped, out_delivery) = self.stdout.finish();
        let (stderr, err_dropped, err_delivery) = self.stderr.finish();
        record.artifacts.stdout = stdout;
        record.artifacts.stderr = stderr;
        let dropped_bytes = out_dropped + err_dropped;
        if dropped_bytes > 0 {
            record.output_loss = OutputLoss::StoreFailed { dropped_bytes };
            record.warnings.push(format!(
                "{dropped_bytes} bytes of output were passed on but not kept: the task store failed while the workload ran"
            ));
        }
        self.timeline.finish(record);
        (if out_delivery == Delivery::Whole { err_delivery } else { out_delivery }, exceeded)
    }
}

impl Streams for Tee<'_> {
    fn stdin(&mut self) -> Option<Content> {
        let content = self.stdin.take()?;
        if self.terminal.is_some() {
            // A person's keys are few, and among them are passwords: from their digest they could be guessed.
            return Some(content);
        }
        Some(Box::new(Digesting { content, read: Arc::clone(&self.read) }))
    }

    fn stdout(&mut self, bytes: &[u8]) -> Flow {
        let kept = self.budget.kept(bytes);
        self.stdout.note(OutputStream::Stdout, kept, &mut self.timeline);
        self.stdout.pass(bytes, kept)
    }

    fn stderr(&mut self, bytes: &[u8]) -> Flow {
        let kept = self.budget.kept(bytes);
        self.stderr.note(OutputStream::Stderr, kept, &mut self.timeline);
        self.stderr.pass(bytes, kept)
    }

    fn terminal(&mut self) -> Option<&mut dyn CallerTerminal> {
        Some(&mut *self.terminal.as_mut()?.terminal)
    }
}

/// One output stream on its two ways.
struct Passage<'a> {
    attempt: &'a dyn Attempt,
    role: Role,
    keeper: Keeper,
    kept_bytes: u64,
    dropped_bytes: u64,
    caller: Box<dyn Write>,
    state: CallerState,
}

enum Keeper {
    /// Nothing came yet, so nothing is staged.
    Unopened,
    Open(Box<dyn ObjectWriter>),
    /// The store failed; what it had kept until then, if that could be saved.
    Failed(Option<ContentRef>),
}

enum CallerState {
    Reading,
    Gone,
    Lost(io::Error),
}

impl<'a> Passage<'a> {
    fn new(caller: Box<dyn Write>, attempt: &'a dyn Attempt, role: Role) -> Self {
        let (keeper, state) = (Keeper::Unopened, CallerState::Reading);
        Self { attempt, role, keeper, kept_bytes: 0, dropped_bytes: 0, caller, state }
    }

    /// Tells the timeline of bytes that are going to be kept. First: what is kept has its time, whatever happens in between.
    fn note(&self, stream: OutputStream, kept: &[u8], timeline: &mut Timeline<'_>) {
        if !matches!(self.keeper, Keeper::Failed(_)) {
            timeline.piece(stream, kept.len());
        }
    }

    fn pass(&mut self, bytes: &[u8], kept: &[u8]) -> Flow {
        if !kept.is_empty() {
            self.keep(kept);
        }
        self.give(bytes)
    }

    // A store that fails must not end a workload that runs: its output is passed on, and the record says what is missing.
    fn keep(&mut self, bytes: &[u8]) {
        if let Keeper::Unopened = self.keeper {
            self.keeper = self.attempt.stage(self.role).map_or(Keeper::Failed(None), Keeper::Open);
        }
        if let Keeper::Open(writer) = &mut self.keeper {
            match writer.write_all(bytes) {
                Ok(()) => return self.kept_bytes += bytes.len() as u64,
                Err(_) => self.save_what_was_kept(),
            }
        }
        self.dropped_bytes += bytes.len() as u64;
    }

    fn save_what_was_kept(&mut self) {
        let saved = match std::mem::replace(&mut self.keeper, Keeper::Failed(None)) {
            Keeper::Open(writer) => writer.finish().ok(),
            Keeper::Unopened | Keeper::Failed(_) => None,
        };
        let saved_bytes = saved.map_or(0, |reference| reference.length);
        self.dropped_bytes += self.kept_bytes.saturating_sub(saved_bytes);
        self.keeper = Keeper::Failed(saved);
    }

    fn give(&mut self, bytes: &[u8]) -> Flow {
        if let CallerState::Reading = self.state {
            match self.caller.write_all(bytes).and_then(|()| self.caller.flush()) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.state = CallerState::Gone,
                Err(error) => self.state = CallerState::Lost(error),
            }
        }
        match self.state {
            CallerState::Gone => Flow::Closed,
            CallerState::Reading | CallerState::Lost(_) => Flow::Continue,
        }
    }

    fn finish(mut self) -> (Option<ContentRef>, u64, Delivery) {
        let delivery = match &self.state {
            CallerState::Reading | CallerState::Gone => Delivery::Whole,
            CallerState::Lost(error) => Delivery::Lost(error.to_string()),
        };
        let kept = self.end_keeping();
        (kept.filter(|reference| reference.length > 0), self.dropped_bytes, delivery)
    }

    fn end_keeping(&mut self) -> Option<ContentRef> {
        match std::mem::replace(&mut self.keeper, Keeper::Unopened) {
            Keeper::Unopened => None,
            Keeper::Failed(saved) => saved,
            Keeper::Open(writer) => match writer.finish() {
                Ok(reference) => Some(reference),
                Err(StoreError { .. }) => {
                    self.dropped_bytes += self.kept_bytes;
                    None
                }
            },
        }
    }
}

/// Length and BLAKE3 of what was read so far.
#[derive(Default)]
struct Digest {
    hasher: blake3::Hasher,
    length: u64,
}

impl Digest {
    fn reference(&self) -> Option<ContentRef> {
        let id = ContentId::new(*self.hasher.finalize().as_bytes());
        (self.length > 0).then_some(ContentRef { id, length: self.length })
    }
}

struct Digesting {
    content: Content,
    read: Arc<Mutex<Digest>>,
}

impl Read for Digesting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.content.read(buffer)?;
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.hasher.update(&buffer[..length]);
        read.length += length as u64;
        Ok(length)
    }
}
