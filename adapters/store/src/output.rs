//! Outputs of a workload: staged so that a killed supervisor loses none of the bytes it had received.

use crate::dir::{Access, Dir};
use crate::error::{failed, is_full};
use crate::large_reader::read_frames;
use crate::large_writer::{LargeWriter, PIECE};
use crate::room::give_back_for_outputs;
use crate::staging::{SharedStaging, hold};
use isobox_domain::content::ContentRef;
use isobox_ports::{ObjectWriter, Role, StoreError};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Bytes of the number that a piece's file starts with.
pub(crate) const NUMBER_LEN: u64 = 8;

/// The file name of a role's staged content.
pub(crate) fn role_name(role: Role) -> &'static str {
    match role {
        Role::Stdout => "stdout",
        Role::Stderr => "stderr",
        Role::Timeline => "timeline",
        Role::Patch => "patch",
        Role::WorkspaceGit => "workspace-git",
        Role::V1Record => "v1-record",
        Role::V1Files => "v1-files",
        Role::File => "file",
    }
}

/// Stages one object. The current piece is written through to a file of its own, which starts with the piece's number,
/// before it becomes a frame: after a kill, frames and that piece together are what had been written.
pub(crate) struct Output {
    content: LargeWriter,
    dir: Arc<Dir>,
    name: String,
    piece: Option<File>,
}

impl Output {
    /// Begins an object of `role`.
    pub(crate) fn new(staging: &SharedStaging, role: Role) -> Self {
        let dir = hold(staging).dir();
        let name = match role {
            Role::File => hold(staging).next_name(),
            _ => role_name(role).to_owned(),
        };
        Self { content: LargeWriter::new(Arc::clone(staging), Some(name.clone())), dir, name, piece: None }
    }

    fn write_through(&mut self, bytes: &[u8]) -> io::Result<()> {
        let at = NUMBER_LEN + (PIECE - self.content.room()) as u64;
        let number = self.content.pieces();
        let file = match &mut self.piece {
            Some(file) => file,
            empty => {
                let file = self.dir.file(&piece_name(&self.name), Access::Empty)?;
                empty.insert(file)
            }
        };
        if at == NUMBER_LEN {
            // Only where there is something to cut: what was cut is written to the disk as soon as it is closed, although it
            // is removed a moment later (ext4(5), "auto_da_alloc").
            if number > 0 {
                file.set_len(0)?;
            }
            file.write_all_at(&number.to_le_bytes(), 0)?;
        }
        file.write_all_at(bytes, at)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.content.room() == 0 {
            self.content.write_piece()?;
        }
        let bytes = &bytes[..bytes.len().min(self.content.room())];
        self.write_through(bytes)?;
        self.content.push(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ObjectWriter for Output {
    fn finish(mut self: Box<Self>) -> Result<ContentRef, StoreError> {
        let ended = match self.content.end() {
            // The stream filled the disk, but what came of it is to be kept.
            Err(error) if is_full(&error) => give_back_for_outputs(&self.dir).and_then(|()| self.content.end()),
            ended => ended,
        };
        ended.map_err(failed("stage", &self.dir.shown(&self.name)))
    }
}

/// Stages anew what a dead owner had written for `role`; `None` if that was nothing.
pub(crate) fn salvage(staging: &SharedStaging, role: Role) -> io::Result<Option<ContentRef>> {
    let (dir, name) = (hold(staging).dir(), role_name(role));
    let frames = dir.find_file(name)?;
    let piece = dir.find_file(&piece_name(name))?;
    let mut content = LargeWriter::new(Arc::clone(staging), None);
    let mut is_empty = true;
    let mut copy = |raw: &[u8]| {
        is_empty &= raw.is_empty();
        content.write_all(raw)
    };
    let mut count = 0;
    if let Some(frames) = frames {
        read_frames(&frames, |raw| {
            count += 1;
            copy(raw)
        })?;
    }
    if let Some(raw) = piece.map(|piece| read_piece(piece, count)).transpose()?.flatten() {
        copy(&raw)?;
    }
    if is_empty { Ok(None) } else { content.end().map(Some) }
}

// A piece with a lower number has become a frame already.
fn read_piece(file: File, expected: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    file.take(NUMBER_LEN + PIECE as u64).read_to_end(&mut bytes)?;
    let number = bytes.first_chunk().map(|number| u64::from_le_bytes(*number));
    Ok((number == Some(expected)).then(|| bytes.split_off(NUMBER_LEN as usize)))
}

/// The file names of the pieces of a workload's streams and of their timeline.
pub(crate) const PIECES: [&str; 3] = ["stdout.piece", "stderr.piece", "timeline.piece"];

/// The file name of the piece that is being written.
pub(crate) fn piece_name(name: &str) -> String {
    format!("{name}.piece")
}
