//! Both outputs of a record in the order in which they came.

use super::stored_runs::StoredRuns;
use super::{Ports, open};
use crate::failure::Failure;
use isobox_domain::record::TaskArtifacts;
use isobox_domain::timeline::{OutputStream, Run};
use isobox_domain::timestamp::Timestamp;
use isobox_ports::Content;
use std::io::{self, BufRead, BufReader};

/// Bytes that are handed over at once, at most.
const CHUNK: usize = 64 << 10;

/// Bytes of one output that came at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    /// Of which output.
    pub(crate) stream: OutputStream,
    /// When they came; `None` where that is not known.
    pub(crate) at: Option<Timestamp>,
    /// The bytes.
    pub(crate) bytes: &'a [u8],
}

/// In which order pieces are handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// In that in which they came.
    Exact,
    /// In that in which their lines began: no line is interrupted by one of the other output.
    ByLine,
}

/// Both outputs, opened.
pub(crate) struct Replay {
    outputs: [Output; 2],
    runs: Option<StoredRuns>,
    order: Order,
}

/// How far one output was handed over.
struct Output {
    stream: OutputStream,
    /// `None` at its end.
    content: Option<BufReader<Content>>,
    /// Where its next byte is.
    position: u64,
    /// Where its next run begins.
    run_starts: u64,
}

impl Replay {
    /// Opens the outputs in `artifacts`, of which what is in `wanted` is told. A timeline that cannot be read is the second
    /// value: without it, one output comes after the other.
    pub(crate) fn open(
        ports: &Ports<'_>,
        artifacts: &TaskArtifacts,
        wanted: impl Fn(OutputStream) -> bool,
        order: Order,
    ) -> Result<(Self, Option<Failure>), Failure> {
        let output = |stream| {
            let (what, artifact) = match stream {
                OutputStream::Stdout => ("standard output", artifacts.stdout),
                OutputStream::Stderr => ("standard error", artifacts.stderr),
            };
            let content =
                artifact.filter(|_| wanted(stream)).map(|artifact| open(ports, what, artifact)).transpose()?;
            let content = content.map(|content| BufReader::with_capacity(CHUNK, content));
            Ok::<_, Failure>(Output { stream, content, position: 0, run_starts: 0 })
        };
        let outputs = [output(OutputStream::Stdout)?, output(OutputStream::Stderr)?];
        let runs = artifacts.timeline.map(|timeline| open(ports, "the timeline of the output", timeline)).transpose();
        let runs = runs.and_then(|content| content.map(StoredRuns::new).transpose().map_err(unread));
        let (runs, unreadable) = match runs {
            Ok(runs) => (runs, None),
            Err(failure) => (None, Some(failure)),
        };
        Ok((Self { outputs, runs, order }, unreadable))
    }

    /// Leaves out the first bytes of an output: they were told before.
    pub(crate) fn skip(&mut self, stream: OutputStream, length: u64) -> Result<(), Failure> {
        self.outputs[stream.index()].hand_over(Some(length), None, &mut |_| Ok(())).map(drop).map_err(unread)
    }

    /// Hands everything over. Returns how many bytes of it came at a time that is not known.
    pub(crate) fn hand_over(mut self, to: &mut dyn FnMut(Piece<'_>) -> io::Result<()>) -> io::Result<u64> {
        let mut runs = self.runs.take();
        while let Some(run) = runs.as_mut().and_then(StoredRuns::next) {
            self.outputs[run.stream.index()].run(run, self.order, to)?;
        }
        let mut timeless = 0;
        for output in &mut self.outputs {
            timeless += output.hand_over(None, None, to)?;
        }
        Ok(timeless)
    }
}

fn unread(error: io::Error) -> Failure {
    Failure::new(crate::failure::FailureKind::Store, "read the captured output").because(error)
}

impl Output {
    fn run(&mut self, run: Run, order: Order, to: &mut dyn FnMut(Piece<'_>) -> io::Result<()>) -> io::Result<()> {
        // A line that began before may have taken some of it, or all.
        let end = run.length.map(|length| self.run_starts.saturating_add(length));
        let rest = end.map(|end| end.saturating_sub(self.position));
        self.run_starts = end.unwrap_or(u64::MAX);
        if rest == Some(0) {
            return Ok(());
        }
        let mut is_line_whole = true;
        self.hand_over(rest, Some(run.at), &mut |piece| {
            is_line_whole = piece.bytes.ends_with(b"\n");
            to(piece)
        })?;
        if order == Order::ByLine && !is_line_whole { self.hand_over_line(run.at, to) } else { Ok(()) }
    }

    /// Hands over what comes next, up to `most` bytes, and returns how much that was.
    fn hand_over(
        &mut self,
        most: Option<u64>,
        at: Option<Timestamp>,
        to: &mut dyn FnMut(Piece<'_>) -> io::Result<()>,
    ) -> io::Result<u64> {
        let mut done = 0;
        while most != Some(done) {
            let left = most.map_or(usize::MAX, |most| usize::try_from(most - done).unwrap_or(usize::MAX));
            let length = self.give(at, to, |bytes| bytes.len().min(left))?;
            if length == 0 {
                break;
            }
            done += length as u64;
        }
        Ok(done)
    }

    /// Hands over the rest of a line, which began at `at`.
    fn hand_over_line(&mut self, at: Timestamp, to: &mut dyn FnMut(Piece<'_>) -> io::Result<()>) -> io::Result<()> {
        let mut is_whole = false;
        while !is_whole {
            let length = self.give(Some(at), to, |bytes| {
                let end = bytes.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
                is_whole = end.is_some();
                end.unwrap_or(bytes.len())
            })?;
            if length == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Hands over as much of the bytes that are there as `part` says; 0 at the end.
    fn give(
        &mut self,
        at: Option<Timestamp>,
        to: &mut dyn FnMut(Piece<'_>) -> io::Result<()>,
        part: impl FnOnce(&[u8]) -> usize,
    ) -> io::Result<usize> {
        let Some(content) = &mut self.content else { return Ok(0) };
        let bytes = content.fill_buf()?;
        let length = part(bytes);
        if length == 0 {
            self.content = None;
            return Ok(0);
        }
        to(Piece { stream: self.stream, at, bytes: &bytes[..length] })?;
        content.consume(length);
        self.position += length as u64;
        Ok(length)
    }
}

#[cfg(test)]
mod tests;
