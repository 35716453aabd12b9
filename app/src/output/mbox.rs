//! A commit as a mail in a mailbox, as `git am` takes it.

use crate::failure::{Failure, FailureKind};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use isobox_domain::timestamp::Timestamp;
use isobox_ports::Author;
use std::io::{self, Write};

/// Bytes in one line of base 64: RFC 2045, section 6.8.
const LINE_BYTES: usize = 57;

/// What the mail says before its patch.
#[derive(Debug)]
pub(crate) struct Mail<'a> {
    /// Which commit it is of.
    pub(crate) commit: String,
    pub(crate) author: &'a Author,
    pub(crate) at: Timestamp,
    /// The message of the commit: a first line, and after an empty one the rest.
    pub(crate) message: &'a str,
    pub(crate) encoding: Encoding,
}

/// How the bytes of a mail's body are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// As they are.
    Plain,
    /// In base 64.
    Base64,
}

impl Encoding {
    /// The one in which a patch is the same after `git am` read it.
    pub(crate) const fn of(scan: &Scan) -> Self {
        if scan.is_changed_by_mail { Self::Base64 } else { Self::Plain }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Plain => "8bit",
            Self::Base64 => "base64",
        }
    }
}

/// Looks through a patch for what a mail would not keep: `git mailsplit` takes the carriage return from the end of a line.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    is_changed_by_mail: bool,
}

impl Write for Scan {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.is_changed_by_mail |= bytes.iter().any(|byte| matches!(byte, b'\r' | 0));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a mail whose patch `write_patch` writes.
pub(crate) fn write(
    out: &mut dyn Write,
    mail: &Mail<'_>,
    write_patch: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (subject, rest) = mail.message.split_once("\n\n").unwrap_or((mail.message, ""));
    write_head(out, mail, subject).map_err(unwritten)?;
    match mail.encoding {
        Encoding::Plain => write_body(out, rest, write_patch)?,
        Encoding::Base64 => {
            let mut lines = Base64Lines { out, line: Vec::with_capacity(LINE_BYTES) };
            write_body(&mut lines, rest, write_patch)?;
            lines.end_line().map_err(unwritten)?;
        }
    }
    out.write_all(b"\n").map_err(unwritten)
}

fn write_head(out: &mut dyn Write, mail: &Mail<'_>, subject: &str) -> io::Result<()> {
    // The date in the first line is the one by which programs know mails of Git: see git-format-patch(1).
    writeln!(out, "From {} Mon Sep 17 00:00:00 2001", mail.commit)?;
    out.write_all(&[b"From: ", person(mail.author).as_slice(), b"\n"].concat())?;
    writeln!(out, "Date: {}\nSubject: [PATCH] {subject}", mail.at.in_mail())?;
    let encoding = mail.encoding.name();
    write!(out, "MIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: {encoding}\n\n")
}

fn write_body(
    out: &mut dyn Write,
    rest: &str,
    write_patch: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    write!(out, "{rest}---\n\n").map_err(unwritten)?;
    write_patch(out)?;
    write!(out, "-- \nisobox {}\n", env!("CARGO_PKG_VERSION")).map_err(unwritten)
}

fn unwritten(error: io::Error) -> Failure {
    Failure::new(FailureKind::General, "write the mail; nothing was exported").because(error)
}

/// The name and the address of a person: RFC 5322, section 3.4, and RFC 2047 for a name that is not ASCII.
fn person(author: &Author) -> Vec<u8> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'-' | b'_' | b'\'' | b'+' | b'/');
    let name = match &author.name {
        name if name.iter().all(is_plain) => name.clone(),
        name => format!("=?UTF-8?B?{}?=", STANDARD.encode(name)).into_bytes(),
    };
    [name.as_slice(), b" <", &author.email, b">"].concat()
}

/// Bytes as lines of base 64.
struct Base64Lines<'a> {
    out: &'a mut dyn Write,
    line: Vec<u8>,
}

impl Base64Lines<'_> {
    fn end_line(&mut self) -> io::Result<()> {
        if !self.line.is_empty() {
            writeln!(self.out, "{}", STANDARD.encode(&self.line))?;
            self.line.clear();
        }
        Ok(())
    }
}

impl Write for Base64Lines<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(LINE_BYTES - self.line.len());
        self.line.extend(&bytes[..count]);
        if self.line.len() == LINE_BYTES {
            self.end_line()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
