//! Archives in the POSIX tar format (ustar, with pax headers for long paths), the same bytes for the same files.
//!
//! Every entry is a regular file of mode 0644, owner and group 0, and time 0.

use std::io::{self, Read, Write};

const BLOCK: u64 = 512;
/// Longest path that fits into a ustar header without a pax header before it.
const MAX_SHORT_PATH: usize = 100;
/// Bytes at the end of an archive.
pub(super) const END_BYTES: u64 = 2 * BLOCK;

/// Bytes that an entry takes.
pub(super) fn entry_bytes(path: &[u8], length: u64) -> u64 {
    let pax = if path.len() > MAX_SHORT_PATH { BLOCK + padded(pax_record(path).len() as u64) } else { 0 };
    pax + BLOCK + padded(length)
}

/// Writes a file of `length` bytes. Content that is longer is cut off; what is missing is filled up with zeros.
pub(super) fn write_entry(out: &mut dyn Write, path: &[u8], length: u64, content: &mut dyn Read) -> io::Result<()> {
    if path.len() > MAX_SHORT_PATH {
        let record = pax_record(path);
        out.write_all(&header(b"pax", record.len() as u64, b'x'))?;
        out.write_all(&record)?;
        write_zeros(out, padded(record.len() as u64) - record.len() as u64)?;
    }
    out.write_all(&header(&path[..path.len().min(MAX_SHORT_PATH)], length, b'0'))?;
    let mut left = length;
    let mut buffer = vec![0; 64 * 1024];
    while left > 0 {
        let limit = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        // What cannot be read any more is missing like what is not there any more.
        let Ok(count @ 1..) = content.read(&mut buffer[..limit]) else { break };
        out.write_all(&buffer[..count])?;
        left -= count as u64;
    }
    write_zeros(out, left + padded(length) - length)
}

/// Ends an archive.
pub(super) fn write_end(out: &mut dyn Write) -> io::Result<()> {
    write_zeros(out, END_BYTES)
}

fn padded(length: u64) -> u64 {
    length.div_ceil(BLOCK).saturating_mul(BLOCK)
}

fn write_zeros(out: &mut dyn Write, count: u64) -> io::Result<()> {
    io::copy(&mut io::repeat(0).take(count), out).map(drop)
}

fn header(path: &[u8], length: u64, kind: u8) -> [u8; BLOCK as usize] {
    let mut block = [0; BLOCK as usize];
    block[..path.len()].copy_from_slice(path);
    for (range, text) in [
        (100..107, "0000644".to_owned()),
        (108..115, "0000000".to_owned()),
        (116..123, "0000000".to_owned()),
        (124..135, format!("{length:011o}")),
        (136..147, "00000000000".to_owned()),
    ] {
        block[range].copy_from_slice(text.as_bytes());
    }
    block[156] = kind;
    block[257..265].copy_from_slice(b"ustar\x0000");
    // The checksum is taken over a header with spaces in its place. See pax(1), "ustar Interchange Format".
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
    block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    block
}

/// `LENGTH path=PATH\n`, where LENGTH counts itself.
fn pax_record(path: &[u8]) -> Vec<u8> {
    let rest = [b" path=", path, b"\n"].concat();
    let mut length = rest.len();
    while length != rest.len() + length.to_string().len() {
        length = rest.len() + length.to_string().len();
    }
    [length.to_string().as_bytes(), &rest].concat()
}
