//! Captured output on its way to where it is read: each stream where it came from, or both in one place.

use crate::output::redacting::Redacted;
use crate::output::stamps::{Places, Stamps};
use crate::output::stdout::{self, Logs};
use crate::use_case::logs::Piece;
use isobox_domain::timeline::OutputStream;
use std::io::{self, Write};

/// What is told before each line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamping {
    /// When its first byte came.
    Times,
    /// Nothing: bytes are passed on as they are.
    Nothing,
}

/// Which outputs are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Both, each where it came from.
    Both,
    /// One of them, on standard output.
    One(OutputStream),
}

impl Wanted {
    /// Whether this output is.
    pub(crate) fn has(self, stream: OutputStream) -> bool {
        self == Self::Both || self == Self::One(stream)
    }
}

/// Where captured output goes.
pub(crate) struct LogsOutput {
    wanted: Wanted,
    stdout: Box<dyn Write>,
    /// `None`: where standard output goes.
    stderr: Option<Box<dyn Write>>,
    stamps: Option<Stamps>,
}

impl LogsOutput {
    /// Writes what is `wanted` to `logs`; without what is secret-shaped if that is to be counted.
    pub(crate) fn new(logs: Logs, wanted: Wanted, stamping: Stamping, redacted: Option<&Redacted>) -> Self {
        let logs = match (redacted, stamping) {
            (Some(redacted), Stamping::Nothing) => logs.redacted(redacted),
            _ => logs,
        };
        let Logs { stdout, stderr } = logs;
        let stderr = stderr.filter(|_| wanted == Wanted::Both);
        let places = match (wanted, &stderr) {
            (Wanted::One(_), _) => Places::Two,
            (Wanted::Both, Some(_)) if !stdout::is_also_stderr() => Places::Two,
            (Wanted::Both, _) => Places::One,
        };
        let stamps = (stamping == Stamping::Times).then(|| Stamps::new(places, redacted.cloned()));
        Self { wanted, stdout, stderr, stamps }
    }

    /// Writes a piece, if it is wanted.
    pub(crate) fn write(&mut self, piece: Piece<'_>) -> io::Result<()> {
        if !self.wanted.has(piece.stream) {
            return Ok(());
        }
        let to = place(&mut self.stdout, &mut self.stderr, piece.stream);
        match &mut self.stamps {
            Some(stamps) => stamps.write(piece, to),
            None => to.write_all(piece.bytes),
        }
    }

    /// Makes what was written of an output be seen.
    pub(crate) fn flush(&mut self, stream: OutputStream) -> io::Result<()> {
        place(&mut self.stdout, &mut self.stderr, stream).flush()
    }

    /// Writes what was held back.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        for stream in OutputStream::BOTH {
            let to = place(&mut self.stdout, &mut self.stderr, stream);
            if let Some(stamps) = &mut self.stamps {
                stamps.finish(stream, to)?;
            }
            to.flush()?;
        }
        Ok(())
    }
}

fn place<'a>(
    stdout: &'a mut Box<dyn Write>,
    stderr: &'a mut Option<Box<dyn Write>>,
    stream: OutputStream,
) -> &'a mut dyn Write {
    match (stream, stderr) {
        (OutputStream::Stderr, Some(stderr)) => &mut **stderr,
        _ => &mut **stdout,
    }
}
