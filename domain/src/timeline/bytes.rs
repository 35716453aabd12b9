//! The bytes of a timeline: a header, and entries of equal length.

use super::OutputStream;
use crate::timestamp::Timestamp;

/// Bytes that a timeline begins with: what it is, and when it starts.
pub const HEADER_BYTES: usize = 16;
/// Bytes of each entry.
pub const ENTRY_BYTES: usize = 8;

/// What a timeline begins with: a byte that no text has, a name, and the version of what follows.
const MAGIC: [u8; 8] = *b"\xb1isotl\x01\n";
/// The upper two bits of an entry's second number say what begins with it.
const KIND_SHIFT: u32 = 30;

/// One entry of a timeline: a run ends where the next one begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Milliseconds since the entry before it, or since the start.
    pub after_ms: u32,
    /// Bytes of the run that ends here; 0 in the first entry, before which there is none.
    pub length: u32,
    /// What begins here.
    pub next: Next,
}

/// What begins with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A run of this stream.
    Run(OutputStream),
    /// Nothing: it is the last entry.
    Nothing,
}

impl Entry {
    /// The longest run that an entry can end, in bytes.
    pub const MOST_BYTES: u32 = (1 << KIND_SHIFT) - 1;

    /// Its bytes. The length must be at most [`MOST_BYTES`](Self::MOST_BYTES).
    pub fn encode(self) -> [u8; ENTRY_BYTES] {
        let kind = match self.next {
            Next::Run(OutputStream::Stdout) => 0,
            Next::Run(OutputStream::Stderr) => 1,
            Next::Nothing => 2,
        };
        let second = self.length.min(Self::MOST_BYTES) | kind << KIND_SHIFT;
        (u64::from(self.after_ms) | u64::from(second) << 32).to_le_bytes()
    }

    /// What `bytes` say; `None` if no entry has them.
    pub fn decode(bytes: [u8; ENTRY_BYTES]) -> Option<Self> {
        let both = u64::from_le_bytes(bytes);
        let (after_ms, second) = ((both & u64::from(u32::MAX)) as u32, (both >> 32) as u32);
        let next = match second >> KIND_SHIFT {
            0 => Next::Run(OutputStream::Stdout),
            1 => Next::Run(OutputStream::Stderr),
            2 => Next::Nothing,
            _ => return None,
        };
        Some(Self { after_ms, length: second & Self::MOST_BYTES, next })
    }
}

/// What a timeline that starts at `started_at` begins with.
pub fn encode_header(started_at: Timestamp) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..MAGIC.len()].copy_from_slice(&MAGIC);
    header[MAGIC.len()..].copy_from_slice(&started_at.unix_ms().to_le_bytes());
    header
}

/// When the timeline starts that begins with `header`; `None` if none does.
pub fn decode_header(header: [u8; HEADER_BYTES]) -> Option<Timestamp> {
    let ms = header.strip_prefix(&MAGIC)?.first_chunk().map(|ms| u64::from_le_bytes(*ms))?;
    Timestamp::from_unix_ms(ms)
}
