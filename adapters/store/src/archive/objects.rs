//! The artifacts of an Archive.

use super::FsArchive;
use crate::error::damaged;
use isobox_domain::change::ChangeSetRef;
use isobox_domain::content::{ContentId, ContentRef};
use isobox_ports::{Cause, ChangeLines, Content, ObjectStore, StoreError};
use isobox_store_format::archive::Section;
use isobox_store_format::change_set::read_change_set;

impl ObjectStore for FsArchive {
    fn open(&self, id: &ContentId) -> Result<Option<Content>, StoreError> {
        let refused = self.refused("read from archive");
        let Some((_, row)) = self.archive.find(Section::Artifacts, id).map_err(&refused)? else { return Ok(None) };
        Ok(Some(Box::new(self.archive.content(&row).map_err(refused)?)))
    }

    fn changes(&self, change_set: &ChangeSetRef) -> Result<ChangeLines<'_>, StoreError> {
        let subject = change_set.id.to_string();
        let lines = read_change_set(change_set, |part| self.part(part));
        let lines = lines.map_err(|e| damaged("open change set", subject, e))?;
        Ok(Box::new(lines.map(|line| line.map_err(Cause::from))))
    }
}

impl FsArchive {
    /// A part of a Change Set, or a policy.
    pub(super) fn part(&self, part: &ContentRef) -> Result<Vec<u8>, Cause> {
        let found = self.archive.find(Section::Artifacts, &part.id)?;
        let (_, row) = found.ok_or_else(|| format!("{} is missing", part.id))?;
        Ok(self.archive.small(&row)?)
    }
}
