//! Names that nothing else has.

use isobox_domain::content::hex;
use std::fs::File;
use std::io::{self, Read};

/// 32 hex digits that nobody can guess.
pub(crate) fn random_name() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(hex(&bytes))
}
