//! What one pack holds, by kinds: what stands before a COMMIT is what that says, or a file of its Change Set.

use super::references::References;
use crate::index::Pack;
use crate::pack_scan::read_commit;
use crate::store::FsTaskStore;
use isobox_domain::content::ContentId;
use isobox_domain::measurement::{ContentKind, Measurement};
use isobox_store_format::commit::{Commit, Committed};
use isobox_store_format::entry::{EntryHeader, EntryKind, HEADER_LEN};
use isobox_store_format::record::ChildRole;
use isobox_store_format::scan::{Found, Scanner};
use std::collections::HashMap;
use std::fs::File;
use std::io;

/// How many entries lie between two words about how far it has come.
const TELL_EVERY: u64 = 1024;
/// So many entries before a COMMIT are remembered; what comes before them counts as files.
const REMEMBERED: usize = 1 << 16;

/// The measurement of one pack or lane.
pub(super) struct PackStat<'a> {
    store: &'a FsTaskStore,
    file: &'a File,
    found: &'a mut Measurement,
    /// Whether what no COMMIT here follows is committed elsewhere.
    is_named: bool,
    /// Entries that no COMMIT follows yet.
    span: Vec<(u64, EntryHeader)>,
}

impl<'a> PackStat<'a> {
    pub(super) fn new(store: &'a FsTaskStore, file: &'a File, found: &'a mut Measurement, is_named: bool) -> Self {
        Self { store, file, found, is_named, span: Vec::new() }
    }

    /// Measures it up to `length`; `advance` is told how far it has come. Nothing behind `settled_end` in a lane is committed.
    pub(super) fn run(mut self, pack: Pack, settled_end: u64, length: u64, advance: &dyn Fn(u64)) -> io::Result<()> {
        let end = if matches!(pack, Pack::Lane(_)) { settled_end.min(length) } else { length };
        let mut scanner = Scanner::new(self.file, 0, end);
        let mut steps = 0u64;
        while let Some(step) = scanner.find_next()? {
            let reached = self.step(step)?;
            steps += 1;
            if steps.is_multiple_of(TELL_EVERY) {
                advance(reached);
            }
        }
        if length > end {
            self.found.unreferenced.abandoned.add(length - end, length - end);
        }
        if self.is_named {
            self.settle(|_| ContentKind::File);
        } else {
            self.abandon();
        }
        Ok(())
    }

    /// Takes in what the scan came across; where that ends.
    fn step(&mut self, step: Found) -> io::Result<u64> {
        match step {
            Found::Entry { offset, header } => {
                self.entry(offset, header)?;
                Ok(offset + header.entry_length())
            }
            Found::Damage { offset, end } => {
                self.found.unreferenced.damaged_bytes += end - offset;
                // What stands before damage is read, so it may be needed.
                self.settle(
                    |header| if header.kind == EntryKind::Record { ContentKind::Record } else { ContentKind::File },
                );
                Ok(end)
            }
            Found::Torn { offset } => Ok(offset),
        }
    }

    fn entry(&mut self, offset: u64, header: EntryHeader) -> io::Result<()> {
        match header.kind {
            EntryKind::Commit => return self.commit(offset, header),
            EntryKind::Filler => self.found.header_bytes += header.entry_length(),
            EntryKind::Artifact | EntryKind::Record | EntryKind::Large => {
                if self.span.len() >= REMEMBERED {
                    self.settle(|_| ContentKind::File);
                }
                self.span.push((offset, header));
            }
        }
        Ok(())
    }

    fn commit(&mut self, offset: u64, header: EntryHeader) -> io::Result<()> {
        let read = read_commit(self.file, offset, &header)?;
        let Some(commit) = read.filter(|commit| commit.store == self.store.shared.layout.format.store) else {
            self.found.unreferenced.damaged_bytes += header.entry_length();
            return Ok(());
        };
        let mut kinds = kinds_of(&commit);
        for child in &commit.children {
            self.found.referred.add(child.reference.length);
        }
        if let Some(change_set) = commit.children.iter().find(|child| child.role == ChildRole::ChangeSet.number()) {
            let mut references = References::new(self.store, self.file, &self.span);
            match references.of(&change_set.reference) {
                Some(referred) => {
                    self.found.referred.count += referred.files.count;
                    self.found.referred.bytes += referred.files.bytes;
                    kinds.extend(referred.chunks.into_iter().map(|chunk| (chunk, ContentKind::ChangeSet)));
                }
                None => self.found.unread_change_sets += 1,
            }
        }
        self.settle(|header| kinds.get(&header.id).copied().unwrap_or(ContentKind::File));
        self.found.add(ContentKind::Commit, header.raw_length, header.stored_length);
        self.found.header_bytes += HEADER_LEN as u64;
        Ok(())
    }

    /// Counts what was remembered as what `kind` says.
    fn settle(&mut self, kind: impl Fn(&EntryHeader) -> ContentKind) {
        for (_, header) in self.span.drain(..) {
            // A reference to a large artifact is all header: what it names is counted with the files.
            let is_header = header.kind == EntryKind::Large;
            self.found.header_bytes += if is_header { header.entry_length() } else { HEADER_LEN as u64 };
            if !is_header {
                self.found.add(kind(&header), header.raw_length, header.stored_length);
            }
        }
    }

    fn abandon(&mut self) {
        for (_, header) in self.span.drain(..) {
            self.found.unreferenced.abandoned.add(header.raw_length, header.entry_length());
        }
    }
}

/// What a COMMIT says of the kinds of objects.
fn kinds_of(commit: &Commit) -> HashMap<ContentId, ContentKind> {
    let committed = match commit.committed {
        Committed::Record => ContentKind::Record,
        Committed::Event { .. } => ContentKind::Event,
    };
    let children = commit.children.iter().filter_map(|child| {
        let role = ChildRole::ALL.into_iter().find(|role| role.number() == child.role)?;
        Some((child.reference.id, kind_of(role)))
    });
    children.chain([(commit.record.id, committed)]).collect()
}

const fn kind_of(role: ChildRole) -> ContentKind {
    match role {
        ChildRole::Policy => ContentKind::Policy,
        ChildRole::Stdout | ChildRole::Stderr => ContentKind::Output,
        ChildRole::ChangeSet => ContentKind::ChangeSet,
        ChildRole::Patch => ContentKind::Patch,
        ChildRole::WorkspaceGit | ChildRole::V1Files => ContentKind::Archive,
        ChildRole::V1Record => ContentKind::Imported,
    }
}
