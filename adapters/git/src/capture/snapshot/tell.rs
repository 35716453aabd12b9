//! Telling what a snapshot holds, as a Change Set against the commit.

use super::super::base_content::BaseContent;
use super::super::base_cursor::BaseCursor;
use super::super::content::Tap;
use super::super::old::Old;
use super::super::sink_failure;
use super::kept::{self, Line};
use crate::GixRepository;
use crate::fields::invalid;
use crate::workspace::base::Base;
use crate::workspace::failure;
use crate::workspace::layout::Layout;
use isobox_domain::change::{After, Before, Change, ChangeLine};
use isobox_domain::escape::Escaped;
use isobox_ports::{CaptureSink, WorkspaceError};
use std::io;
use std::path::Path;

/// Hands the snapshot of the Workspace at `layout` to `sink`; nothing where there is none.
pub(crate) fn tell(
    repository: &GixRepository,
    layout: &Layout,
    sink: &mut dyn CaptureSink,
) -> Result<(), WorkspaceError> {
    let snapshot = layout.snapshot();
    let shown = layout.shown();
    let failed = |error: io::Error| failure(&format!("read the snapshot of the workspace at {shown}"), error);
    let Some(lines) = kept::read_lines(&snapshot).map_err(failed)? else { return Ok(()) };
    let base = Base::load(&layout.copy().base).map_err(failed)?;
    let mut content = BaseContent::new(&base, repository, None);
    let mut cursor = BaseCursor::open(&kept::commit_stat_cache(&snapshot)).map_err(failed)?;
    for line in lines {
        let before = before(&line, &mut cursor, &mut content).map_err(failed)?;
        let after = after(&snapshot, &line, sink)?;
        let change = Change { path: line.path, before, after, renamed_from: None, submodule: None };
        let told = sink.line(ChangeLine::Change(change));
        told.map_err(|cause| sink_failure("store a line of the snapshot", cause))?;
    }
    Ok(())
}

fn before(line: &Line, cursor: &mut BaseCursor, content: &mut BaseContent<'_>) -> io::Result<Option<Before>> {
    cursor.seek(line.path.as_bytes())?;
    let committed = cursor.take_at(line.path.as_bytes())?;
    Ok(committed.map(|entry| Old::read(entry, content).before()))
}

fn after(snapshot: &Path, line: &Line, sink: &mut dyn CaptureSink) -> Result<Option<After>, WorkspaceError> {
    let Some(after) = line.after else { return Ok(None) };
    let operation = format!("store what is not committed of {}", Escaped(line.path.as_bytes()));
    let kept = kept::open(snapshot, &line.path).and_then(|kept| kept.ok_or_else(|| invalid("it is not kept")));
    let mut tap = Tap::new(kept.map_err(|error| failure(&operation, error))?);
    let staged = sink.content(&mut tap);
    if let Some(error) = tap.error {
        return Err(failure(&operation, io::Error::other(error)));
    }
    let content = staged.map_err(|cause| sink_failure(&operation, cause))?;
    if content.length != after.length {
        return Err(failure(&operation, invalid("it is not as long as it was")));
    }
    Ok(Some(After { mode: after.mode, content, binary: tap.is_binary }))
}
