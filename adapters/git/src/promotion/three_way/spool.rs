//! Contents that are in no store: in a file of no name, one after the other.

use isobox_domain::content::{ContentId, ContentRef};
use isobox_ports::{Content, StoreError, StoreErrorKind};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Cursor, Seek, Write};
use std::os::unix::fs::FileExt;

#[derive(Default)]
pub(super) struct Spool {
    file: Option<File>,
    /// Where each begins, and how long it is, in bytes.
    places: HashMap<ContentId, (u64, usize)>,
}

impl Spool {
    pub(super) fn add(&mut self, bytes: &[u8]) -> io::Result<ContentRef> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        let begin = file.stream_position()?;
        file.write_all(bytes)?;
        let id = ContentId::new(*blake3::hash(bytes).as_bytes());
        self.places.insert(id, (begin, bytes.len()));
        Ok(ContentRef { id, length: bytes.len() as u64 })
    }

    /// What `id` names, if it is here.
    pub(super) fn open(&self, id: &ContentId) -> Option<Result<Content, StoreError>> {
        let (begin, length) = *self.places.get(id)?;
        let mut bytes = vec![0; length];
        let read = self.file.as_ref()?.read_exact_at(&mut bytes, begin);
        Some(read.map(|()| Box::new(Cursor::new(bytes)) as Content).map_err(|source| StoreError {
            kind: StoreErrorKind::Io,
            operation: "read what was merged,",
            subject: id.to_string(),
            source: source.into(),
        }))
    }
}
