//! A changed text as it was and as it is: what it was is in no record, and is made of what it is and the record's patch.

use super::diff;
use super::patch_reader::PatchReader;
use crate::failure::{Failure, FailureKind};
use isobox_domain::change::{Change, ChangeLine, Mode};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::hunks::Hunks;
use isobox_domain::promotion::Selection;
use isobox_domain::record::TaskRecord;
use isobox_ports::{Content, ObjectStore};
use std::io::Read;

/// Longest text, in bytes: the longest that patches show line by line.
const LONGEST_TEXT: u64 = 2 << 20;

/// A changed text.
pub(crate) struct Sides {
    /// Its part of the patch.
    pub(crate) part: Vec<u8>,
    /// What is in it.
    pub(crate) hunks: Hunks,
    /// What it was; `None`: it was not there.
    pub(crate) before: Option<Vec<u8>>,
    /// What it is; `None`: it is no more.
    pub(crate) after: Option<Vec<u8>>,
}

/// Receives a change and its sides.
pub(crate) type EachSides<'a> = &'a mut dyn FnMut(&Change, Option<Sides>) -> Result<(), Failure>;

/// Hands every change that `selection` admits to `each`, with its sides if it has any.
pub(crate) fn each(
    objects: &dyn ObjectStore,
    record: &TaskRecord,
    selection: &Selection,
    each: EachSides<'_>,
) -> Result<(), Failure> {
    let mut patch = patch(objects, record)?;
    diff::each_line(&diff::Ports { objects }, record, &mut |line| match line {
        ChangeLine::Change(change) if selection.admits(&change.path) => {
            each(&change, sides(objects, &mut patch, &change)?)
        }
        _ => Ok(()),
    })
}

/// Both sides of `change`, if it is one of a text whose patch leads from what was there to what is.
///
/// A patch that another program made is for reading: what it says is not believed.
pub(crate) fn sides(
    objects: &dyn ObjectStore,
    patch: &mut PatchReader,
    change: &Change,
) -> Result<Option<Sides>, Failure> {
    match is_text(change) {
        true => patch.find(&change.path)?.map_or(Ok(None), |part| sides_of(objects, part, change)),
        false => Ok(None),
    }
}

/// The same of what the patch says of the change.
pub(crate) fn sides_of(objects: &dyn ObjectStore, part: Vec<u8>, change: &Change) -> Result<Option<Sides>, Failure> {
    if !is_text(change) {
        return Ok(None);
    }
    let Some(hunks) = Hunks::parse(&part) else { return Ok(None) };
    let after = change.after.as_ref().map(|after| read(objects, &after.content)).transpose()?;
    let Some(before) = hunks.taken(after.as_deref().unwrap_or_default(), &|_| false) else { return Ok(None) };
    let is_right = match &change.before {
        Some(known) => known.content.is_some_and(|known| known.id.as_bytes() == blake3::hash(&before).as_bytes()),
        None => before.is_empty(),
    };
    let before = change.before.is_some().then_some(before);
    Ok(is_right.then_some(Sides { part, hunks, before, after }))
}

fn is_text(change: &Change) -> bool {
    let is_file = |mode| matches!(mode, Mode::File | Mode::Executable);
    let is_text_now = change
        .after
        .as_ref()
        .is_none_or(|after| is_file(after.mode) && !after.binary && after.content.length <= LONGEST_TEXT);
    is_text_now && change.before.as_ref().is_none_or(|before| is_file(before.mode))
}

/// The patch of a record, for reading.
pub(crate) fn patch(objects: &dyn ObjectStore, record: &TaskRecord) -> Result<PatchReader, Failure> {
    open_patch(objects, record).map(PatchReader::new)
}

/// The bytes of the patch of a record; without one, none.
pub(crate) fn open_patch(objects: &dyn ObjectStore, record: &TaskRecord) -> Result<Content, Failure> {
    match &record.artifacts.patch {
        Some(patch) => objects.open(&patch.id)?.ok_or_else(|| gone(&patch.id)),
        None => Ok(Box::new(std::io::empty())),
    }
}

fn read(objects: &dyn ObjectStore, content: &ContentRef) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let opened = objects.open(&content.id)?.ok_or_else(|| gone(&content.id))?;
    let unread = |error| Failure::new(FailureKind::Store, format!("read object {}", content.id)).because(error);
    opened.take(content.length).read_to_end(&mut bytes).map_err(unread)?;
    Ok(bytes)
}

fn gone(id: &ContentId) -> Failure {
    Failure::new(FailureKind::Store, format!("object {id} is not in the task store"))
}
