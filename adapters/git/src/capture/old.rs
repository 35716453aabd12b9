//! The side of the pinned commit.

use super::base_content::BaseContent;
use super::content::{Content, content_ref};
use crate::oid;
use crate::patch::{self, Side};
use crate::stat_cache::StatCacheEntry;
use isobox_domain::change::{Before, Mode};
use std::io::{self, Read};

/// A path of the pinned commit, with the bytes that checkout wrote.
pub(super) struct Old {
    entry: StatCacheEntry,
    /// For a submodule, what Git shows as its content. `None`: the trusted repository does not give it any more.
    content: Option<Vec<u8>>,
}

impl Old {
    /// Reads the content of `entry`.
    pub(super) fn read(entry: StatCacheEntry, content: &mut BaseContent<'_>) -> Self {
        let content = match entry.mode {
            Mode::Submodule => Some(format!("Subproject commit {}\n", entry.oid).into_bytes()),
            // A change without the bytes before is worth more than no Change Set: they are not stored anyway.
            _ => content.read(&entry).ok(),
        };
        Self { entry, content }
    }

    /// Whether mode and bytes are still the same. Content of another length is not read for that.
    pub(super) fn is_equal_to(&self, content: &mut Content) -> io::Result<bool> {
        if self.entry.mode != content.mode() || self.entry.stat.size != content.length() {
            return Ok(false);
        }
        match &self.content {
            Some(old) => content.is_equal_to(old),
            // Checkout converts few files: the blob's name then tells as much as its bytes.
            None => content.is_blob(&self.entry.oid),
        }
    }

    /// What the Change Set says about it.
    pub(super) fn before(&self) -> Before {
        let is_stored = self.entry.mode != Mode::Submodule;
        let content = self.content.as_ref().filter(|_| is_stored).map(|content| content_ref(content));
        Before { mode: self.entry.mode, oid: self.entry.oid, content }
    }

    /// What the patch says about it.
    pub(super) fn side(&mut self) -> Side<'_> {
        let mode = self.entry.mode;
        let commit = (mode == Mode::Submodule).then(|| oid::to_gix(&self.entry.oid));
        let length = self.content.as_ref().map_or(self.entry.stat.size, |content| content.len() as u64);
        Side { mode, length, commit, content: self }
    }
}

impl patch::Content for Old {
    fn open(&mut self) -> io::Result<Box<dyn Read + '_>> {
        match &self.content {
            Some(content) => Ok(Box::new(content.as_slice())),
            None => Err(io::Error::other("the trusted repository does not have it any more")),
        }
    }
}
