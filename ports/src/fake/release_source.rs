//! A publisher of releases in memory.

use crate::{FileError, ReleaseSource, UpdateError};
use isobox_domain::release::{MAX_INDEX_BYTES, ReleaseFile, ReleaseIndex, Sha256};
use sha2::Digest;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::Write;

/// Releases, and how often anything was asked for.
#[derive(Debug, Default)]
pub struct InMemoryReleases {
    /// The index, and whether a key that is trusted signed it.
    index: RefCell<Option<(Vec<u8>, bool)>>,
    files: RefCell<BTreeMap<String, Vec<u8>>>,
    asked: Cell<u32>,
}

impl InMemoryReleases {
    /// Offers an index that a trusted key signed.
    pub fn publish(&self, index: &[u8]) {
        self.index.replace(Some((index.to_vec(), true)));
    }

    /// Offers an index that nobody signed who is trusted.
    pub fn publish_untrusted(&self, index: &[u8]) {
        self.index.replace(Some((index.to_vec(), false)));
    }

    /// Offers a Release File.
    pub fn put(&self, name: &str, content: &[u8]) {
        self.files.borrow_mut().insert(name.to_owned(), content.to_vec());
    }

    /// How often anything was asked for.
    pub fn asked(&self) -> u32 {
        self.asked.get()
    }
}

impl ReleaseSource for InMemoryReleases {
    fn index(&self) -> Result<ReleaseIndex, UpdateError> {
        self.asked.set(self.asked.get() + 1);
        match &*self.index.borrow() {
            None => Err(unreachable("the index")),
            Some((_, false)) => Err(untrusted("the index", "no key that is trusted signed it")),
            Some((index, true)) if index.len() as u64 > MAX_INDEX_BYTES => {
                Err(untrusted("the index", "it is too long"))
            }
            Some((index, true)) => {
                ReleaseIndex::parse(index).map_err(|error| untrusted("the index", &error.to_string()))
            }
        }
    }

    fn fetch(&self, file: &ReleaseFile, into: &mut dyn Write) -> Result<(), UpdateError> {
        self.asked.set(self.asked.get() + 1);
        let files = self.files.borrow();
        let content = files.get(&file.name).ok_or_else(|| unreachable(&file.name))?;
        let read = content.len().min(usize::try_from(file.bytes).unwrap_or(usize::MAX).saturating_add(1));
        into.write_all(&content[..read]).map_err(|error| FileError {
            operation: "write a copy of",
            host_path: file.name.clone(),
            source: error.into(),
        })?;
        let is_whole = content.len() as u64 == file.bytes;
        match is_whole && Sha256(sha2::Sha256::digest(content).into()) == file.sha256 {
            true => Ok(()),
            false => Err(untrusted(&file.name, "other bytes expected")),
        }
    }
}

fn unreachable(place: &str) -> UpdateError {
    UpdateError::Unreachable { place: place.to_owned(), source: "nothing is there".into() }
}

fn untrusted(what: &str, problem: &str) -> UpdateError {
    UpdateError::Untrusted { what: what.to_owned(), problem: problem.to_owned() }
}
