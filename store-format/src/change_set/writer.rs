//! Cutting lines into chunks.

use super::{CHUNK, ChangeSetIndex, Order, encode_index, line};
use crate::cbor::{Decoder, Encoder};
use crate::object::{self, DecodeError, EncodeError, MAX_OBJECT_BYTES, SCHEMA};
use isobox_domain::change::{ChangeLine, ChangeSetRef, ChangeSummary};
use isobox_domain::content::ContentRef;

// What a chunk has around its lines: at most 27 bytes, its kind being a text of 14.
const FRAME_BYTES: usize = 32;
const MAX_LINES_BYTES: usize = MAX_OBJECT_BYTES - FRAME_BYTES;

/// Why a line cannot be part of a Change Set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// It comes after a line with a greater path, or is a second change of one path.
    #[error("a line of the change set is out of order")]
    OutOfOrder,
    /// It breaks a rule of the format, or is too large for a chunk; or the index became too large.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

/// A whole Change Set: what is left to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedChangeSet {
    /// The last chunk.
    pub chunk: Vec<u8>,
    /// The index object; `reference` refers to it.
    pub index: Vec<u8>,
    /// How a record refers to the Change Set.
    pub reference: ChangeSetRef,
}

/// Cuts lines into chunks of at most 1 MiB. The caller stores the chunks as they come.
#[derive(Debug, Default)]
pub struct ChangeSetWriter {
    lines: Vec<u8>,
    count: usize,
    order: Order,
    index: Vec<ContentRef>,
    summary: ChangeSummary,
}

impl ChangeSetWriter {
    /// Adds a line, whose path is not less than the one before. Returns the chunk of the lines before it once that is full.
    /// After an error the Change Set is as before.
    pub fn push(&mut self, line: &ChangeLine) -> Result<Option<Vec<u8>>, WriteError> {
        let encoded = line::encode(line);
        check(&encoded)?;
        if !self.order.admits(line) {
            return Err(WriteError::OutOfOrder);
        }
        let is_full = self.lines.len() + encoded.len() > MAX_LINES_BYTES;
        let chunk = is_full.then(|| self.cut());
        self.lines.extend_from_slice(&encoded);
        self.count += 1;
        self.summary.count(line);
        Ok(chunk)
    }

    /// Ends the Change Set; `None` if it has no line.
    pub fn finish(mut self) -> Result<Option<FinishedChangeSet>, WriteError> {
        if self.count == 0 {
            return Ok(None);
        }
        let chunk = self.cut();
        let index = encode_index(&ChangeSetIndex { summary: self.summary, chunks: self.index })?;
        let ContentRef { id, length } = object::reference_to(&index);
        let reference = ChangeSetRef { id, length, summary: self.summary };
        Ok(Some(FinishedChangeSet { chunk, index, reference }))
    }

    fn cut(&mut self) -> Vec<u8> {
        let mut encoder = Encoder::default();
        encoder.map(|map| {
            map.field(0).text(CHUNK);
            map.field(1).uint(SCHEMA);
            map.field(2).array(self.count).item(&self.lines);
        });
        self.lines.clear();
        self.count = 0;
        let chunk = encoder.into_bytes();
        self.index.push(object::reference_to(&chunk));
        chunk
    }
}

// What a reader would refuse is not written.
fn check(encoded: &[u8]) -> Result<(), EncodeError> {
    let mut decoder = Decoder::with_limit(encoded, MAX_LINES_BYTES).map_err(|_| EncodeError::TooLarge {
        kind: CHUNK,
        length: encoded.len(),
        limit: MAX_LINES_BYTES,
    })?;
    let refused = |source: DecodeError| EncodeError::Refused { kind: CHUNK, source };
    line::decode(&mut decoder).and_then(|_| decoder.end()).map_err(refused)
}
