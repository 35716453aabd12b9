//! Reading a Change Set line by line, verified.

use super::{CHUNK, Order, decode_index, line};
use crate::cbor::Decoder;
use crate::object::{self, DecodeError, MAX_OBJECT_BYTES};
use isobox_domain::change::{ChangeLine, ChangeSetRef, ChangeSummary};
use isobox_domain::content::{ContentId, ContentRef};

/// Why an object could not be fetched.
pub type FetchError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// Why a Change Set cannot be read further.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A part of it could not be fetched.
    #[error("fetch {part} of a change set")]
    Fetch {
        /// The part.
        part: ContentId,
        /// Why not.
        #[source]
        source: FetchError,
    },
    /// A part of it is not what it should be.
    #[error("decode {part} of a change set")]
    Decode {
        /// The part.
        part: ContentId,
        /// What is wrong.
        #[source]
        source: DecodeError,
    },
    /// Lines are not in ascending order of their paths, or two are changes of one path.
    #[error("lines of the change set are out of order in {part}")]
    OutOfOrder {
        /// The chunk.
        part: ContentId,
    },
    /// Its lines do not add up to the totals in its index or in the record.
    #[error("the lines of change set {id} are not as many as it says")]
    WrongTotals {
        /// The Change Set.
        id: ContentId,
    },
}

/// Opens the Change Set that `reference` refers to. `fetch` returns the whole object for a reference, at most
/// [`MAX_OBJECT_BYTES`] long; what it returns is verified here.
pub fn read_change_set<F>(reference: &ChangeSetRef, mut fetch: F) -> Result<ChangeSetReader<F>, ReadError>
where
    F: FnMut(&ContentRef) -> Result<Vec<u8>, FetchError>,
{
    let index_ref = ContentRef { id: reference.id, length: reference.length };
    let bytes = fetch_verified(&mut fetch, &index_ref)?;
    let index = decode_index(&bytes).map_err(|source| ReadError::Decode { part: reference.id, source })?;
    if index.summary != reference.summary {
        return Err(ReadError::WrongTotals { id: reference.id });
    }
    Ok(ChangeSetReader {
        fetch,
        reference: *reference,
        chunks: index.chunks.into_iter(),
        current: None,
        order: Order::default(),
        counted: ChangeSummary::default(),
        is_over: false,
    })
}

/// The lines of a Change Set, one chunk in memory at a time. Whatever is wrong ends the iteration with an error.
#[derive(Debug)]
pub struct ChangeSetReader<F> {
    fetch: F,
    reference: ChangeSetRef,
    chunks: std::vec::IntoIter<ContentRef>,
    current: Option<(ContentId, Chunk)>,
    order: Order,
    counted: ChangeSummary,
    is_over: bool,
}

impl<F> ChangeSetReader<F>
where
    F: FnMut(&ContentRef) -> Result<Vec<u8>, FetchError>,
{
    fn next_line(&mut self) -> Result<Option<ChangeLine>, ReadError> {
        loop {
            if let Some((part, chunk)) = &mut self.current {
                let part = *part;
                if let Some(line) = chunk.next_line().map_err(|source| ReadError::Decode { part, source })? {
                    return self.admit(part, line).map(Some);
                }
            }
            let Some(next) = self.chunks.next() else {
                return self.check_totals().map(|()| None);
            };
            // The chunk before goes first: two at once would be twice the memory.
            self.current = None;
            let bytes = fetch_verified(&mut self.fetch, &next)?;
            let chunk = Chunk::open(bytes).map_err(|source| ReadError::Decode { part: next.id, source })?;
            self.current = Some((next.id, chunk));
        }
    }

    fn admit(&mut self, part: ContentId, line: ChangeLine) -> Result<ChangeLine, ReadError> {
        if !self.order.admits(&line) {
            return Err(ReadError::OutOfOrder { part });
        }
        self.counted.count(&line);
        Ok(line)
    }

    fn check_totals(&self) -> Result<(), ReadError> {
        if self.counted == self.reference.summary {
            return Ok(());
        }
        Err(ReadError::WrongTotals { id: self.reference.id })
    }
}

impl<F> Iterator for ChangeSetReader<F>
where
    F: FnMut(&ContentRef) -> Result<Vec<u8>, FetchError>,
{
    type Item = Result<ChangeLine, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let item = self.next_line().transpose();
        self.is_over = !matches!(item, Some(Ok(_)));
        item
    }
}

// The length is checked first, so that nothing larger than an object is asked for.
fn fetch_verified<F>(fetch: &mut F, reference: &ContentRef) -> Result<Vec<u8>, ReadError>
where
    F: FnMut(&ContentRef) -> Result<Vec<u8>, FetchError>,
{
    let part = reference.id;
    let length = usize::try_from(reference.length).unwrap_or(usize::MAX);
    if length > MAX_OBJECT_BYTES {
        let source = DecodeError::TooLarge { length, limit: MAX_OBJECT_BYTES };
        return Err(ReadError::Decode { part, source });
    }
    let bytes = fetch(reference).map_err(|source| ReadError::Fetch { part, source })?;
    object::verify(reference, &bytes).map_err(|source| ReadError::Decode { part, source })?;
    Ok(bytes)
}

/// One chunk, read line by line.
#[derive(Debug)]
pub(super) struct Chunk {
    bytes: Vec<u8>,
    at: usize,
    left: usize,
}

impl Chunk {
    /// Checks what stands before the lines.
    pub(super) fn open(bytes: Vec<u8>) -> Result<Self, DecodeError> {
        let mut decoder = Decoder::new(&bytes)?;
        let mut map = decoder.map()?;
        object::open(&mut map, CHUNK)?;
        let left = map.need(2, "the lines")?.array()?;
        map.end()?;
        if left == 0 {
            return decoder.expected("at least one line");
        }
        let at = decoder.position();
        Ok(Self { bytes, at, left })
    }

    /// The next line; after the last one, `None` if nothing follows it.
    pub(super) fn next_line(&mut self) -> Result<Option<ChangeLine>, DecodeError> {
        let mut decoder = Decoder::resume(&self.bytes, self.at);
        if self.left == 0 {
            return decoder.end().map(|()| None);
        }
        let line = line::decode(&mut decoder)?;
        let end = decoder.position();
        object::require_equal(&self.bytes[self.at..end], &line::encode(&line))?;
        self.at = end;
        self.left -= 1;
        Ok(Some(line))
    }
}
