//! What a Change Set refers to.

use crate::pack_scan::read_payload;
use crate::store::FsTaskStore;
use isobox_domain::change::{ChangeLine, ChangeSetRef};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::measurement::Files;
use isobox_ports::Cause;
use isobox_store_format::change_set::{decode_index, read_change_set};
use isobox_store_format::entry::EntryHeader;
use isobox_store_format::frame::decode_payload;
use std::fs::File;

/// What one Change Set refers to.
pub(super) struct Referred {
    /// Its chunks and the files that they name, each time that they do.
    pub(super) files: Files,
    /// The chunks.
    pub(super) chunks: Vec<ContentId>,
}

/// Reads Change Sets: from what stands before their COMMIT, or from wherever they are stored.
pub(super) struct References<'a> {
    store: &'a FsTaskStore,
    file: &'a File,
    span: &'a [(u64, EntryHeader)],
}

impl<'a> References<'a> {
    pub(super) fn new(store: &'a FsTaskStore, file: &'a File, span: &'a [(u64, EntryHeader)]) -> Self {
        Self { store, file, span }
    }

    /// What the Change Set with this index refers to; `None` if that cannot be read.
    pub(super) fn of(&mut self, index: &ContentRef) -> Option<Referred> {
        let decoded = decode_index(&self.read(&index.id).ok()?).ok()?;
        let change_set = ChangeSetRef { id: index.id, length: index.length, summary: decoded.summary };
        let mut files = Files::default();
        decoded.chunks.iter().for_each(|chunk| files.add(chunk.length));
        for line in read_change_set(&change_set, |part| self.read(&part.id)).ok()? {
            if let ChangeLine::Change(change) = line.ok()?
                && let Some(after) = change.after
            {
                files.add(after.content.length);
            }
        }
        Some(Referred { files, chunks: decoded.chunks.iter().map(|chunk| chunk.id).collect() })
    }

    fn read(&self, id: &ContentId) -> Result<Vec<u8>, Cause> {
        match self.span.iter().rfind(|(_, header)| header.id == *id) {
            Some((offset, header)) => Ok(decode_payload(header, read_payload(self.file, *offset, header)?)?),
            None => self.store.read_all(id),
        }
    }
}
