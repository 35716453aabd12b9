//! One lane or sealed pack, as far as it is known: a derived table of its beginning, and the rest in memory.

use super::by_id::{Entries, Stream};
use super::contents::{Appended, Contents};
use super::event_filter::EventFilter;
use super::noted::Noted;
use super::rows::Rows;
use super::table::Table;
use super::table_files::{find_table, open_table, write_table};
use super::table_writer::encode;
use super::{ChainEnd, Damage, Location, Pack, Row, readable};
use crate::dir::is_no_file;
use crate::lane_tail::commit_ending_at;
use crate::layout::{Layout, Tables};
use isobox_domain::content::ContentId;
use isobox_domain::listing::Direction;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

/// So many entries of a lane are scanned rather than looked up in a table: a few milliseconds for every process. Writing a table
/// costs a scan of the whole lane, tens of milliseconds, once in so many entries.
const SCANNED: usize = 1024;

/// Whether the table of a sealed pack is kept open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    Open,
    Closed,
}

/// How much is to be known of what a lane became longer by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// Where every entry stands.
    Entries,
    /// Which records are committed there.
    Records,
}

#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) pack: Pack,
    inode: u64,
    /// The file of a lane, kept open once it was seen to grow: it is looked at again by every put.
    file: Option<Arc<File>>,
    /// How much of the file there was when it was looked at last.
    seen: u64,
    keep: Keep,
    /// Whether a table could not be written, as on read-only media.
    is_unsaved: bool,
    table: Option<Table>,
    /// Which events the table has.
    filter: EventFilter,
    contents: Contents,
    noted: Noted,
}

impl Source {
    /// Takes in a file that was not known, from its table if it has a sound one.
    pub(super) fn open(layout: &Layout, pack: Pack, file: &File, keep: Keep) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let table = find_table(layout, pack, file, readable(metadata.len()), keep)?;
        let contents = contents_behind(table.as_ref());
        let is_unsaved = layout.tables == Tables::Untouched;
        let (inode, filter, seen) = (metadata.ino(), EventFilter::default(), readable(metadata.len()));
        let noted = Noted::default();
        let mut source = Self { pack, inode, file: None, seen, keep, is_unsaved, contents, table, filter, noted };
        source.scan(layout, file, seen)?;
        Ok(source)
    }

    /// Takes in what was appended; whether the file is still the one that is known.
    pub(super) fn go_on(&mut self, layout: &Layout, file: &File) -> io::Result<bool> {
        let metadata = file.metadata()?;
        let (length, end) = (readable(metadata.len()), self.contents.end);
        if metadata.ino() != self.inode || length < end {
            return Ok(false);
        }
        // A put whose flush failed is taken back after others have seen it.
        let last = commit_ending_at(file, layout.format.store, end)?.map(|last| last.id);
        if end > 0 && last != self.contents.last {
            return Ok(false);
        }
        (self.seen, self.noted) = (length, Noted::default());
        self.scan(layout, file, length).map(|()| true)
    }

    /// Takes in what a lane became longer by, by what its directory says of it; whether it is still the file that is known.
    pub(super) fn grow(&mut self, layout: &Layout, found: (u64, u64), depth: Depth) -> io::Result<bool> {
        let (inode, length) = found;
        if inode != self.inode || length == self.contents.end {
            return Ok(inode == self.inode);
        }
        if depth == Depth::Records && self.noted.is_up_to(length) {
            return Ok(true);
        }
        let Some(file) = self.opened(layout)? else { return Ok(false) };
        let (store, end) = (layout.format.store, self.contents.end);
        if depth == Depth::Records && self.noted.extend(&file, store, end, readable(length))? {
            return Ok(true);
        }
        self.go_on(layout, &file)
    }

    /// The file that is known; `None` where another one has its name by now.
    fn opened(&mut self, layout: &Layout) -> io::Result<Option<Arc<File>>> {
        if let Some(file) = &self.file {
            return Ok(Some(Arc::clone(file)));
        }
        let file = match self.pack.open(layout) {
            Err(error) if error.kind() == io::ErrorKind::NotFound || is_no_file(&error) => return Ok(None),
            opened => Arc::new(opened?),
        };
        if file.metadata()?.ino() != self.inode {
            return Ok(None);
        }
        Ok(Some(Arc::clone(self.file.insert(file))))
    }

    /// Whether a COMMIT of the record `id` stands behind what was gone through.
    pub(super) fn has_noted(&self, id: &ContentId) -> bool {
        self.noted.has(id)
    }

    /// Takes in what this process appended, if all that stands before it is known.
    pub(super) fn take_put(&mut self, layout: &Layout, put: &Appended) {
        if self.contents.end == put.start {
            self.contents.take_put(put);
            self.seen = put.end;
            self.save_if_wanted(layout, put.end);
        }
    }

    fn scan(&mut self, layout: &Layout, file: &File, length: u64) -> io::Result<()> {
        let is_covered = matches!(self.pack, Pack::Sealed(_)) && self.table.is_some();
        if is_covered {
            return Ok(());
        }
        self.contents.scan(layout.format.store, self.pack, file, length)?;
        self.save_if_wanted(layout, length);
        Ok(())
    }

    fn save_if_wanted(&mut self, layout: &Layout, length: u64) {
        if self.is_table_wanted() && !self.is_unsaved {
            // Nothing is lost but time, where nothing can be written.
            self.is_unsaved = self.save(layout, length).is_err();
        }
        if self.is_table_wanted() && self.table.is_none() && self.save_aside(layout, length).is_err() {
            // It stays in memory.
        }
    }

    /// Whether the file is still as long as it was when it was looked at last, whatever it ends in.
    pub(super) fn is_as_seen(&self, inode: u64, length: u64) -> bool {
        (self.inode, self.seen) == (inode, readable(length))
    }

    /// How many entries there are.
    pub(super) fn len(&self) -> u64 {
        self.table.as_ref().map_or(0, Table::entry_count) + self.contents.len() as u64
    }

    /// How many entries stand for themselves, outside of blocks.
    pub(super) fn alone(&self) -> u64 {
        self.table.as_ref().map_or(0, |table| u64::from(table.alone)) + self.contents.alone() as u64
    }

    fn is_table_wanted(&self) -> bool {
        match self.pack {
            Pack::Sealed(_) => self.table.is_none(),
            Pack::Lane(_) => self.contents.len() > SCANNED,
        }
    }

    /// Where `id` stands. A damaged table is given up.
    pub(super) fn locations(&mut self, layout: &Layout, id: &ContentId, is_named: bool) -> io::Result<Vec<Location>> {
        let mut found = self.look_up(layout, |table, pack| table.locations(pack, id, is_named))?;
        found.extend(self.contents.locations(self.pack, id, is_named));
        Ok(found)
    }

    /// The events about `subject`.
    pub(super) fn events(&mut self, layout: &Layout, subject: &ContentId) -> io::Result<Vec<ContentId>> {
        let may_have = self.table.as_ref().map_or(Ok(false), |table| self.filter.may_have(table, subject));
        let mut found = match may_have {
            Ok(false) => Vec::new(),
            // What is wrong with the table is dealt with below.
            Ok(true) | Err(_) => self.look_up(layout, |table, _| table.events(subject))?,
        };
        found.extend(self.contents.events(subject));
        Ok(found)
    }

    /// Whether the record `id` was pruned.
    pub(super) fn is_pruned(&mut self, layout: &Layout, id: &ContentId) -> io::Result<bool> {
        Ok(self.contents.pruned.contains(id) || self.look_up(layout, |table, _| table.is_pruned(id))?)
    }

    /// Some of the records that were pruned: `most` of them from the `from`-th on.
    pub(super) fn pruned(&mut self, layout: &Layout, from: u64, most: u64) -> io::Result<Vec<ContentId>> {
        let mut found = self.look_up(layout, |table, _| table.pruned(from, most))?;
        let covered = self.table.as_ref().map_or(0, |table| u64::from(table.pruned));
        let skip = from.saturating_sub(covered) as usize;
        found.extend(self.contents.pruned.iter().skip(skip).take((most as usize).saturating_sub(found.len())));
        Ok(found)
    }

    fn look_up<T: Default>(&mut self, layout: &Layout, find: impl Fn(&Table, Pack) -> io::Result<T>) -> io::Result<T> {
        match self.table.as_ref().map(|table| find(table, self.pack)) {
            None => Ok(T::default()),
            Some(Err(error)) if error.kind() == io::ErrorKind::InvalidData => {
                self.contents = scan_whole(layout, self.pack)?;
                self.table = None;
                Ok(T::default())
            }
            Some(found) => found,
        }
    }

    /// The packs whose loose entries belong to COMMITs here.
    pub(super) fn named(&self) -> impl Iterator<Item = ContentId> {
        self.table.iter().flat_map(|table| &table.named).chain(&self.contents.named).copied()
    }

    /// What is damaged in it.
    pub(super) fn damage(&self) -> impl Iterator<Item = Damage> {
        self.table.iter().flat_map(|table| &table.damage).chain(&self.contents.damage).cloned()
    }

    /// The last COMMIT of `lane` in it.
    pub(super) fn chain_end(&self, lane: u8) -> Option<ChainEnd> {
        let in_table = self.table.as_ref().and_then(|table| table.chain_ends.get(&lane));
        self.contents.chain_ends.get(&lane).or(in_table).copied()
    }

    /// Its records, as of now.
    pub(super) fn rows(&self, direction: Direction) -> Rows {
        let mut recent = self.contents.rows.clone();
        recent.sort_by_key(Row::order);
        let count = self.table.as_ref().map_or(0, Table::row_count);
        Rows::new(self.pack, (self.table.as_ref().map(Table::row_reader), count), recent, direction)
    }

    /// The number of its inode.
    pub(super) fn inode(&self) -> u64 {
        self.inode
    }

    /// How many records it has.
    pub(super) fn row_count(&self) -> u64 {
        self.table.as_ref().map_or(0, Table::row_count) + self.contents.rows.len() as u64
    }

    /// How many records it says were pruned.
    pub(super) fn pruned_count(&self) -> u64 {
        self.table.as_ref().map_or(0, |table| u64::from(table.pruned)) + self.contents.pruned.len() as u64
    }

    /// Its entries in the order of what they name, as of now.
    pub(super) fn streams(&self, is_named: bool) -> impl Iterator<Item = Stream> {
        let stream = move |entries, count| Stream { pack: self.pack, is_named, entries, next: 0, count };
        let table = self.table.as_ref();
        let table = table.map(|table| stream(Entries::Table(table.entry_reader()), table.entry_count()));
        let memory = self.contents.listed();
        let count = memory.len() as u64;
        table.into_iter().chain([stream(Entries::Memory(memory), count)])
    }

    /// The end of its last COMMIT.
    pub(super) fn settled_end(&self) -> u64 {
        self.contents.end
    }

    // With a table, what is known of the file takes no memory, and the next process need not find it out.
    fn save(&mut self, layout: &Layout, length: u64) -> io::Result<()> {
        if let Some(table) = &self.table {
            self.contents = match table.contents() {
                Err(error) if error.kind() == io::ErrorKind::InvalidData => scan_whole(layout, self.pack)?,
                covered => covered?.followed_by(std::mem::take(&mut self.contents)),
            };
            self.table = None;
        }
        let Some((covered, belongs_to)) = self.covered_by_table(length) else { return Ok(()) };
        write_table(layout, self.pack, |to| encode(&self.contents, covered, &belongs_to, to))?;
        if let Some(table) = open_table(layout, self.pack, self.keep)? {
            self.take_table(table);
        }
        Ok(())
    }

    fn save_aside(&mut self, layout: &Layout, length: u64) -> io::Result<()> {
        let Some((covered, belongs_to)) = self.covered_by_table(length) else { return Ok(()) };
        let file = layout.aside.add(|to| encode(&self.contents, covered, &belongs_to, to))?;
        self.take_table(Table::open(file, self.pack)?);
        Ok(())
    }

    /// How much a table of all that is known would cover, and what it would belong to.
    fn covered_by_table(&self, length: u64) -> Option<(u64, ContentId)> {
        match self.pack {
            Pack::Sealed(id) => Some((length, id)),
            Pack::Lane(_) => self.contents.last.map(|last| (self.contents.end, last)),
        }
    }

    fn take_table(&mut self, table: Table) {
        self.contents = contents_behind(Some(&table));
        self.table = Some(table);
        self.filter = EventFilter::default();
    }
}

fn contents_behind(table: Option<&Table>) -> Contents {
    let Some(table) = table else { return Contents::default() };
    Contents { end: table.covered, last: Some(table.belongs_to), ..Contents::default() }
}

pub(super) fn scan_whole(layout: &Layout, pack: Pack) -> io::Result<Contents> {
    let file = pack.open(layout)?;
    let mut contents = Contents::default();
    contents.scan(layout.format.store, pack, &file, readable(file.metadata()?.len()))?;
    Ok(contents)
}
