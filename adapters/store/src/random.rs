//! Random names.

use isobox_domain::content::hex;
use rustix::rand::{GetRandomFlags, getrandom};
use std::io;

/// 16 bytes that nobody can guess.
pub(crate) fn random_bytes() -> io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    let mut filled = 0;
    // So few are given whole, but for a signal before the kernel has gathered enough: see getrandom(2).
    while filled < bytes.len() {
        filled += match getrandom(&mut bytes[filled..], GetRandomFlags::empty()) {
            Err(rustix::io::Errno::INTR) => 0,
            given => given?,
        };
    }
    Ok(bytes)
}

/// A name that nothing else has: 32 hex digits.
pub(crate) fn random_name() -> io::Result<String> {
    random_bytes().map(|bytes| hex(&bytes))
}
