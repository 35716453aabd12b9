//! Finding entries of a stat cache without reading what comes before them.

use super::reader::StatCacheReader;
use super::{FOOTER_BYTES, INTERVAL, MAGIC, OFFSET_BYTES, StatCacheEntry};
use crate::fields::{invalid, open_regular, read_array, read_path_length};
use isobox_domain::repo_path::RepoPath;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// A stat cache that is read at any place.
pub(crate) struct StatCache {
    file: Arc<File>,
    entries: u64,
    submodules: u64,
    /// Where the offsets begin: first the marks, then the submodules.
    offsets: u64,
}

/// A place in a stat cache, and what follows.
pub(crate) struct Position {
    /// The entry there; `None` at the end.
    pub(crate) next: Option<StatCacheEntry>,
    reader: StatCacheReader<Window>,
}

impl Position {
    /// Takes the entry there, and goes to the one after it.
    pub(crate) fn take(&mut self) -> io::Result<Option<StatCacheEntry>> {
        let following = if self.next.is_some() { self.reader.next().transpose()? } else { None };
        Ok(std::mem::replace(&mut self.next, following))
    }
}

impl StatCache {
    /// Opens the stat cache at `host_path`. One that was cut off is an error.
    pub(crate) fn open(host_path: &Path) -> io::Result<Self> {
        let file = open_regular(host_path)?;
        let length = file.metadata()?.len();
        let mut magic = [0; MAGIC.len()];
        file.read_exact_at(&mut magic, 0)?;
        if &magic != MAGIC {
            return Err(invalid("it does not begin as a stat cache of version 2"));
        }
        let mut footer = [0; FOOTER_BYTES as usize];
        file.read_exact_at(&mut footer, length.saturating_sub(FOOTER_BYTES))?;
        let mut footer = footer.as_slice();
        let mut number = || read_array(&mut footer).map(u64::from_le_bytes);
        let (entries, submodules, offsets) = (number()?, number()?, number()?);
        if end_bytes(entries, submodules).and_then(|end| end.checked_add(offsets)) != Some(length) {
            return Err(invalid("it was cut off"));
        }
        Ok(Self { file: Arc::new(file), entries, submodules, offsets })
    }

    /// The place of the first entry.
    pub(crate) fn first(&self) -> io::Result<Position> {
        self.position(self.read_from(0)?)
    }

    /// The place of the first entry whose path is not before `path`. It is not before `from`.
    pub(crate) fn seek(&self, path: &[u8], from: &Position) -> io::Result<Position> {
        // The entry at `from` was read already.
        let read = from.reader.passed().saturating_sub(1) / INTERVAL;
        let mut position = self.position(self.read_from(self.last_mark(path, read)?)?)?;
        while position.next.as_ref().is_some_and(|next| next.path.as_bytes() < path) {
            position.take()?;
        }
        Ok(position)
    }

    /// The paths of the submodules, in ascending order.
    pub(crate) fn submodules(&self) -> io::Result<Vec<RepoPath>> {
        let marks = self.entries.div_ceil(INTERVAL);
        let path = |index| {
            let path = self.path_at(self.offset(marks + index)?)?;
            RepoPath::parse(path).map_err(|_| invalid("a path is no path of a repository"))
        };
        (0..self.submodules).map(path).collect()
    }

    /// The last mark from `from` on whose path is not after `path`; `from` where that is after it already.
    fn last_mark(&self, path: &[u8], from: u64) -> io::Result<u64> {
        let marks = self.entries.div_ceil(INTERVAL);
        let is_passed = |mark: u64| Ok::<_, io::Error>(mark < marks && *self.path_at(self.offset(mark)?)? <= *path);
        // What is looked for most often lies near.
        let (mut low, mut step) = (from, 1);
        while is_passed(low + step)? {
            low += step;
            step *= 2;
        }
        let mut high = low + step;
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if is_passed(middle)? { low = middle } else { high = middle }
        }
        Ok(low)
    }

    fn position(&self, mut reader: StatCacheReader<Window>) -> io::Result<Position> {
        let next = reader.next().transpose()?;
        Ok(Position { next, reader })
    }

    fn read_from(&self, mark: u64) -> io::Result<StatCacheReader<Window>> {
        // A cache of no entry has no mark.
        let offset = if self.entries == 0 { MAGIC.len() as u64 } else { self.offset(mark)? };
        let window = Window { file: Arc::clone(&self.file), end: offset, buffer: Vec::new(), position: 0 };
        Ok(StatCacheReader::new(window, mark * INTERVAL, self.entries))
    }

    /// One of the offsets, of marks first, then of submodules.
    fn offset(&self, index: u64) -> io::Result<u64> {
        let mut offset = [0; OFFSET_BYTES as usize];
        // The file is as long as the numbers say, so that nothing overflows.
        self.file.read_exact_at(&mut offset, self.offsets + index * OFFSET_BYTES)?;
        Ok(u64::from_le_bytes(offset))
    }

    fn path_at(&self, offset: u64) -> io::Result<Vec<u8>> {
        // Most paths are short, so that one read has all of theirs.
        let mut head = [0; 128];
        let count = self.file.read_at(&mut head, offset)?;
        let mut rest = &head[..count];
        let length = read_path_length(&mut rest)?;
        if let Some(path) = rest.get(..length) {
            return Ok(path.to_vec());
        }
        let mut path = vec![0; length];
        self.file.read_exact_at(&mut path, offset + (count - rest.len()) as u64)?;
        Ok(path)
    }
}

/// A buffered reader of a file that others read, too.
struct Window {
    file: Arc<File>,
    /// Where in the file the buffer ends.
    end: u64,
    buffer: Vec<u8>,
    position: usize,
}

impl Window {
    const BYTES: usize = 16 * 1024;
}

impl Read for Window {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.position == self.buffer.len() {
            self.position = 0;
            self.buffer.resize(Self::BYTES, 0);
            let length = self.file.read_at(&mut self.buffer, self.end);
            self.buffer.truncate(*length.as_ref().unwrap_or(&0));
            self.end += length? as u64;
        }
        let mut rest = &self.buffer[self.position..];
        let length = rest.read(out)?;
        self.position += length;
        Ok(length)
    }
}

/// Bytes that come after the zero behind the last entry.
fn end_bytes(entries: u64, submodules: u64) -> Option<u64> {
    let offsets = entries.div_ceil(INTERVAL).checked_add(submodules)?;
    offsets.checked_mul(OFFSET_BYTES)?.checked_add(FOOTER_BYTES)
}
