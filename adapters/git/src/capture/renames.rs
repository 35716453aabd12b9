//! Where the content of an added path was before, if a deleted path had exactly it.

use super::base_content::BaseContent;
use crate::stat_cache::StatCacheEntry;
use isobox_domain::change::Mode;
use isobox_domain::content::ContentRef;
use isobox_domain::repo_path::RepoPath;
use std::collections::{HashMap, HashSet};

/// Bytes of deleted paths that are remembered. Later ones are not noted as the origin of anything.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// What a remembered path takes beside its bytes, roughly.
const ENTRY_BYTES: usize = 256;
/// Lengths of added paths that are remembered.
const MAX_LENGTHS: usize = 100_000;

/// Deleted and added paths that could belong together.
#[derive(Default)]
pub(super) struct Candidates {
    deleted: Vec<StatCacheEntry>,
    bytes: usize,
    added_lengths: HashSet<u64>,
}

impl Candidates {
    /// Remembers a deleted path. Empty content says nothing about where it comes from.
    pub(super) fn note_deleted(&mut self, entry: StatCacheEntry) {
        let size = entry.path.as_bytes().len() + ENTRY_BYTES;
        if entry.mode != Mode::Submodule && entry.stat.size > 0 && self.bytes + size <= MAX_BYTES {
            self.bytes += size;
            self.deleted.push(entry);
        }
    }

    /// Remembers that a path with content of `length` bytes was added.
    pub(super) fn note_added(&mut self, length: u64) {
        if self.added_lengths.len() < MAX_LENGTHS {
            self.added_lengths.insert(length);
        }
    }

    /// Hashes the deleted content that has the length of an added one.
    pub(super) fn match_up(self, content: &mut BaseContent<'_>) -> Renames {
        let mut renames = Renames::default();
        for entry in self.deleted.into_iter().filter(|entry| self.added_lengths.contains(&entry.stat.size)) {
            // What cannot be read is just not known as an origin.
            if let Ok(known) = content.find(&entry).and_then(|mut content| content.content_ref()) {
                renames.deleted.entry(key(entry.mode, known)).or_insert(entry.path);
            }
        }
        renames
    }
}

/// Deleted paths by content; the first one, for equal content.
#[derive(Default)]
pub(super) struct Renames {
    deleted: HashMap<(bool, ContentRef), RepoPath>,
}

impl Renames {
    /// The deleted path that had this content.
    pub(super) fn find(&self, mode: Mode, content: ContentRef) -> Option<RepoPath> {
        self.deleted.get(&key(mode, content)).cloned()
    }
}

fn key(mode: Mode, content: ContentRef) -> (bool, ContentRef) {
    (mode == Mode::Symlink, content)
}
