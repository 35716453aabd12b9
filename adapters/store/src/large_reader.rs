//! Reading large artifacts, frame by frame.

use crate::dir::{Access, Dir};
use isobox_domain::content::ContentId;
use isobox_store_format::entry::{EntryError, EntryHeader, HEADER_LEN, Place, crc_append};
use isobox_store_format::frame::{decode_frame, first_frame};
use isobox_store_format::limits::{FRAME_RAW, MAX_FRAME};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// The folder and file name of a large artifact below `large/`.
pub(crate) fn large_name(id: &ContentId) -> (String, String) {
    let mut folder = id.to_hex();
    let file = folder.split_off(2);
    (folder, file)
}

/// Opens the file of a large artifact, `None` if there is none.
pub(crate) fn find_large(large: &Dir, id: &ContentId) -> io::Result<Option<File>> {
    let (folder, name) = large_name(id);
    match large.find_dir(&folder)? {
        Some(folder) => folder.find_file(&name),
        None => Ok(None),
    }
}

/// The header of a large file, if it is sound and the file has the length it says.
pub(crate) fn large_header(file: &File) -> io::Result<Option<EntryHeader>> {
    let header = crate::pack_scan::read_header(file, 0, Place::Large)?;
    let length = file.metadata()?.len();
    Ok(header.filter(|header| header.entry_length() == length))
}

/// The frames of a file, one after the other.
struct Frames {
    file: Arc<File>,
    /// Where the bytes in `buffer` start.
    at: u64,
    /// Where the frames end.
    end: u64,
    buffer: Vec<u8>,
    crc: u32,
}

impl Frames {
    fn new(file: Arc<File>, end: u64) -> Self {
        Self { file, at: HEADER_LEN as u64, end, buffer: Vec::new(), crc: 0 }
    }

    fn is_over(&self) -> bool {
        self.at >= self.end
    }

    /// The raw bytes of the next frame; `None` if no whole frame follows.
    fn next_raw(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.fill()?;
        let Some((length, raw_length)) = first_frame(&self.buffer) else { return Ok(None) };
        if raw_length > FRAME_RAW {
            return Ok(None);
        }
        let Ok(raw) = decode_frame(&self.buffer[..length], raw_length) else { return Ok(None) };
        self.crc = crc_append(self.crc, &self.buffer[..length]);
        self.buffer.drain(..length);
        self.at += length as u64;
        Ok(Some(raw))
    }

    fn fill(&mut self) -> io::Result<()> {
        let wanted = (self.end - self.at).min(MAX_FRAME) as usize;
        let mut filled = self.buffer.len();
        self.buffer.resize(wanted.max(filled), 0);
        while filled < wanted {
            match self.file.read_at(&mut self.buffer[filled..], self.at + filled as u64) {
                Ok(0) => break,
                Ok(length) => filled += length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.buffer.truncate(filled);
        Ok(())
    }
}

/// Hands the raw bytes of every whole frame of a staged file to `take`, up to the first that is not whole.
pub(crate) fn read_frames(file: &File, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let end = file.metadata()?.len();
    let mut frames = Frames::new(Arc::new(file.try_clone()?), end);
    while !frames.is_over() {
        match frames.next_raw()? {
            Some(raw) => take(&raw)?,
            None => break,
        }
    }
    Ok(())
}

/// The raw bytes of the frame at `offset` of a file that is being staged, and where the next one starts; `None` if it is
/// not whole.
pub(crate) fn frame_at(file: &Arc<File>, offset: u64) -> io::Result<Option<(Vec<u8>, u64)>> {
    let end = file.metadata()?.len();
    let mut frames = Frames { at: offset.max(HEADER_LEN as u64), ..Frames::new(Arc::clone(file), end) };
    match frames.is_over() {
        true => Ok(None),
        false => Ok(frames.next_raw()?.map(|raw| (raw, frames.at))),
    }
}

/// Reads a large file from end to end: whether it is the content that its header names.
pub(crate) fn verify_large(file: &Arc<File>, header: &EntryHeader) -> io::Result<Result<(), EntryError>> {
    let mut frames = Frames::new(Arc::clone(file), header.entry_length());
    let mut hasher = blake3::Hasher::new();
    let mut left = header.raw_length;
    while left > 0 {
        // Every frame but the last is full, so that there is one encoding only.
        match frames.next_raw()?.filter(|raw| raw.len() as u64 == left.min(FRAME_RAW)) {
            Some(raw) => {
                hasher.update(&raw);
                left -= raw.len() as u64;
            }
            None => return Ok(Err(EntryError::Frame { reason: "a frame is damaged or missing" })),
        }
    }
    if !frames.is_over() {
        return Ok(Err(EntryError::Frame { reason: "something follows the last frame" }));
    }
    if frames.crc != header.payload_crc {
        return Ok(Err(EntryError::PayloadCrc));
    }
    let found = ContentId::new(*hasher.finalize().as_bytes());
    Ok(if found == header.id { Ok(()) } else { Err(EntryError::WrongContent { found }) })
}

/// The content of a large file that was verified. Takes the memory of one frame.
pub(crate) struct LargeContent {
    frames: Frames,
    current: io::Cursor<Vec<u8>>,
}

impl LargeContent {
    /// Delivers a verified file.
    pub(crate) fn new(file: Arc<File>, header: &EntryHeader) -> Self {
        Self { frames: Frames::new(file, header.entry_length()), current: io::Cursor::default() }
    }
}

impl Read for LargeContent {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let length = self.current.read(buffer)?;
            if length > 0 || buffer.is_empty() || self.frames.is_over() {
                return Ok(length);
            }
            let raw = self.frames.next_raw()?;
            let raw = raw.ok_or_else(|| io::Error::other("a frame was damaged after it had been verified"))?;
            self.current = io::Cursor::new(raw);
        }
    }
}

/// Opens a staged large file for reading back.
pub(crate) fn open_staged(dir: &Dir, name: &str) -> io::Result<Arc<File>> {
    dir.file(name, Access::Read).map(Arc::new)
}
