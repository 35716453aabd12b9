//! Everything before the first path is touched: looking, staging contents, writing the journal.

use super::dir::{CHUNK_BYTES, Dir, identify, is_link, sync_file, write_all};
use super::journal::{Entry, JournalWriter, New};
use super::permissions::{Permissions, create_own_file};
use super::site::{JOURNAL_DRAFT, Site};
use super::survey::Survey;
use super::target::Target;
use super::trouble::{while_doing, while_doing_to};
use crate::fields::invalid;
use isobox_domain::change::{ChangeLine, Mode};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::repo_path::MAX_PATH_BYTES;
use isobox_ports::{ApplyError, ChangeLines, Content, ObjectStore};
use std::io::{self, Read};

/// Looks at every change and hands those that can be applied to `take`; an error if any is in conflict.
pub(super) fn survey(
    target: &Target<'_>,
    changes: ChangeLines<'_>,
    mut take: impl FnMut(Entry, Permissions) -> Result<(), ApplyError>,
) -> Result<u64, ApplyError> {
    let mut survey = Survey::new(target);
    let mut paths = 0;
    for line in changes {
        let line = line.map_err(|source| ApplyError::Io { operation: "read the change set".into(), source })?;
        let ChangeLine::Change(change) = line else { continue };
        paths += 1;
        if let Some(applicable) = survey.examine(&change)? {
            take(applicable.entry, applicable.permissions)?;
        }
    }
    survey.finish()?;
    Ok(paths)
}

/// Stages the contents of all changes and drafts the journal, all durable. Returns the number of changed paths.
pub(super) fn prepare(
    target: &Target<'_>,
    site: &Site,
    changes: ChangeLines<'_>,
    objects: &dyn ObjectStore,
    receipt: &[u8],
) -> Result<u64, ApplyError> {
    let journal = create_own_file(&site.state, JOURNAL_DRAFT).and_then(|draft| JournalWriter::new(draft, receipt));
    let mut journal = journal.map_err(while_doing("begin the journal"))?;
    let paths = survey(target, changes, |entry, permissions| {
        let number = journal.add(&entry).map_err(while_doing("write the journal"))?;
        let Some(new) = entry.new else { return Ok(()) };
        stage(site, number, new, permissions, objects).map_err(while_doing_to("stage", entry.path.as_bytes()))
    })?;
    let flushed = journal.finish().and_then(|(draft, _)| sync_file(&draft)).and_then(|()| site.new.sync_file_system());
    flushed.map_err(while_doing("flush the journal"))?;
    Ok(paths)
}

/// Drafts a journal that moves nothing, durable: for a Promotion that goes elsewhere than into files. The number of changed
/// paths.
pub(super) fn without_files(site: &Site, changes: ChangeLines<'_>, receipt: &[u8]) -> Result<u64, ApplyError> {
    let mut paths = 0;
    for line in changes {
        let line = line.map_err(|source| ApplyError::Io { operation: "read the change set".into(), source })?;
        paths += u64::from(matches!(line, ChangeLine::Change(_)));
    }
    let journal = create_own_file(&site.state, JOURNAL_DRAFT).and_then(|draft| JournalWriter::new(draft, receipt));
    let flushed = journal.and_then(JournalWriter::finish).and_then(|(draft, _)| sync_file(&draft));
    flushed.map_err(while_doing("write the journal"))?;
    Ok(paths)
}

fn stage(site: &Site, number: u64, new: New, permissions: Permissions, objects: &dyn ObjectStore) -> io::Result<()> {
    let content = objects.open(&new.content.id).map_err(io::Error::other)?;
    let content = content.ok_or_else(|| invalid("its content is not in the task store"))?;
    let name = number.to_string().into_bytes();
    match new.mode {
        Mode::Symlink => stage_link(&site.new, &name, content, new, permissions),
        _ => stage_file(&site.new, &name, content, new, permissions),
    }
}

fn stage_file(dir: &Dir, name: &[u8], mut content: Content, new: New, permissions: Permissions) -> io::Result<()> {
    let mut file = dir.create_file(name, Permissions::creation_mode(new.mode))?;
    let mut hasher = blake3::Hasher::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let read = match content.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(&chunk[..read]);
        write_all(&mut file, &chunk[..read])?;
    }
    let found = ContentRef { id: ContentId::new(*hasher.finalize().as_bytes()), length: hasher.count() };
    verify(found, new.content)?;
    permissions.set(dir, name, new.mode, Some(&file))
}

fn stage_link(dir: &Dir, name: &[u8], content: Content, new: New, permissions: Permissions) -> io::Result<()> {
    let mut target = Vec::new();
    content.take(MAX_PATH_BYTES as u64 + 1).read_to_end(&mut target)?;
    verify(identify(target.as_slice())?, new.content)?;
    if target.is_empty() || target.contains(&0) {
        return Err(invalid("no link can have its target"));
    }
    dir.make_link(&target, name)?;
    permissions.set(dir, name, new.mode, None)
}

fn verify(found: ContentRef, expected: ContentRef) -> io::Result<()> {
    if found == expected { Ok(()) } else { Err(invalid("its content in the task store is damaged")) }
}

/// Whether `name` in `dir` is exactly what was staged for `new`.
pub(super) fn is_staged(dir: &Dir, name: &[u8], new: New) -> io::Result<bool> {
    let Some(stat) = dir.stat(name)? else { return Ok(false) };
    let found = match new.mode {
        Mode::Symlink if is_link(&stat) => identify(dir.read_link(name)?.as_slice())?,
        Mode::File | Mode::Executable if super::dir::is_file(&stat) => identify(dir.open_file(name)?)?,
        _ => return Ok(false),
    };
    Ok(found == new.content)
}
