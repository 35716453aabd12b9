//! Staging a Change Set: its lines in chunks, the content of its files, the patch.

use crate::error::error;
use crate::large_writer::{LargeWriter, PIECE};
use crate::staging::{SharedStaging, hold};
use isobox_domain::change::{ChangeLine, ChangeSetRef};
use isobox_domain::content::ContentRef;
use isobox_ports::{CaptureSink, CapturedRefs, Cause, StoreError, StoreErrorKind};
use isobox_store_format::change_set::ChangeSetWriter;
use std::io::{self, Read, Write};
use std::sync::Arc;

/// The sink of one capture.
pub(crate) struct FsCaptureSink {
    staging: SharedStaging,
    lines: ChangeSetWriter,
    patch: Counted,
    workspace_git: Counted,
    buffer: Vec<u8>,
}

impl FsCaptureSink {
    /// Begins a capture.
    pub(crate) fn new(staging: &SharedStaging) -> Self {
        let writer = || Counted { inner: LargeWriter::new(Arc::clone(staging), None), is_empty: true };
        Self {
            staging: Arc::clone(staging),
            lines: ChangeSetWriter::default(),
            patch: writer(),
            workspace_git: writer(),
            buffer: Vec::new(),
        }
    }

    fn finish_lines(lines: ChangeSetWriter, staging: &SharedStaging) -> Result<Option<ChangeSetRef>, Cause> {
        let Some(finished) = lines.finish()? else { return Ok(None) };
        add_object(staging, &finished.chunk)?;
        add_object(staging, &finished.index)?;
        Ok(Some(finished.reference))
    }
}

impl CaptureSink for FsCaptureSink {
    fn content(&mut self, content: &mut dyn Read) -> Result<ContentRef, Cause> {
        self.buffer.clear();
        content.take(PIECE as u64).read_to_end(&mut self.buffer)?;
        if self.buffer.len() < PIECE {
            return Ok(hold(&self.staging).add_small(&self.buffer)?);
        }
        let mut large = LargeWriter::new(Arc::clone(&self.staging), None);
        large.write_all(&self.buffer)?;
        io::copy(content, &mut large)?;
        Ok(large.end()?)
    }

    fn line(&mut self, line: ChangeLine) -> Result<(), Cause> {
        if let Some(chunk) = self.lines.push(&line)? {
            add_object(&self.staging, &chunk)?;
        }
        Ok(())
    }

    fn patch(&mut self) -> &mut dyn Write {
        &mut self.patch
    }

    fn workspace_git(&mut self) -> &mut dyn Write {
        &mut self.workspace_git
    }

    fn finish(self: Box<Self>) -> Result<CapturedRefs, StoreError> {
        let failed = |what: &'static str| move |cause: Cause| as_store_error(what, cause);
        Ok(CapturedRefs {
            change_set: Self::finish_lines(self.lines, &self.staging).map_err(failed("change set"))?,
            patch: self.patch.end().map_err(|e| failed("patch")(e.into()))?,
            workspace_git: self.workspace_git.end().map_err(|e| failed("workspace git")(e.into()))?,
        })
    }
}

// An object of just 1 MiB is as large as a large artifact.
fn add_object(staging: &SharedStaging, object: &[u8]) -> io::Result<ContentRef> {
    let mut writer = LargeWriter::new(Arc::clone(staging), None);
    writer.write_all(object)?;
    writer.end()
}

fn as_store_error(subject: &str, cause: Cause) -> StoreError {
    match cause.downcast::<io::Error>() {
        Ok(error) => crate::error::failed("stage", subject)(*error),
        Err(cause) => error(StoreErrorKind::Io, "stage", subject, cause),
    }
}

/// Content that is absent when nothing was written.
struct Counted {
    inner: LargeWriter,
    is_empty: bool,
}

impl Counted {
    fn end(mut self) -> io::Result<Option<ContentRef>> {
        if self.is_empty { Ok(None) } else { self.inner.end().map(Some) }
    }
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.is_empty &= bytes.is_empty();
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
