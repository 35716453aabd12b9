//! What stands before a COMMIT: most of what it names.

use isobox_domain::content::ContentId;
use isobox_store_format::entry::EntryKind;
use std::collections::HashSet;

/// So many ids are remembered, at 32 bytes each; others are looked up.
const REMEMBERED: usize = 1 << 16;

/// Ids of entries that no COMMIT follows yet, and some that are known to be stored.
#[derive(Debug, Default)]
pub(super) struct Span {
    entries: HashSet<ContentId>,
    stored: HashSet<ContentId>,
    /// The last record or event.
    record: Option<ContentId>,
}

impl Span {
    /// Takes in an entry.
    pub(super) fn add(&mut self, id: ContentId, kind: EntryKind) {
        if kind == EntryKind::Record {
            self.record = Some(id);
        }
        if self.entries.len() < REMEMBERED {
            self.entries.insert(id);
        }
    }

    /// Whether `id` is known to be stored.
    pub(super) fn knows(&self, id: &ContentId) -> bool {
        self.entries.contains(id) || self.stored.contains(id)
    }

    /// Remembers that `id` is stored.
    pub(super) fn remember(&mut self, id: ContentId) {
        if self.stored.len() >= REMEMBERED {
            self.stored.clear();
        }
        self.stored.insert(id);
    }

    /// Begins anew after a COMMIT. Its record or event, or what may be it.
    pub(super) fn end(&mut self) -> Option<ContentId> {
        self.entries.clear();
        self.record.take()
    }
}
