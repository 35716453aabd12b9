//! Binary content in a patch: Git's `literal`, deflated and in base 85.

use gix::zlib::Compression;
use gix::zlib::stream::deflate;
use std::io::{self, Read, Write};

const DIGITS: &[u8; 85] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
/// Deflated bytes in one line.
const LINE_BYTES: usize = 52;

/// Writes `content`, which has `length` bytes. Content that cannot be read to its end gives a literal that readers refuse.
pub(super) fn write(out: &mut dyn Write, length: u64, content: &mut dyn Read) -> io::Result<()> {
    writeln!(out, "literal {length}")?;
    let mut deflated =
        deflate::Write::new(Lines { out, line: Vec::with_capacity(LINE_BYTES) }, Compression::BEST_SPEED);
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = content.read(&mut buffer) {
        deflated.write_all(&buffer[..count])?;
    }
    deflated.flush()?;
    let lines = deflated.into_inner();
    lines.finish()
}

/// Cuts bytes into encoded lines.
struct Lines<'a> {
    out: &'a mut dyn Write,
    line: Vec<u8>,
}

impl Lines<'_> {
    fn end_line(&mut self) -> io::Result<()> {
        if self.line.is_empty() {
            return Ok(());
        }
        // 52 letters say how many bytes a line holds.
        let length = match self.line.len() as u8 {
            count @ ..=26 => b'A' + count - 1,
            count => b'a' + count - 27,
        };
        let mut encoded = vec![length];
        self.line.chunks(4).for_each(|word| push_word(&mut encoded, word));
        encoded.push(b'\n');
        self.line.clear();
        self.out.write_all(&encoded)
    }

    fn finish(mut self) -> io::Result<()> {
        self.end_line()?;
        self.out.write_all(b"\n")
    }
}

impl Write for Lines<'_> {
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

/// Up to four bytes, filled up with zeros, as five digits.
fn push_word(encoded: &mut Vec<u8>, word: &[u8]) {
    let mut padded = [0; 4];
    padded[..word.len()].copy_from_slice(word);
    let mut rest = u32::from_be_bytes(padded);
    let mut digits = [0; 5];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[(rest % 85) as usize];
        rest /= 85;
    }
    encoded.extend(digits);
}
