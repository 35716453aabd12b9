//! Checksums of pieces of a stretch of bytes, however many and however much they overlap, by going through it once.

use crate::scan::{ReadAt, read_exact_at};
use std::io;
use std::ops::Range;

/// So many bytes lie between two places of which the checksum is kept. To get at any other place, fewer are read.
const STEP: u64 = 1024;
/// So many steps are read at once.
const STEPS: u64 = 64;

/// The CRC32C of all that lies between a start and places behind it.
#[derive(Debug)]
pub(crate) struct Checksums {
    start: u64,
    /// The n-th is that of the first n steps.
    known: Vec<u32>,
}

impl Checksums {
    /// Those of what starts at `start`.
    pub(crate) fn from(start: u64) -> Self {
        Self { start, known: vec![0] }
    }

    /// Where the last step ends that was gone through.
    pub(crate) fn end(&self) -> u64 {
        self.start + STEP * (self.known.len() as u64 - 1)
    }

    /// The checksum of the bytes in `piece`, which starts no earlier than these do.
    pub(crate) fn of<R: ReadAt + ?Sized>(&mut self, bytes: &R, piece: Range<u64>) -> io::Result<u32> {
        let (before, with) = (self.up_to(bytes, piece.start)?, self.up_to(bytes, piece.end)?);
        // That of two pieces together is that of the first, moved on by the length of the second, and that of the second.
        Ok(with ^ crc32c::crc32c_combine(before, 0, (piece.end - piece.start) as usize))
    }

    fn up_to<R: ReadAt + ?Sized>(&mut self, bytes: &R, at: u64) -> io::Result<u32> {
        let mut buffer = Vec::new();
        while self.end() + STEP <= at {
            let steps = ((at - self.end()) / STEP).min(STEPS);
            buffer.resize((steps * STEP) as usize, 0);
            read_exact_at(bytes, &mut buffer, self.end())?;
            for step in buffer.chunks(STEP as usize) {
                let before = self.known[self.known.len() - 1];
                self.known.push(crc32c::crc32c_append(before, step));
            }
        }
        let step = (at - self.start) / STEP;
        let mut rest = [0; STEP as usize];
        let rest = &mut rest[..(at - self.start - step * STEP) as usize];
        read_exact_at(bytes, rest, self.start + step * STEP)?;
        Ok(crc32c::crc32c_append(self.known[step as usize], rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_those_of_each_piece_alone() {
        let bytes: Vec<u8> = (0..200_000u32).map(|n| (n.wrapping_mul(n) / 7) as u8).collect();
        let mut checksums = Checksums::from(5);
        let places = [5, 6, 1028, 1029, 1030, 4000, 70_000, 70_001, 150_000, 199_999, 200_000];
        for (start, end) in places.iter().flat_map(|start| places.iter().map(move |end| (*start, *end))) {
            if start <= end {
                let expected = crc32c::crc32c(&bytes[start..end]);
                let found = checksums.of(bytes.as_slice(), start as u64..end as u64).unwrap();
                assert_eq!(found, expected, "{start}..{end}");
            }
        }
    }
}
