//! Making a snapshot of lines that are given, in place of what is not committed in the working tree.

use super::kept::{self, After, Line};
use super::take::put_in;
use super::uncommitted::MOST_PATHS;
use crate::fields::invalid;
use crate::workspace::failure;
use crate::workspace::layout::Layout;
use crate::{GixRepository, oid};
use gix::hash::Kind;
use isobox_domain::change::{self, Change, ChangeLine, Mode};
use isobox_domain::escape::Escaped;
use isobox_ports::{Cause, ChangeLines, Content, ObjectStore, WorkspaceError};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Puts what `lines` make of the commit into the Workspace at `layout`, which was made whole from it.
pub(crate) fn give(
    repository: &GixRepository,
    layout: &Layout,
    lines: ChangeLines<'_>,
    objects: &dyn ObjectStore,
) -> Result<(), WorkspaceError> {
    let (snapshot, hash) = (layout.snapshot(), repository.gix().object_hash());
    DirBuilder::new().mode(0o700).create(&snapshot).map_err(|e| failure("make a place for the snapshot", e))?;
    let mut kept: Vec<Line> = Vec::new();
    for line in lines {
        let line = line.map_err(|cause| failure("read what is put into the workspace", cause))?;
        let ChangeLine::Change(change) = line else { continue };
        if kept.last().is_some_and(|before| before.path >= change.path) || kept.len() == MOST_PATHS {
            let why = format!("they are more than {MOST_PATHS} paths, or in no order");
            return Err(failure("read what is put into the workspace", io::Error::other(why)));
        }
        let operation = format!("keep {} for the workspace", Escaped(change.path.as_bytes()));
        kept.push(keep(&snapshot, hash, change, objects).map_err(|cause| failure(&operation, cause))?);
    }
    if kept.is_empty() {
        return fs::remove_dir(&snapshot).map_err(|e| failure("clear the place for the snapshot", e));
    }
    put_in(layout, &snapshot, &kept).map_err(|e| failure("put the changes into the workspace", e))
}

fn keep(snapshot: &Path, hash: Kind, change: Change, objects: &dyn ObjectStore) -> Result<Line, Cause> {
    let Change { path, after, .. } = change;
    let Some(change::After { mode, content, .. }) = after else { return Ok(Line { path, after: None }) };
    if mode == Mode::Submodule {
        return Err("it is a submodule".into());
    }
    let stored = objects.open(&content.id)?.ok_or("its content is not in the task store")?;
    let file = File::create_new(kept::content_path(snapshot, &path))?;
    let oid = copy(stored, file, (hash, content.length))?;
    Ok(Line { path, after: Some(After { mode, oid: oid::from_gix(&oid), length: content.length }) })
}

/// Copies content of this length; Git's name of it.
fn copy(mut from: Content, mut to: File, (hash, length): (Kind, u64)) -> Result<gix::ObjectId, Cause> {
    let mut hasher = oid::blob_hasher(hash, length);
    let (mut piece, mut copied) = (vec![0; 64 * 1024], 0);
    loop {
        let count = match from.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        hasher.update(&piece[..count]);
        to.write_all(&piece[..count])?;
        copied += count as u64;
    }
    if copied != length {
        return Err(invalid("its content is not as long as it was").into());
    }
    Ok(hasher.try_finalize()?)
}
