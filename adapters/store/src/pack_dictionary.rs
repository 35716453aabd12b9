//! The dictionary of a pack, which is looked for when a record needs it.

use crate::index::Pack;
use isobox_domain::content::ContentId;
use isobox_store_format::dictionary::{Dictionary, find_dictionary};
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

/// Dictionaries of sealed packs, which stay as they are. That of a lane is looked for each time.
#[derive(Debug, Default)]
pub(crate) struct RecentDictionaries {
    all: VecDeque<(ContentId, Option<Arc<Dictionary>>)>,
}

impl RecentDictionaries {
    /// The dictionary of `pack`, which is open as `file`.
    pub(crate) fn find(&mut self, pack: Pack, file: &File) -> io::Result<Option<Arc<Dictionary>>> {
        let look = || Ok::<_, io::Error>(find_in(file)?.map(Arc::new));
        let Pack::Sealed(id) = pack else { return look() };
        let known = self.all.iter().position(|(of, _)| *of == id).and_then(|at| self.all.remove(at));
        let dictionary = known.map_or_else(look, |(_, dictionary)| Ok(dictionary))?;
        self.all.push_front((id, dictionary.clone()));
        self.all.truncate(KEPT);
        Ok(dictionary)
    }
}
