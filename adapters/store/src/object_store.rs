//! Opening content: verified from end to end before the first byte is handed out.

use crate::dir::is_no_file;
use crate::error::{damaged, failed};
use crate::index::{Location, MOST_LOOKS};
use crate::large_reader::{LargeContent, find_large, large_header, verify_large};
use crate::steps::step;
use crate::store::FsTaskStore;
use isobox_domain::change::ChangeSetRef;
use isobox_domain::content::ContentId;
use isobox_ports::{Cause, ChangeLines, Content, ObjectStore, StoreError};
use isobox_store_format::change_set::read_change_set;
use isobox_store_format::entry::EntryKind;
use isobox_store_format::object::MAX_OBJECT_BYTES;
use std::io::{Cursor, Read};
use std::sync::Arc;

impl ObjectStore for FsTaskStore {
    fn open(&self, id: &ContentId) -> Result<Option<Content>, StoreError> {
        let found = self.with_locations(id, |location| match location.kind {
            EntryKind::Large => self.open_large(id),
            EntryKind::Artifact => Ok(self.read_at(id, location)?.map(|bytes| Box::new(Cursor::new(bytes)) as Content)),
            _ => Ok(None),
        })?;
        Ok(found)
    }

    fn changes(&self, change_set: &ChangeSetRef) -> Result<ChangeLines<'_>, StoreError> {
        let subject = change_set.id.to_string();
        let lines = read_change_set(change_set, |part| self.read_all(&part.id));
        let lines = lines.map_err(|e| damaged("open change set", subject, e))?;
        Ok(Box::new(lines.map(|line| line.map_err(Cause::from))))
    }
}

impl FsTaskStore {
    /// The raw bytes of an entry of `kind`, verified; `None` if none was committed.
    pub(crate) fn read_small(&self, id: &ContentId, kind: EntryKind) -> Result<Option<Vec<u8>>, StoreError> {
        self.with_locations(id, |location| self.read_kind(id, kind, location))
    }

    /// As [`read_small`](Self::read_small), but looks for more than is known only where something was written since: what no
    /// COMMIT follows is gone through every time, too long for each of many entries that are damaged.
    pub(crate) fn read_known(&self, id: &ContentId, kind: EntryKind) -> Result<Option<Vec<u8>>, StoreError> {
        let found = first_of(&self.shared.known_locations(id)?, |location| self.read_kind(id, kind, location));
        if matches!(found, Ok(Some(_))) || self.shared.known_index().is_as_refreshed(&self.shared.layout)? {
            return found;
        }
        self.read_small(id, kind)
    }

    fn read_kind(&self, id: &ContentId, kind: EntryKind, location: Location) -> Result<Option<Vec<u8>>, StoreError> {
        if location.kind == kind { self.read_at(id, location) } else { Ok(None) }
    }

    // The reader compares what it gets with what it asked for.
    pub(crate) fn read_all(&self, id: &ContentId) -> Result<Vec<u8>, Cause> {
        let content = self.open(id)?.ok_or_else(|| format!("{id} is missing"))?;
        let mut bytes = Vec::new();
        content.take(MAX_OBJECT_BYTES as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Tries every place where `id` was committed. If `read` finds it damaged in all, the last error is returned; from the
    /// start again if it has other places by then, because a lane was sealed or a pack written anew.
    fn with_locations<T>(
        &self,
        id: &ContentId,
        read: impl Fn(Location) -> Result<Option<T>, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let mut known = self.shared.known_locations(id)?;
        step("knows where to read");
        let mut looks = 0;
        loop {
            let found = first_of(&known, &read);
            if matches!(found, Ok(Some(_))) || looks == MOST_LOOKS {
                return found;
            }
            let fresh = self.shared.fresh_locations(id)?;
            step("knows better where to read");
            if fresh == known {
                return found;
            }
            (known, looks) = (fresh, looks + 1);
        }
    }

    /// The raw bytes of `id` at its place, verified.
    pub(crate) fn read_at(&self, id: &ContentId, location: Location) -> Result<Option<Vec<u8>>, StoreError> {
        let subject = location.pack.shown(&self.shared.layout);
        let at = |e: Cause| damaged("open object", format!("{id} in {subject} at {}", location.offset), e);
        self.shared.read_object(id, location).map_err(failed("read", &subject))?.map(Some).map_err(at)
    }

    fn open_large(&self, id: &ContentId) -> Result<Option<Content>, StoreError> {
        let subject = id.to_string();
        let refused = |e: Cause| damaged("open object", id.to_string(), e);
        let file = find_large(&self.shared.layout.large, id).map_err(|error| match is_no_file(&error) {
            true => refused(error.into()),
            false => failed("open object", &subject)(error),
        })?;
        let file = Arc::new(file.ok_or_else(|| refused("its file is missing".into()))?);
        let header = large_header(&file).map_err(failed("read object", &subject))?.filter(|header| header.id == *id);
        let header = header.ok_or_else(|| refused("its header or its length is damaged".into()))?;
        let verified = verify_large(&file, &header).map_err(failed("read object", &subject))?;
        verified.map_err(|e| refused(e.into()))?;
        Ok(Some(Box::new(LargeContent::new(file, &header))))
    }
}

fn first_of<T>(
    locations: &[Location],
    read: impl Fn(Location) -> Result<Option<T>, StoreError>,
) -> Result<Option<T>, StoreError> {
    let mut failure = None;
    for location in locations {
        match read(*location) {
            Ok(Some(found)) => return Ok(Some(found)),
            Ok(None) => {}
            Err(error) => failure = Some(error),
        }
    }
    failure.map_or(Ok(None), Err)
}
