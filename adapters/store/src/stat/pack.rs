//! What one pack holds, by kinds: what stands before a COMMIT is what that says, or a file of its Change Set.

use super::gone::Gone;
use super::kinds::{Class, classes_of};
use super::references::References;
use super::shares::divide;
use crate::index::{Extent, Pack};
use crate::pack_scan::{read_commit, read_table};
use crate::store::FsTaskStore;
use isobox_domain::content::ContentId;
use isobox_domain::measurement::{ContentKind, Measurement};
use isobox_store_format::block::{Member, encoded_table_length};
use isobox_store_format::commit::{Commit, Committed};
use isobox_store_format::entry::{EntryHeader, EntryKind, HEADER_LEN};
use isobox_store_format::event::decode_event;
use isobox_store_format::limits::MAX_ENTRIES;
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
    gone: &'a Gone<'a>,
    extent: Extent,
    /// Entries that no COMMIT follows yet.
    span: Vec<(u64, EntryHeader)>,
    /// Members of blocks with what they take: which COMMITs are theirs is known at the end.
    members: Vec<(Member, u64)>,
    /// What the COMMITs say of members.
    classes: HashMap<ContentId, Class>,
}

impl<'a> PackStat<'a> {
    pub(super) fn new(
        store: &'a FsTaskStore,
        file: &'a File,
        found: &'a mut Measurement,
        gone: &'a Gone<'a>,
        extent: Extent,
    ) -> Self {
        Self { store, file, found, gone, extent, span: Vec::new(), members: Vec::new(), classes: HashMap::new() }
    }

    /// Measures it up to `length`; `advance` is told how far it has come. Nothing behind `settled_end` in a lane is committed.
    pub(super) fn run(mut self, length: u64, advance: &dyn Fn(u64)) -> io::Result<()> {
        let Extent { pack, settled_end, is_whole, .. } = self.extent;
        let end = if matches!(pack, Pack::Lane(_)) { settled_end.min(length) } else { length };
        let mut scanner = Scanner::of_pack(self.file, 0, end);
        let mut steps = 0u64;
        while let Some(step) = scanner.find_next()? {
            let known = self.members.len();
            let reached = self.step(step)?;
            scanner.count((self.members.len() - known) as u64);
            steps += 1;
            if steps.is_multiple_of(TELL_EVERY) {
                advance(reached);
            }
        }
        if length > end {
            self.found.unreferenced.abandoned.add(length - end, length - end);
        }
        if is_whole {
            self.settle(|_| Class::There(ContentKind::File));
        } else {
            self.abandon();
        }
        self.settle_members();
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
                self.settle(|header| match header.kind {
                    EntryKind::Record => Class::There(ContentKind::Record),
                    _ => Class::There(ContentKind::File),
                });
                Ok(end)
            }
            Found::Torn { offset } => Ok(offset),
        }
    }

    fn entry(&mut self, offset: u64, header: EntryHeader) -> io::Result<()> {
        match header.kind {
            EntryKind::Commit => return self.commit(offset, header),
            EntryKind::Block => return self.block(offset, &header),
            EntryKind::Filler | EntryKind::Dictionary => self.found.header_bytes += header.entry_length(),
            EntryKind::Artifact | EntryKind::Record | EntryKind::Large => {
                if self.span.len() >= REMEMBERED {
                    self.settle(|_| Class::There(ContentKind::File));
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
        let is_pruned = matches!(commit.committed, Committed::Record)
            && self.gone.is_pruned(&commit.record.id).map_err(io::Error::other)?;
        let mut classes = classes_of(&commit, is_pruned);
        if !is_pruned {
            self.count_referred(&commit, &mut classes);
        }
        self.settle(|header| classes.get(&header.id).copied().unwrap_or(Class::There(ContentKind::File)));
        // No pack has more objects than that, so more of them can only be those of others.
        if self.extent.has_blocks && self.classes.len() < MAX_ENTRIES as usize {
            self.classes.extend(classes);
        }
        self.found.add(ContentKind::Commit, header.raw_length, header.stored_length);
        self.found.header_bytes += HEADER_LEN as u64;
        Ok(())
    }

    /// Counts what a record refers to, and learns which chunks its Change Set has.
    fn count_referred(&mut self, commit: &Commit, classes: &mut HashMap<ContentId, Class>) {
        for child in &commit.children {
            self.found.referred.add(child.reference.length);
        }
        let is_change_set = |role: u8| ChildRole::from_number(role).is_some_and(ChildRole::is_change_set);
        for change_set in commit.children.iter().filter(|child| is_change_set(child.role)) {
            match References::new(self.store, self.file, &self.span).of(&change_set.reference) {
                Some(referred) => {
                    self.found.referred.count += referred.files.count;
                    self.found.referred.bytes += referred.files.bytes;
                    let chunks = referred.chunks.into_iter();
                    classes.extend(chunks.map(|chunk| (chunk, Class::There(ContentKind::ChangeSet))));
                }
                None => self.found.unread_change_sets += 1,
            }
        }
    }

    fn block(&mut self, offset: u64, header: &EntryHeader) -> io::Result<()> {
        let Some(members) = read_table(self.file, offset, header)? else {
            self.found.unreferenced.damaged_bytes += header.entry_length();
            return Ok(());
        };
        let table_length = encoded_table_length(members.len()) as u64;
        let shares = divide(header, members, table_length);
        self.found.header_bytes += shares.rest;
        self.members.extend(shares.members);
        Ok(())
    }

    /// Counts the members of blocks.
    fn settle_members(&mut self) {
        for (member, share) in std::mem::take(&mut self.members) {
            // A reference to a large artifact is counted with the files.
            if member.kind == EntryKind::Large {
                self.found.header_bytes += share;
                continue;
            }
            let class = match (self.gone.has(&member.id), self.classes.get(&member.id)) {
                (true, _) => Class::Pruned,
                (false, Some(class)) => *class,
                (false, None) => self.class_by_content(&member),
            };
            class.add(self.found, u64::from(member.length), share);
        }
    }

    /// What a member is of which no COMMIT in its pack says so.
    fn class_by_content(&self, member: &Member) -> Class {
        if member.kind != EntryKind::Record {
            return Class::There(ContentKind::File);
        }
        let bytes = self.store.read_small(&member.id, EntryKind::Record).ok().flatten();
        let is_event = bytes.is_some_and(|bytes| decode_event(&bytes).is_ok());
        match self.gone.is_pruned(&member.id) {
            Ok(true) => Class::Pruned,
            _ if is_event => Class::There(ContentKind::Event),
            _ => Class::There(ContentKind::Record),
        }
    }

    /// Counts what was remembered as what `class` says.
    fn settle(&mut self, class: impl Fn(&EntryHeader) -> Class) {
        for (_, header) in self.span.drain(..) {
            // A reference to a large artifact is all header: what it names is counted with the files.
            let is_header = header.kind == EntryKind::Large;
            self.found.header_bytes += if is_header { header.entry_length() } else { HEADER_LEN as u64 };
            if !is_header {
                let class = if self.gone.has(&header.id) { Class::Pruned } else { class(&header) };
                class.add(self.found, header.raw_length, header.stored_length);
            }
        }
    }

    fn abandon(&mut self) {
        for (_, header) in self.span.drain(..) {
            self.found.unreferenced.abandoned.add(header.raw_length, header.entry_length());
        }
    }
}
