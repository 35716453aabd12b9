//! What an attempt has staged: a little in memory, one file for everything else that is small, and one for each large artifact.

use crate::dir::{Access, Dir};
use crate::pack_scan::read_payload;
use isobox_domain::content::{ContentId, ContentRef};
use isobox_store_format::entry::{EntryHeader, EntryKind};
use isobox_store_format::frame::{Compressor, decode_payload};
use isobox_store_format::scan::{Found, Scanner};
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const SMALL: &str = "staged";
/// How many ids are remembered so that equal content is staged once, at 32 bytes each.
pub(crate) const REMEMBERED: usize = 1 << 16;
/// So many bytes of small entries are kept in memory. Most attempts stage no more, and need no file for them: nothing that
/// was staged whole is looked for after a kill.
const IN_MEMORY: u64 = 1 << 18;

/// A large artifact in the attempt's directory.
#[derive(Clone, Debug)]
pub(crate) struct StagedLarge {
    /// Its file name there.
    pub(crate) name: String,
    /// The header that its file starts with.
    pub(crate) header: EntryHeader,
}

/// The staged objects of one attempt.
#[derive(Debug)]
pub(crate) struct Staging {
    dir: Arc<Dir>,
    kept: Vec<(EntryHeader, Vec<u8>)>,
    kept_length: u64,
    /// For small entries for which there is no room in memory.
    file: Option<File>,
    file_length: u64,
    compressor: Option<Compressor>,
    remembered: HashSet<ContentId>,
    large: Vec<StagedLarge>,
    names: u64,
}

/// A staging area that several writers add to.
pub(crate) type SharedStaging = Arc<Mutex<Staging>>;

/// Takes the staging area. A writer that panicked left whole entries at worst.
pub(crate) fn hold(staging: &SharedStaging) -> MutexGuard<'_, Staging> {
    staging.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Staging {
    /// Stages into `dir`, over what a dead owner may have staged there.
    pub(crate) fn new(dir: Arc<Dir>) -> Self {
        Self {
            dir,
            kept: Vec::new(),
            kept_length: 0,
            file: None,
            file_length: 0,
            compressor: None,
            remembered: HashSet::new(),
            large: Vec::new(),
            names: 0,
        }
    }

    /// The attempt's directory.
    pub(crate) fn dir(&self) -> Arc<Dir> {
        Arc::clone(&self.dir)
    }

    /// How many bytes of small entries there are.
    pub(crate) fn length(&self) -> u64 {
        self.kept_length + self.file_length
    }

    /// The large artifacts.
    pub(crate) fn large(&self) -> &[StagedLarge] {
        &self.large
    }

    /// Stages something small, whole.
    pub(crate) fn add_small(&mut self, raw: &[u8]) -> io::Result<ContentRef> {
        let reference = isobox_store_format::object::reference_to(raw);
        if self.remembered.contains(&reference.id) {
            return Ok(reference);
        }
        let (header, stored) = self.compressor()?.entry_of(EntryKind::Artifact, raw, &reference)?;
        if self.kept_length + header.entry_length() <= IN_MEMORY {
            self.kept_length += header.entry_length();
            self.kept.push((header, stored));
        } else {
            let at = self.file_length;
            self.file()?.write_all_at(&[header.encode().as_slice(), &stored].concat(), at)?;
            self.file_length += header.entry_length();
        }
        if self.remembered.len() < REMEMBERED {
            self.remembered.insert(reference.id);
        }
        Ok(reference)
    }

    /// Takes in a large artifact that was written to the file `name`.
    pub(crate) fn add_large(&mut self, large: StagedLarge) {
        self.large.push(large);
    }

    /// A file name for the next large artifact.
    pub(crate) fn next_name(&mut self) -> String {
        self.names += 1;
        format!("large-{}", self.names)
    }

    /// Hands every small entry to `take`; what was on the disk is read back and verified.
    pub(crate) fn for_each_small<E>(
        &self,
        mut take: impl FnMut(&EntryHeader, &[u8]) -> Result<(), E>,
        failed: impl Fn(io::Error) -> E,
    ) -> Result<(), E> {
        self.kept.iter().try_for_each(|(header, stored)| take(header, stored))?;
        let Some(file) = &self.file else { return Ok(()) };
        let mut scanner = Scanner::new(file, 0, self.file_length);
        while let Some(found) = scanner.find_next().map_err(&failed)? {
            let Found::Entry { offset, header } = found else {
                return Err(failed(io::Error::other("what was staged reads back damaged")));
            };
            let stored = read_payload(file, offset, &header).map_err(&failed)?;
            decode_payload(&header, stored.clone()).map_err(|e| failed(io::Error::other(e)))?;
            take(&header, &stored)?;
        }
        Ok(())
    }

    fn compressor(&mut self) -> io::Result<&mut Compressor> {
        match &mut self.compressor {
            Some(compressor) => Ok(compressor),
            empty => Ok(empty.insert(Compressor::new()?)),
        }
    }

    fn file(&mut self) -> io::Result<&File> {
        match &mut self.file {
            Some(file) => Ok(file),
            empty => Ok(empty.insert(self.dir.file(SMALL, Access::Fresh)?)),
        }
    }
}
