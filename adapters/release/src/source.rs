//! A publisher's releases by URL: nothing is believed before its signature or its checksum says so.

use crate::failed;
use crate::http::{self, Scheme};
use crate::key::TrustedKeys;
use crate::place::{Located, Place};
use isobox_domain::release::{MAX_INDEX_BYTES, ReleaseFile, ReleaseIndex, Sha256};
use isobox_ports::{Cause, ReleaseSource, UpdateError};
use sha2::Digest;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

/// The name of the index at a place of releases. Its signature has `.minisig` behind it.
pub const INDEX_NAME: &str = "releases.txt";
/// Longest signature that is read, in bytes. minisign's own limit on the comment in it is half of this.
const MAX_SIGNATURE_BYTES: u64 = 16 << 10;

/// Releases at a place, signed by keys that are trusted.
#[derive(Clone, Debug)]
pub struct SignedReleaseSource {
    place: Place,
    keys: TrustedKeys,
    deadline: Instant,
}

impl SignedReleaseSource {
    /// Waits for all that it fetches no longer than `patience`, from now on.
    pub fn new(place: Place, keys: TrustedKeys, patience: Duration) -> Self {
        Self { place, keys, deadline: Instant::now() + patience }
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read>, UpdateError> {
        match self.place.file(name) {
            Located::Https(url) => http::open(Scheme::Https, &url, self.deadline),
            Located::Http(url) => http::open(Scheme::Http, &url, self.deadline),
            // Only a file: a pipe would wait for whoever writes to it.
            Located::File(path) => match path.metadata() {
                Ok(metadata) if !metadata.is_file() => Err("it is no file".into()),
                _ => File::open(path).map(|file| Box::new(file) as _).map_err(Cause::from),
            },
        }
        .map_err(|source| self.unreachable(name, source))
    }

    /// The whole of a small file.
    fn read(&self, name: &str, limit: u64) -> Result<Vec<u8>, UpdateError> {
        let mut content = Vec::new();
        let mut limited = self.open(name)?.take(limit + 1);
        limited.read_to_end(&mut content).map_err(|error| self.unreachable(name, error))?;
        match content.len() as u64 > limit {
            true => Err(self.untrusted(name, format!("at most {limit} bytes expected, found more"))),
            false => Ok(content),
        }
    }

    fn unreachable(&self, name: &str, source: impl Into<Cause>) -> UpdateError {
        UpdateError::Unreachable { place: format!("{}{name}", self.place), source: source.into() }
    }

    fn untrusted(&self, name: &str, problem: String) -> UpdateError {
        UpdateError::Untrusted { what: format!("{}{name}", self.place), problem }
    }
}

impl ReleaseSource for SignedReleaseSource {
    fn index(&self) -> Result<ReleaseIndex, UpdateError> {
        let index = self.read(INDEX_NAME, MAX_INDEX_BYTES)?;
        let signature = self.read(&format!("{INDEX_NAME}.minisig"), MAX_SIGNATURE_BYTES)?;
        self.keys.verify(&index, &signature).map_err(|problem| self.untrusted(INDEX_NAME, problem))?;
        ReleaseIndex::parse(&index).map_err(|error| self.untrusted(INDEX_NAME, error.to_string()))
    }

    fn fetch(&self, file: &ReleaseFile, into: &mut dyn Write) -> Result<(), UpdateError> {
        let name = &file.name;
        // One byte more than there should be is enough to know.
        let mut body = self.open(name)?.take(file.bytes + 1);
        let (mut hash, mut found, mut buffer) = (sha2::Sha256::new(), 0, vec![0; 64 << 10]);
        loop {
            let read = match body.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.unreachable(name, error)),
            };
            hash.update(&buffer[..read]);
            found += read as u64;
            into.write_all(&buffer[..read]).map_err(failed::io("write a copy of", name.as_ref()))?;
        }
        let expected = file.bytes;
        if found != expected {
            let found = if found > expected { "more".to_owned() } else { found.to_string() };
            return Err(self.untrusted(name, format!("{expected} bytes expected, found {found}")));
        }
        let found = Sha256(hash.finalize().into());
        match found == file.sha256 {
            true => Ok(()),
            false => Err(self.untrusted(name, format!("SHA-256 {} expected, found {found}", file.sha256))),
        }
    }
}
