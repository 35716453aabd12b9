//! One pack, from its first entry to its last.

use super::chains::Run;
use super::part::{Hurt, Lost, Part};
use super::span::Span;
use crate::error::failed;
use crate::index::{Pack, readable};
use crate::lane_tail::{Tail, end_to_read, find_tail};
use crate::pack_dictionary::PackDictionary;
use crate::pack_scan::{read_commit, read_payload};
use crate::store::FsTaskStore;
use isobox_domain::content::ContentId;
use isobox_domain::verification::{Affected, Defect, DefectKind, Thoroughness, TornTail, Verification};
use isobox_ports::{RecordLog, StoreError};
use isobox_store_format::commit::{Commit, Committed};
use isobox_store_format::entry::{EntryHeader, EntryKind};
use isobox_store_format::event::decode_event;
use isobox_store_format::scan::{Found, Scanner};
use std::fs::File;
use std::io;

/// How many entries lie between two words about how far it has come.
const TELL_EVERY: u64 = 256;

/// The check of one pack or lane.
pub(super) struct PackCheck<'a> {
    pub(super) store: &'a FsTaskStore,
    pub(super) how: Thoroughness,
    pub(super) pack: Pack,
    pub(super) file: &'a File,
    dictionary: PackDictionary<'a>,
    shown: String,
    pub(super) found: Verification,
    pub(super) span: Span,
    runs: Vec<Run>,
    pub(super) lost: Vec<Lost>,
    hurt: Vec<Hurt>,
    /// Where the last COMMIT, or damage after it, ends.
    settled: u64,
}

impl<'a> PackCheck<'a> {
    pub(super) fn new(store: &'a FsTaskStore, how: Thoroughness, pack: Pack, file: &'a File) -> Self {
        let shown = pack.shown(&store.shared.layout).to_string();
        let found = Verification { packs: 1, ..Verification::default() };
        let (span, runs, lost, hurt) = (Span::default(), Vec::new(), Vec::new(), Vec::new());
        let dictionary = PackDictionary::of(file);
        Self { store, how, pack, file, dictionary, shown, found, span, runs, lost, hurt, settled: 0 }
    }

    /// Checks everything; `advance` is told of bytes that were gone through.
    pub(super) fn run(mut self, advance: impl Fn(u64)) -> Result<Part, StoreError> {
        let shown = self.shown.clone();
        let read = failed("read", &shown);
        let length = readable(self.file.metadata().map_err(&read)?.len());
        let end = self.end_to_read(length).map_err(&read)?;
        let mut scanner = Scanner::of_pack(self.file, 0, end);
        let mut told = 0;
        while let Some(found) = scanner.find_next().map_err(&read)? {
            let end = self.step(found)?;
            if self.found.entries.is_multiple_of(TELL_EVERY) {
                advance(end.saturating_sub(told));
                told = told.max(end);
            }
        }
        advance(length.saturating_sub(told));
        self.check_name().map_err(&read)?;
        self.note_tail(length).map_err(&read)?;
        Ok(Part { found: self.found, runs: self.runs, lost: self.lost, hurt: self.hurt })
    }

    fn end_to_read(&self, length: u64) -> io::Result<u64> {
        match self.pack {
            Pack::Lane(_) => end_to_read(self.file, self.store.shared.layout.format.store, 0..length),
            Pack::Sealed(_) => Ok(length),
        }
    }

    /// Tells of what no COMMIT follows. In a pack that is sealed, a cut entry is damage.
    fn note_tail(&mut self, length: u64) -> io::Result<()> {
        let (offset, bytes) = (self.settled, length.saturating_sub(self.settled));
        if matches!(self.pack, Pack::Lane(_)) && bytes > 0 {
            let tail = find_tail(self.file, self.store.shared.layout.format.store)?;
            let (file, is_unwritten) = (self.shown.clone(), matches!(tail, Tail::Unwritten { .. }));
            self.found.leftovers.torn_tails.push(TornTail { file, offset, bytes, is_unwritten });
        }
        Ok(())
    }

    /// Checks what the scan came across; where that ends.
    fn step(&mut self, found: Found) -> Result<u64, StoreError> {
        match found {
            Found::Entry { offset, header } => {
                self.found.entries += 1;
                self.entry(offset, &header)?;
                Ok(offset + header.entry_length())
            }
            Found::Damage { offset, end } => {
                self.uncommitted(offset, format!("{} bytes are no entry", end - offset));
                self.note_hurt(offset, end);
                self.settled = end;
                Ok(end)
            }
            // A writer that was killed leaves it at the end of its lane, and nothing that was acknowledged is in it.
            Found::Torn { offset } => {
                if matches!(self.pack, Pack::Sealed(_)) {
                    self.damaged(offset, "an entry is cut off by the end of the file".into(), None);
                }
                Ok(offset)
            }
        }
    }

    fn entry(&mut self, offset: u64, header: &EntryHeader) -> Result<(), StoreError> {
        let shown = self.shown.clone();
        let read = failed("read", &shown);
        match header.kind {
            EntryKind::Commit => return self.commit(offset, header),
            EntryKind::Large => return self.large(offset, header).map_err(read),
            EntryKind::Block => return self.block(offset, header).map_err(read),
            EntryKind::Filler | EntryKind::Dictionary => {}
            EntryKind::Artifact | EntryKind::Record => self.span.add(header.id, header.kind),
        }
        if self.how.takes(&header.id) {
            self.content(offset, header).map_err(read)?;
        }
        Ok(())
    }

    fn content(&mut self, offset: u64, header: &EntryHeader) -> io::Result<()> {
        let payload = read_payload(self.file, offset, header)?;
        // There are two dictionaries, and nothing refers to them.
        let object = (header.kind != EntryKind::Dictionary).then_some(header.id);
        match self.dictionary.decode(header, payload)? {
            Ok(raw) => self.has_read(raw.len() as u64),
            Err(error) => self.damaged(offset, error.to_string(), object),
        }
        Ok(())
    }

    fn commit(&mut self, offset: u64, header: &EntryHeader) -> Result<(), StoreError> {
        self.settled = offset + header.entry_length();
        let read = read_commit(self.file, offset, header).map_err(failed("read", &self.shown))?;
        match read.filter(|commit| commit.store == self.store.shared.layout.format.store) {
            Some(commit) => {
                self.names_what_is_there(&commit)?;
                Run::add(&mut self.runs, header.id, &commit, &self.shown);
                match commit.committed {
                    Committed::Record => self.found.records += 1,
                    Committed::Event { .. } | Committed::Pruned { .. } => self.found.events += 1,
                }
                self.span.end();
            }
            None => self.uncommitted(offset, "a COMMIT is damaged".into()),
        }
        Ok(())
    }

    /// Damage where the COMMIT may have been of what stands before it.
    fn uncommitted(&mut self, offset: u64, reason: String) {
        let records = self.span.end().and_then(|record| self.known(&record)).into_iter().collect();
        self.add(DefectKind::Damaged { file: self.shown.clone(), offset, reason, object: None }, records);
    }

    fn names_what_is_there(&mut self, commit: &Commit) -> Result<(), StoreError> {
        let children = commit.children.iter().map(|child| child.reference.id);
        for id in children.chain([commit.record.id]) {
            if self.span.knows(&id) {
                continue;
            }
            match self.is_missing(&id)? {
                false => self.span.remember(id),
                true => {
                    let records = match commit.committed {
                        Committed::Record if self.is_pruned(&commit.record.id)? => return Ok(()),
                        // The walk from every record names it, once.
                        Committed::Record => Vec::new(),
                        Committed::Event { subject } | Committed::Pruned { subject } => {
                            self.known(&subject).into_iter().collect()
                        }
                    };
                    self.add(DefectKind::Missing { object: id }, records);
                }
            }
        }
        Ok(())
    }

    /// Whether no place is known where `id` was committed, also none that came since this began.
    fn is_missing(&self, id: &ContentId) -> Result<bool, StoreError> {
        let shared = &self.store.shared;
        Ok(shared.known_locations(id)?.is_empty() && shared.fresh_locations(id)?.is_empty())
    }

    fn is_pruned(&self, record: &ContentId) -> Result<bool, StoreError> {
        let shared = &self.store.shared;
        shared.known_index().is_pruned(&shared.layout, record)
    }

    /// The record that `id` is, or that the event `id` is about, although no COMMIT says so.
    fn known(&self, id: &ContentId) -> Option<Affected> {
        let bytes = self.store.read_small(id, EntryKind::Record).ok()??;
        let record = decode_event(&bytes).map_or(*id, |event| event.subject);
        let loaded = self.store.load(&record).ok()??;
        Some(Affected { task: loaded.task, attempt: loaded.attempt, record })
    }

    // Every byte of a pack belongs to an entry, so this finds only what no entry's own check does.
    fn check_name(&mut self) -> io::Result<()> {
        let Pack::Sealed(name) = self.pack else { return Ok(()) };
        if !self.how.is_whole() || !self.found.is_sound() {
            return Ok(());
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(self.file)?;
        if ContentId::new(*hasher.finalize().as_bytes()) != name {
            self.damaged(0, "its bytes are not those that it is named after".into(), None);
        }
        Ok(())
    }

    /// Notes that nothing between two offsets is what a table says.
    pub(super) fn note_hurt(&mut self, offset: u64, end: u64) {
        if self.hurt.len() < Part::MOST_HURT {
            self.hurt.push(Hurt { pack: self.pack, offset, end });
        }
    }

    pub(super) fn has_read(&mut self, bytes: u64) {
        self.found.read += 1;
        self.found.read_bytes += bytes;
    }

    pub(super) fn damaged(&mut self, offset: u64, reason: String, object: Option<ContentId>) {
        let file = self.shown.clone();
        self.add(DefectKind::Damaged { file, offset, reason, object }, Vec::new());
    }

    pub(super) fn add(&mut self, kind: DefectKind, records: Vec<Affected>) {
        self.found.add(Defect::new(kind, records));
    }
}
