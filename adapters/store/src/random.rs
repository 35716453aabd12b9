//! Random names.

use isobox_domain::content::hex;
use std::fs::File;
use std::io::{self, Read};

/// 16 bytes that nobody can guess.
pub(crate) fn random_bytes() -> io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// A name that nothing else has: 32 hex digits.
pub(crate) fn random_name() -> io::Result<String> {
    random_bytes().map(|bytes| hex(&bytes))
}
