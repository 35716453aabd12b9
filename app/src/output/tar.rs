//! A tar archive, the same bytes for the same files: pax interchange format of POSIX.1-2001, and where nothing is too long
//! for it, ustar alone.

use isobox_domain::change::Mode;
use isobox_domain::report::MAX_LINK_TARGET_BYTES;
use std::io::{self, Read, Write};

const BLOCK_BYTES: usize = 512;
/// Archives end at a multiple of this, which tar reads at once.
const RECORD_BYTES: u64 = 20 * BLOCK_BYTES as u64;
const NAME_BYTES: usize = 100;
/// The longest content that eleven octal digits can tell.
const MAX_USTAR_BYTES: u64 = 0o777_7777_7777;

/// Writes an archive, entry by entry.
pub(crate) struct TarWriter<'a> {
    out: &'a mut dyn Write,
    /// Seconds since 1970 that every entry bears.
    modified_at_s: u64,
    written: u64,
}

/// What an entry is.
struct Entry<'a> {
    kind: u8,
    bits: u32,
    path: &'a [u8],
    target: &'a [u8],
    length: u64,
}

impl<'a> TarWriter<'a> {
    pub(crate) const fn new(out: &'a mut dyn Write, modified_at_s: u64) -> Self {
        Self { out, modified_at_s, written: 0 }
    }

    /// Writes a file, or a link whose target is the content.
    pub(crate) fn write(&mut self, path: &[u8], mode: Mode, length: u64, content: &mut dyn Read) -> io::Result<()> {
        if mode == Mode::Symlink {
            let mut target = Vec::new();
            content.take(MAX_LINK_TARGET_BYTES).read_to_end(&mut target)?;
            return self.begin(&Entry { kind: b'2', bits: 0o777, path, target: &target, length: 0 });
        }
        let bits = if mode == Mode::Executable { 0o755 } else { 0o644 };
        self.begin(&Entry { kind: b'0', bits, path, target: b"", length })?;
        if io::copy(content, self.out)? != length {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the content has another length than was recorded",
            ));
        }
        self.written += length;
        self.pad(BLOCK_BYTES as u64)
    }

    /// Ends the archive.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.put(&[0; 2 * BLOCK_BYTES])?;
        self.pad(RECORD_BYTES)
    }

    fn begin(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        let mut records = Vec::new();
        let mut extend = |key: &str, value: &[u8]| records.extend(record(key, value));
        if entry.path.len() > NAME_BYTES {
            extend("path", entry.path);
        }
        if entry.target.len() > NAME_BYTES {
            extend("linkpath", entry.target);
        }
        if entry.length > MAX_USTAR_BYTES {
            extend("size", entry.length.to_string().as_bytes());
        }
        if !records.is_empty() {
            let length = records.len() as u64;
            self.header(&Entry { kind: b'x', bits: 0o644, path: entry.path, target: b"", length })?;
            self.put(&records)?;
            self.pad(BLOCK_BYTES as u64)?;
        }
        self.header(entry)
    }

    fn header(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        let mut header = [0; BLOCK_BYTES];
        let mut put = |at: usize, bytes: &[u8], most: usize| {
            let bytes = &bytes[..bytes.len().min(most)];
            header[at..at + bytes.len()].copy_from_slice(bytes);
        };
        put(0, entry.path, NAME_BYTES);
        put(100, format!("{:07o}", entry.bits).as_bytes(), 8);
        put(108, b"0000000", 8);
        put(116, b"0000000", 8);
        put(124, format!("{:011o}", entry.length.min(MAX_USTAR_BYTES)).as_bytes(), 12);
        put(136, format!("{:011o}", self.modified_at_s).as_bytes(), 12);
        // The sum is that of a header with blanks in its place.
        put(148, b"        ", 8);
        put(156, &[entry.kind], 1);
        put(157, entry.target, NAME_BYTES);
        put(257, b"ustar\x0000", 8);
        put(265, b"root", 32);
        put(297, b"root", 32);
        put(329, b"0000000", 8);
        put(337, b"0000000", 8);
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        self.put(&header)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    fn pad(&mut self, to: u64) -> io::Result<()> {
        let missing = (to - self.written % to) % to;
        self.put(&vec![0; missing as usize])
    }
}

/// A record of an extended header: its own length, which counts its digits too, a key and a value.
fn record(key: &str, value: &[u8]) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let digits = |number: usize| number.to_string().len();
    let mut length = rest + digits(rest);
    length = rest + digits(length);
    [format!("{length} {key}=").as_bytes(), value, b"\n"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_counts_its_own_digits() {
        assert_eq!(record("path", b"a"), b"9 path=a\n");
        for length in 1..1200 {
            let record = record("path", &vec![b'a'; length]);
            assert!(record.starts_with(format!("{} path=", record.len()).as_bytes()), "{length}");
        }
    }
}
