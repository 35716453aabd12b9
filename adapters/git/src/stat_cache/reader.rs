//! Reading a stat cache from some entry on.

use super::{FileStat, Freshness, StatCacheEntry};
use crate::fields::{invalid, read_array, read_path, read_vec};
use isobox_domain::change::Mode;
use isobox_domain::git_oid::GitOid;
use std::io::{self, Read};

/// Reads entries, in ascending order of path bytes. After an error it yields nothing more.
pub(super) struct StatCacheReader<R> {
    input: R,
    /// How many come before the next one.
    entries: u64,
    /// How many there are in all.
    expected: u64,
    is_done: bool,
}

impl<R: Read> StatCacheReader<R> {
    /// Reads from the entry on which `entries` others come before, of `expected` in all.
    pub(super) fn new(input: R, entries: u64, expected: u64) -> Self {
        Self { input, entries, expected, is_done: false }
    }

    /// How many entries come before the next one.
    pub(super) fn passed(&self) -> u64 {
        self.entries
    }

    fn read(&mut self) -> io::Result<Option<StatCacheEntry>> {
        let input = &mut self.input;
        let Some(path) = read_path(input)? else {
            return if self.expected == self.entries {
                Ok(None)
            } else {
                Err(invalid("its number of entries is wrong"))
            };
        };
        let [mode, oid_length] = read_array(input)?;
        let oid = GitOid::from_bytes(&read_vec(input, usize::from(oid_length))?);
        let [racy] = read_array(input)?;
        let stat = FileStat {
            inode: u64::from_le_bytes(read_array(input)?),
            size: u64::from_le_bytes(read_array(input)?),
            mtime_ns: i64::from_le_bytes(read_array(input)?),
            ctime_ns: i64::from_le_bytes(read_array(input)?),
            mode: u32::from_le_bytes(read_array(input)?),
        };
        self.entries += 1;
        Ok(Some(StatCacheEntry {
            path,
            mode: decode_mode(mode)?,
            oid: oid.ok_or_else(|| invalid("an oid is neither 20 nor 32 bytes"))?,
            stat,
            freshness: if racy == 0 { Freshness::Proven } else { Freshness::Racy },
        }))
    }
}

impl<R: Read> Iterator for StatCacheReader<R> {
    type Item = io::Result<StatCacheEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let entry = self.read();
        self.is_done = !matches!(entry, Ok(Some(_)));
        entry.transpose()
    }
}

fn decode_mode(byte: u8) -> io::Result<Mode> {
    match byte {
        0 => Ok(Mode::File),
        1 => Ok(Mode::Executable),
        2 => Ok(Mode::Symlink),
        3 => Ok(Mode::Submodule),
        _ => Err(invalid("a mode is none of Git's")),
    }
}
