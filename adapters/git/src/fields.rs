//! Fields of the files that isobox keeps for itself, as they are read back.

use std::io::{self, Read};

/// The next `N` bytes.
pub(crate) fn read_array<const N: usize>(input: &mut impl Read) -> io::Result<[u8; N]> {
    let mut buffer = [0; N];
    input.read_exact(&mut buffer)?;
    Ok(buffer)
}

/// The next `length` bytes. The caller bounds the length, for memory is taken before anything is read.
pub(crate) fn read_vec(input: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; length];
    input.read_exact(&mut buffer)?;
    Ok(buffer)
}

/// Why what is there is not what isobox wrote or expects.
pub(crate) fn invalid(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
