//! Appending to a lane: entries, the COMMIT last, one flush.

use crate::dir::is_no_file;
use crate::error::{Subject, damaged, failed};
use crate::index::{Appended, ChainEnd, Index, Pack, lane_name};
use crate::lane_file::{Flush, keep_tail, open_lane, seal_file};
use crate::lane_tail::{Tail, find_tail};
use crate::layout::Layout;
use crate::locks::Lock;
use isobox_domain::content::ContentId;
use isobox_domain::timestamp::Timestamp;
use isobox_ports::StoreError;
use isobox_store_format::commit::Commit;
use isobox_store_format::dictionary::Dictionary;
use isobox_store_format::entry::{EntryHeader, EntryKind, HEADER_LEN};
use isobox_store_format::frame::Compressor;
use isobox_store_format::limits::{LANES, MAX_COMMIT, MAX_PACK};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

const BUFFER: usize = 256 * 1024;
/// A lane of so many entries, not counting COMMITs, is sealed, however short it is: going through a pack without a table takes
/// memory for each. With a COMMIT for each of them it is well below what a pack may have.
const MOST_ENTRIES: u64 = 1 << 16;
/// So many entries of a put are told to the index; with more it goes through the lane.
const MOST_TOLD: usize = 1024;
/// What the longest COMMIT takes in a lane, in bytes.
const COMMIT_ROOM: u64 = HEADER_LEN as u64 + MAX_COMMIT;

/// What the index knows of a lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// How many entries it has.
    pub(crate) entries: u64,
    /// Its last COMMIT in the packs, if it has none of its own.
    pub(crate) sealed_end: Option<ChainEnd>,
}

impl Known {
    /// What `index` knows of the lane `number`.
    pub(crate) fn of(index: &Index, number: u8) -> Self {
        Self { entries: index.entries_in(number), sealed_end: index.chain_end(number) }
    }
}

/// A lane that is locked by this process.
pub(crate) struct Lane<'a> {
    layout: &'a Layout,
    number: u8,
    file: File,
    /// Where the current put starts in the file.
    start: u64,
    /// Where the next byte goes, those in `buffer` included.
    end: u64,
    buffer: Vec<u8>,
    /// How many entries the file has.
    entries: u64,
    last: Option<ChainEnd>,
    /// Packs that were sealed in the midst of the current put.
    sealed: Vec<ContentId>,
    /// What the current put appended; `None` where that is not all in the file that was there before, or too much to tell.
    appended: Option<Vec<(ContentId, u64, EntryKind)>>,
    /// The dictionary of the file, once it was looked for.
    dictionary: Option<Option<Arc<Dictionary>>>,
    _lock: Lock,
}

/// Whether a lane can be put into: nothing else lies in its place, and it is not longer than a pack may be. Other lanes do
/// as well.
pub(crate) fn is_usable(layout: &Layout, number: u8) -> bool {
    match layout.lanes.file_length(&lane_name(number)) {
        Ok(length) => length.is_none_or(|length| length <= MAX_PACK),
        // Whatever else is wrong is told by whoever opens it.
        Err(error) => !is_no_file(&error),
    }
}

/// Fails where no lane [is usable](is_usable).
pub(crate) fn require_usable(layout: &Layout) -> Result<(), StoreError> {
    if (0..LANES).any(|number| is_usable(layout, number)) {
        return Ok(());
    }
    let reason = "something else lies in the place of every lane; move it aside (`isobox verify` names each)";
    Err(damaged("put into", layout.lanes.shown("lane-*.pack"), reason))
}

impl<'a> Lane<'a> {
    /// Opens the locked lane `number` for a put of about `expected` bytes, after cutting what a killed writer left.
    pub(crate) fn open(
        layout: &'a Layout,
        (number, lock): (u8, Lock),
        expected: u64,
        known: Known,
    ) -> Result<Self, StoreError> {
        let subject = Pack::Lane(number).shown(layout);
        let file = open_lane(&layout.lanes, number).map_err(failed("open lane", &subject))?;
        let tail = find_tail(&file, layout.format.store).map_err(failed("read lane", &subject))?;
        let mut lane = Self {
            layout,
            number,
            file,
            start: tail.end(),
            end: tail.end(),
            buffer: Vec::new(),
            entries: known.entries,
            last: tail.last().or(known.sealed_end),
            sealed: Vec::new(),
            appended: Some(Vec::new()),
            dictionary: None,
            _lock: lock,
        };
        lane.settle(&tail, expected).map_err(failed("prepare lane", &subject))?;
        Ok(lane)
    }

    // A pack never grows over its limit, and nothing is ever appended behind damage.
    fn settle(&mut self, tail: &Tail, expected: u64) -> io::Result<()> {
        match tail {
            Tail::Clean { .. } => {}
            Tail::Torn { end, .. } => self.file.set_len(*end)?,
            Tail::Unwritten { end, .. } if keep_tail(self.layout, self.number, &self.file, *end).is_ok() => {
                self.file.set_len(*end)?;
            }
            Tail::Unwritten { .. } | Tail::Damaged { .. } => return self.seal().map(drop),
        }
        let is_long = self.end + expected + COMMIT_ROOM > MAX_PACK || self.entries >= MOST_ENTRIES;
        if self.end > 0 && is_long { self.seal().map(drop) } else { Ok(()) }
    }

    /// Which lane it is.
    pub(crate) fn number(&self) -> u8 {
        self.number
    }

    /// Its file, to be read.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Appends an entry of the current put, by which `named` is found.
    pub(crate) fn append(&mut self, header: &EntryHeader, stored: &[u8], named: &ContentId) -> Result<(), StoreError> {
        self.try_append(header, stored).map_err(failed("append to lane", self.shown()))?;
        self.appended = self.appended.take().filter(|appended| appended.len() < MOST_TOLD);
        if let Some(appended) = &mut self.appended {
            appended.push((*named, self.end - header.entry_length(), header.kind));
        }
        Ok(())
    }

    fn try_append(&mut self, header: &EntryHeader, stored: &[u8]) -> io::Result<()> {
        self.make_room(header.entry_length())?;
        self.push(header, stored)
    }

    /// Makes sure that the next entry, of at most `length` bytes, has room. Room for the COMMIT is always left, so that it
    /// never has to go to a pack of its own.
    fn make_room(&mut self, length: u64) -> io::Result<()> {
        if self.end > 0 && (self.end + length + COMMIT_ROOM > MAX_PACK || self.entries >= MOST_ENTRIES) {
            let id = self.seal()?;
            self.sealed.push(id);
        }
        Ok(())
    }

    /// Lets a file that has nothing yet begin with a dictionary for records like `sample`.
    pub(crate) fn begin_like(&mut self, sample: &[u8], compressor: &mut Compressor) -> Result<(), StoreError> {
        if self.end > 0 {
            return Ok(());
        }
        let dictionary = Dictionary::like(sample);
        let begun = dictionary
            .entries(compressor)
            .and_then(|entries| entries.iter().try_for_each(|(header, stored)| self.push(header, stored)));
        begun.map_err(failed("append to lane", self.shown()))?;
        self.dictionary = Some(Some(Arc::new(dictionary)));
        Ok(())
    }

    /// The dictionary of the file to which the next entry goes, if that has at most `length` bytes. `find` looks for it in a
    /// file of which so many bytes count.
    pub(crate) fn dictionary_for(
        &mut self,
        length: u64,
        find: impl FnOnce(&File, u64) -> io::Result<Option<Arc<Dictionary>>>,
    ) -> Result<Option<&Dictionary>, StoreError> {
        let found = self.make_room(length).and_then(|()| match self.dictionary.take() {
            Some(found) => Ok(found),
            None => find(&self.file, self.start),
        });
        let found = found.map_err(failed("read lane", self.shown()))?;
        Ok(self.dictionary.insert(found).as_deref())
    }

    fn push(&mut self, header: &EntryHeader, stored: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(&header.encode());
        self.buffer.extend_from_slice(stored);
        self.end += header.entry_length();
        self.entries += 1;
        if self.buffer.len() >= BUFFER { self.write_out() } else { Ok(()) }
    }

    fn write_out(&mut self) -> io::Result<()> {
        self.file.write_all_at(&self.buffer, self.end - self.buffer.len() as u64)?;
        self.buffer.clear();
        Ok(())
    }

    /// Ends the put with a COMMIT and makes all of it durable: the only flush. `fill` completes what the lane knows. What was
    /// appended is returned where it need not be looked for.
    pub(crate) fn commit(mut self, compressor: &mut Compressor, fill: Commit) -> Result<Option<Appended>, StoreError> {
        let subject = self.shown();
        let commit = self.link(fill);
        let payload = commit.encode().map_err(|e| damaged("encode commit", subject.to_string(), e))?;
        let (header, stored) =
            compressor.entry(EntryKind::Commit, &payload).map_err(failed("encode commit", &subject))?;
        let written = self.push(&header, &stored).and_then(|()| self.write_out());
        if let Err(error) = written {
            self.abandon();
            return Err(failed("append to lane", &subject)(error));
        }
        self.file.sync_data().map_err(|error| {
            self.give_up();
            failed("flush lane", &subject)(error)
        })?;
        let (start, end) = (self.start, self.end);
        Ok(self.appended.map(|entries| Appended { start, end, entries, id: header.id, commit }))
    }

    fn link(&self, commit: Commit) -> Commit {
        let last = self.last;
        Commit {
            store: self.layout.format.store,
            lane: self.number,
            sequence: last.map_or(1, |last| last.sequence + 1),
            previous: last.map(|last| last.id),
            // The clock may have been put back; the order within a lane must not.
            time: last.map_or(now(), |last| now().max(last.time)),
            span: self.end - self.start,
            packs: self.sealed.clone(),
            ..commit
        }
    }

    /// Takes the current put back, after an error or a refusal. What is left is a torn tail at worst, which nobody sees.
    pub(crate) fn abandon(&self) {
        if self.file.set_len(self.start).is_err() {
            // The next writer of the lane cuts it.
        }
    }

    // After a failed flush nobody knows what the disk holds, and a second flush may succeed without having written
    // it (fsync(2), "EIO"). So the COMMIT is taken back and no COMMIT ever follows in this file.
    fn give_up(&mut self) {
        self.abandon();
        let sealed = seal_file(self.layout, self.number, &self.file, Flush::Never);
        if sealed.is_err() {
            // The lane's tail was cut; what else is wrong with the disk, the next writer is told.
        }
    }

    fn seal(&mut self) -> io::Result<ContentId> {
        self.write_out()?;
        let id = seal_file(self.layout, self.number, &self.file, Flush::First)?;
        self.file = open_lane(&self.layout.lanes, self.number)?;
        (self.start, self.end, self.entries, self.appended) = (0, 0, 0, None);
        self.dictionary = Some(None);
        Ok(id)
    }

    fn shown(&self) -> Subject<impl Fn() -> String + 'a> {
        Pack::Lane(self.number).shown(self.layout)
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::nearest(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
