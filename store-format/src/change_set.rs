//! Change Sets: chunks of path-ordered lines, and an index object that lists the chunks.
//!
//! Both directions hold one chunk at a time, so a Change Set of any number of paths takes constant memory.

mod line;
mod reader;
mod writer;

pub use reader::{ChangeSetReader, FetchError, ReadError, read_change_set};
pub use writer::{ChangeSetWriter, FinishedChangeSet, WriteError};

use crate::cbor::Decoder;
use crate::object::{self, DecodeError, EncodeError};
use isobox_domain::change::{ChangeLine, ChangeSummary};
use isobox_domain::content::ContentRef;

const INDEX: &str = "isobox.change_set";
const CHUNK: &str = "isobox.changes";

/// What the index object of a Change Set says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeSetIndex {
    /// Totals of all lines.
    pub summary: ChangeSummary,
    /// The chunks, in the order of their lines; at least one.
    pub chunks: Vec<ContentRef>,
}

/// The index object of a Change Set.
pub fn encode_index(index: &ChangeSetIndex) -> Result<Vec<u8>, EncodeError> {
    object::checked(INDEX, encode_unchecked(index), decode_index)
}

/// The index that `bytes` say. What it lists is the Change Set's own: the chunks to be kept with it.
pub fn decode_index(bytes: &[u8]) -> Result<ChangeSetIndex, DecodeError> {
    let mut decoder = Decoder::new(bytes)?;
    let mut map = decoder.map()?;
    object::open(&mut map, INDEX)?;
    let index = ChangeSetIndex {
        summary: map.need(2, "the totals")?.summary()?,
        chunks: map.need(3, "the chunks")?.list(Decoder::reference)?,
    };
    map.end()?;
    decoder.end()?;
    if index.chunks.is_empty() {
        return decoder.expected("at least one chunk");
    }
    object::require_equal(bytes, &encode_unchecked(&index))?;
    Ok(index)
}

fn encode_unchecked(index: &ChangeSetIndex) -> Vec<u8> {
    object::encode(INDEX, |map| {
        map.field(2).summary(&index.summary);
        let chunks = map.field(3).array(index.chunks.len());
        for chunk in &index.chunks {
            chunks.reference(chunk);
        }
    })
}

/// The lines of one chunk, in memory at once: for tools that look at a single chunk. See [`read_change_set`] for a whole Change Set.
pub fn decode_chunk(bytes: &[u8]) -> Result<Vec<ChangeLine>, DecodeError> {
    let mut chunk = reader::Chunk::open(bytes.to_vec())?;
    std::iter::from_fn(|| chunk.next_line().transpose()).collect()
}

/// How far lines have come. Paths never descend, and at most one line about a path is a change.
#[derive(Debug, Default)]
struct Order {
    last: Option<Vec<u8>>,
    has_change: bool,
}

impl Order {
    /// Whether `line` may come next; if so, it is the last one from then on.
    fn admits(&mut self, line: &ChangeLine) -> bool {
        let (path, is_change) = match line {
            ChangeLine::Change(change) => (change.path.as_bytes(), true),
            ChangeLine::NotCaptured(left_out) => (left_out.workspace_path.as_slice(), false),
        };
        let is_same = self.last.as_deref() == Some(path);
        let is_admitted = if is_same { !(is_change && self.has_change) } else { self.last.as_deref() < Some(path) };
        if is_admitted {
            self.has_change = is_change || (is_same && self.has_change);
            if !is_same {
                self.last = Some(path.to_vec());
            }
        }
        is_admitted
    }
}
