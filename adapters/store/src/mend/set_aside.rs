//! Whole copies among what was set aside: ends of lanes that were cut off, and packs that were mended, in quarantine.

use crate::dir::{Access, Dir, absent_is_none};
use crate::error::failed;
use crate::index::{Pack, readable};
use crate::pack_dictionary::{PackDictionary, find_in};
use crate::pack_scan::{PackScan, Step, read_header, read_payload};
use crate::store::FsTaskStore;
use isobox_domain::content::ContentId;
use isobox_ports::{Content, StoreError};
use isobox_store_format::block::Block;
use isobox_store_format::dictionary::Dictionary;
use isobox_store_format::entry::{Codec, EntryHeader, Place};
use isobox_store_format::frame::decode_payload_with;
use std::fs::File;
use std::io::{self, Cursor};

/// So many objects are known of; what was set aside after them is not looked for, and stays where it is.
const MOST: usize = 1 << 17;
/// What is in the name of a pack or lane that was set aside, before what tells it from others.
const PACK: &str = ".pack.";

/// Where an object stands.
type At = (usize, u64);

/// What was set aside.
pub(super) struct SetAside<'a> {
    store: &'a FsTaskStore,
    quarantine: Option<Dir>,
    names: Vec<String>,
    /// Sorted: of an object there may be several, and not all of them whole.
    places: Vec<(ContentId, At)>,
}

impl<'a> SetAside<'a> {
    /// Goes through the headers of all that was set aside.
    pub(super) fn open(store: &'a FsTaskStore) -> Result<Self, StoreError> {
        let root = &store.shared.layout.root;
        let subject = root.shown("quarantine");
        let quarantine = root.find_dir("quarantine").map_err(failed("open", &subject))?;
        let mut found = Self { store, quarantine, names: Vec::new(), places: Vec::new() };
        found.look().map_err(failed("read", &subject))?;
        Ok(found)
    }

    fn look(&mut self) -> io::Result<()> {
        let Some(quarantine) = &self.quarantine else { return Ok(()) };
        let mut names = quarantine.names()?;
        names.retain(|name| name.contains(PACK));
        names.sort();
        self.names = names;
        for number in 0..self.names.len() {
            // What else somebody put there is nothing to take copies from, and what cannot be read is a reason to repair
            // what can.
            if let Ok(Some(file)) = self.file(number)
                && self.look_into(number, &file).is_err()
            {
                continue;
            }
        }
        self.places.sort_unstable();
        Ok(())
    }

    fn file(&self, number: usize) -> io::Result<Option<File>> {
        let (Some(quarantine), name) = (&self.quarantine, &self.names[number]) else { return Ok(None) };
        match absent_is_none(quarantine.file(name, Access::Read)) {
            Err(error) if crate::dir::is_no_file(&error) => Ok(None),
            found => found,
        }
    }

    fn look_into(&mut self, number: usize, file: &File) -> io::Result<()> {
        let (format, length) = (&self.store.shared.layout.format, readable(file.metadata()?.len()));
        // Which pack it was makes no difference.
        let mut scan = PackScan::new(format.store, Pack::Lane(0), file, 0, length);
        while let Some(step) = scan.find_next()? {
            match step {
                Step::Entry(id, location) => self.note(id, (number, location.offset)),
                Step::Block { offset, members, .. } => {
                    members.into_iter().for_each(|member| self.note(member.id, (number, offset)));
                }
                Step::Commit { .. } | Step::Damage { .. } => {}
            }
        }
        Ok(())
    }

    fn note(&mut self, id: ContentId, at: At) {
        if self.places.len() < MOST {
            self.places.push((id, at));
        }
    }

    /// The content `id`, verified, if there is a whole copy of it.
    pub(super) fn find(&self, id: &ContentId) -> Option<Content> {
        let first = self.places.partition_point(|(other, _)| other < id);
        let places = self.places[first..].iter().take_while(|(other, _)| other == id);
        let raw = { places }.find_map(|(_, at)| self.whole(*at, id))?;
        Some(Box::new(Cursor::new(raw)))
    }

    /// The content `id`, if it is whole at this place. Whatever keeps it from being read: it is not whole then.
    fn whole(&self, (number, offset): At, id: &ContentId) -> Option<Vec<u8>> {
        let file = self.file(number).ok()??;
        self.read(&file, offset, id).ok()?
    }

    fn read(&self, file: &File, offset: u64, id: &ContentId) -> io::Result<Option<Vec<u8>>> {
        let Some(header) = read_header(file, offset, Place::Pack)? else { return Ok(None) };
        let payload = read_payload(file, offset, &header)?;
        if header.codec == Codec::Block {
            let block = Block::decode(&header, &payload).ok();
            return Ok(block.and_then(|block| block.open(id).ok().flatten().map(<[u8]>::to_vec)));
        }
        match PackDictionary::of(file).decode(&header, payload.clone())? {
            Ok(raw) => Ok(Some(raw)),
            Err(_) if header.codec == Codec::Dictionary => self.read_with_others(&header, &payload),
            Err(_) => Ok(None),
        }
    }

    /// Reads a record whose dictionary stayed at the beginning of the lane that it was cut off from, wherever that is now.
    fn read_with_others(&self, header: &EntryHeader, payload: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let (lanes, sealed) = (self.store.lanes(), self.store.sealed());
        for pack in [lanes, sealed].into_iter().flatten().flatten() {
            let Some(dictionary) = self.dictionary(pack)? else { continue };
            if let Ok(raw) = decode_payload_with(header, payload.to_vec(), Some(&dictionary)) {
                return Ok(Some(raw));
            }
        }
        Ok(None)
    }

    fn dictionary(&self, pack: Pack) -> io::Result<Option<Dictionary>> {
        let file = absent_is_none(pack.open(&self.store.shared.layout))?;
        file.map_or(Ok(None), |file| find_in(&file))
    }
}
