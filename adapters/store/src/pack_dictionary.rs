//! The dictionary of a pack, which is looked for when a record needs it.

use crate::index::Pack;
use isobox_domain::content::ContentId;
use isobox_store_format::dictionary::{Beginning, Dictionary, find_dictionary};
use isobox_store_format::entry::{Codec, EntryError, EntryHeader};
use isobox_store_format::frame::decode_payload_with;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::Arc;

/// So many dictionaries are kept, for somebody who reads the records of several packs in turn: half a MiB at most.
const KEPT: usize = 32;

/// What the records of one file are read with.
#[derive(Debug)]
pub(crate) struct PackDictionary<'a> {
    file: &'a File,
    /// Once it was looked for.
    found: Option<Option<Dictionary>>,
}

impl<'a> PackDictionary<'a> {
    pub(crate) const fn of(file: &'a File) -> Self {
        Self { file, found: None }
    }

    /// The raw bytes of an entry in the file, verified.
    pub(crate) fn decode(&mut self, header: &EntryHeader, payload: Vec<u8>) -> io::Result<Result<Vec<u8>, EntryError>> {
        let dictionary = if header.codec == Codec::Dictionary { self.find()? } else { None };
        Ok(decode_payload_with(header, payload, dictionary))
    }

    /// The dictionary.
    pub(crate) fn find(&mut self) -> io::Result<Option<&Dictionary>> {
        let found = match self.found.take() {
            Some(found) => found,
            None => find_in(self.file)?,
        };
        Ok(self.found.insert(found).as_ref())
    }
}

/// The dictionary that a file begins with.
pub(crate) fn find_in(file: &File) -> io::Result<Option<Dictionary>> {
    find_dictionary(file, file.metadata()?.len())
}

/// Dictionaries of sealed packs, which stay as they are, and of the lane that was put into last: that one counts only while
/// its file begins as it did, byte for byte.
#[derive(Debug, Default)]
pub(crate) struct RecentDictionaries {
    all: VecDeque<(ContentId, Option<Arc<Dictionary>>)>,
    of_lane: Option<Beginning>,
}

impl RecentDictionaries {
    /// The dictionary of `pack`, which is open as `file`.
    pub(crate) fn find(&mut self, pack: Pack, file: &File) -> io::Result<Option<Arc<Dictionary>>> {
        let Pack::Sealed(id) = pack else { return self.find_in_lane(file, file.metadata()?.len()) };
        let known = self.all.iter().position(|(of, _)| *of == id).and_then(|at| self.all.remove(at));
        let look = || Ok::<_, io::Error>(find_in(file)?.map(Arc::new));
        let dictionary = known.map_or_else(look, |(_, dictionary)| Ok(dictionary))?;
        self.all.push_front((id, dictionary.clone()));
        self.all.truncate(KEPT);
        Ok(dictionary)
    }

    /// The dictionary of a lane, of which `length` bytes count.
    pub(crate) fn find_in_lane(&mut self, file: &File, length: u64) -> io::Result<Option<Arc<Dictionary>>> {
        if let Some(known) = &self.of_lane
            && known.is_of(file, length)?
        {
            return Ok(Some(Arc::clone(known.dictionary())));
        }
        self.of_lane = Beginning::read(file, length)?;
        match &self.of_lane {
            Some(found) => Ok(Some(Arc::clone(found.dictionary()))),
            None => Ok(find_dictionary(file, length)?.map(Arc::new)),
        }
    }
}
