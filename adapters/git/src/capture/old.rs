//! The side of the pinned commit.

use super::base_content::{BaseContent, Known};
use super::content::Content;
use crate::oid;
use crate::patch::{self, Side};
use crate::stat_cache::StatCacheEntry;
use isobox_domain::change::{Before, Mode};
use std::io::{self, Read};

/// A path of the pinned commit, with the bytes that checkout wrote.
pub(super) struct Old {
    entry: StatCacheEntry,
    /// For a submodule, what Git shows as its content. `None`: the trusted repository does not give it any more.
    content: Option<Known>,
}

impl Old {
    /// Reads the content of `entry`.
    pub(super) fn read(entry: StatCacheEntry, content: &mut BaseContent<'_>) -> Self {
        let content = match entry.mode {
            Mode::Submodule => Some(Known::Held(format!("Subproject commit {}\n", entry.oid).into_bytes())),
            // A change without the bytes before is worth more than no Change Set: they are not stored anyway.
            _ => content.find(&entry).ok(),
        };
        Self { entry, content }
    }

    /// Whether mode and bytes are still the same. Content of another length is not read for that.
    pub(super) fn is_equal_to(&mut self, content: &mut Content) -> io::Result<bool> {
        if self.entry.mode != content.mode() || self.entry.stat.size != content.length() {
            return Ok(false);
        }
        match &mut self.content {
            Some(old) => content.is_equal_to(&mut *old.open()?),
            // Checkout converts few files: the blob's name then tells as much as its bytes.
            None => content.is_blob(&self.entry.oid),
        }
    }

    /// What the Change Set says about it.
    pub(super) fn before(&mut self) -> Before {
        let is_stored = self.entry.mode != Mode::Submodule;
        let content = self.content.as_mut().filter(|_| is_stored).and_then(|content| content.content_ref().ok());
        Before { mode: self.entry.mode, oid: self.entry.oid, content }
    }

    /// What the patch says about it.
    pub(super) fn side(&mut self) -> Side<'_> {
        let mode = self.entry.mode;
        let commit = (mode == Mode::Submodule).then(|| oid::to_gix(&self.entry.oid));
        let known = self.content.as_ref().and_then(|content| content.length().ok());
        let length = known.unwrap_or(self.entry.stat.size);
        Side { mode, length, commit, content: self }
    }
}

impl patch::Content for Old {
    fn open(&mut self) -> io::Result<Box<dyn Read + '_>> {
        match &mut self.content {
            Some(content) => content.open(),
            None => Err(io::Error::other("the trusted repository does not have it any more")),
        }
    }
}
