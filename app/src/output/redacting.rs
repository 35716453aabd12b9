//! Output without what is secret-shaped in it.

use isobox_domain::masking::Redactor;
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::io::{self, Read, Write};
use std::rc::Rc;

/// How many secret-shaped strings were redacted, wherever.
#[derive(Clone, Debug, Default)]
pub(crate) struct Redacted {
    count: Rc<Cell<u64>>,
    /// Why the last line of something could not be written.
    unwritten: Rc<RefCell<Option<io::Error>>>,
}

impl Redacted {
    /// How many there were.
    pub(crate) fn count(&self) -> u64 {
        self.count.get()
    }

    /// Whether all could be written, once no writer is left: each holds its last line back until it is dropped.
    pub(crate) fn finish(&self) -> io::Result<()> {
        self.unwritten.borrow_mut().take().map_or(Ok(()), Err)
    }

    /// Counts strings that were redacted elsewhere.
    pub(crate) fn add(&self, count: u64) {
        self.count.set(self.count.get() + count);
    }

    /// `inner`, which receives what is written without secret-shaped strings.
    pub(crate) fn writer(&self, inner: Box<dyn Write>) -> Box<dyn Write> {
        Box::new(RedactingWriter { inner, redactor: Redactor::default(), redacted: self.clone() })
    }

    /// What `inner` has, without secret-shaped strings.
    pub(crate) fn reader<'a>(&self, inner: impl Read + 'a) -> Box<dyn Read + 'a> {
        let (inner, redacted) = (Some(Box::new(inner) as Box<dyn Read + 'a>), self.clone());
        Box::new(RedactingReader { inner, redactor: Redactor::default(), ready: Vec::new(), given: 0, redacted })
    }

    /// A document, with no secret-shaped string in a value of its own.
    pub(crate) fn document(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(values) => values.into_iter().map(|value| self.document(value)).collect(),
            Value::Object(fields) => fields
                .into_iter()
                .map(|(name, value)| (name, self.document(value)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            other => other,
        }
    }

    fn text(&self, text: &str) -> String {
        let (mut redactor, mut out) = (Redactor::default(), Vec::new());
        redactor.push(text.as_bytes(), &mut out);
        redactor.finish(&mut out);
        self.add(redactor.count());
        String::from_utf8_lossy(&out).into_owned()
    }
}

struct RedactingWriter {
    inner: Box<dyn Write>,
    redactor: Redactor,
    redacted: Redacted,
}

impl Write for RedactingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut certain = Vec::new();
        self.redactor.push(bytes, &mut certain);
        self.inner.write_all(&certain)?;
        Ok(bytes.len())
    }

    // What is not certain yet stays here.
    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl Drop for RedactingWriter {
    fn drop(&mut self) {
        let mut rest = Vec::new();
        self.redactor.finish(&mut rest);
        self.redacted.add(self.redactor.count());
        if let Err(error) = self.inner.write_all(&rest).and_then(|()| self.inner.flush()) {
            self.redacted.unwritten.borrow_mut().get_or_insert(error);
        }
    }
}

struct RedactingReader<'a> {
    /// `None` once it is at its end.
    inner: Option<Box<dyn Read + 'a>>,
    redactor: Redactor,
    ready: Vec<u8>,
    given: usize,
    redacted: Redacted,
}

impl Read for RedactingReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.ready.len() {
            (self.given, self.ready) = (0, Vec::new());
            let Some(inner) = &mut self.inner else { return Ok(0) };
            let mut piece = [0; 16 << 10];
            match inner.read(&mut piece)? {
                0 => {
                    self.inner = None;
                    self.redactor.finish(&mut self.ready);
                    self.redacted.add(self.redactor.count());
                }
                length => self.redactor.push(&piece[..length], &mut self.ready),
            }
        }
        let length = buffer.len().min(self.ready.len() - self.given);
        buffer[..length].copy_from_slice(&self.ready[self.given..self.given + length]);
        self.given += length;
        Ok(length)
    }
}
