//! What all objects above the entry level share: a kind, a schema number, a size limit, and how they refer to each other.

use crate::cbor::{Decoder, Encoder, MapDecoder, MapEncoder};
use isobox_domain::change::ChangeSummary;
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::git_oid::GitOid;
use isobox_domain::repo_path::{RepoPath, RepoPathError};
use isobox_domain::timestamp::Timestamp;

/// Longest object of this format that is written or read, in bytes. Artifacts (outputs, files, patches) are no such objects.
pub const MAX_OBJECT_BYTES: usize = 1 << 20;

/// The schema number of every object but those that say otherwise.
pub const SCHEMA: u64 = 1;

/// Why some bytes are no object of this format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// They are more than such an object may have.
    #[error("{length} bytes are more than the {limit} that are accepted")]
    TooLarge {
        /// How many there are.
        length: usize,
        /// How many there may be.
        limit: usize,
    },
    /// They were written in a schema of a later version.
    #[error("schema {found} of `{kind}` is not known to this version")]
    UnknownSchema {
        /// The kind of object.
        kind: &'static str,
        /// Its schema number.
        found: u64,
    },
    /// Something else should have been at an offset.
    #[error("expected {expected} at byte {offset}")]
    Malformed {
        /// What should have been there.
        expected: &'static str,
        /// Where, in bytes from the start of the object.
        offset: usize,
    },
    /// A path is none that isobox would ever join to a directory.
    #[error("the path before byte {offset} is refused")]
    Path {
        /// Where it ends, in bytes from the start of the object.
        offset: usize,
        /// Which rule it breaks.
        #[source]
        source: RepoPathError,
    },
    /// An object that was handed over is not the one that is referred to.
    #[error("expected the object {expected}, found {found}")]
    WrongObject {
        /// The object that is referred to.
        expected: ContentId,
        /// The one that was handed over.
        found: ContentId,
    },
}

/// Why a value cannot be written in this format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The object would be larger than readers accept.
    #[error("the {kind} takes {length} bytes, more than the {limit} that are accepted")]
    TooLarge {
        /// The kind of object.
        kind: &'static str,
        /// How long it would be.
        length: usize,
        /// How long it may be.
        limit: usize,
    },
    /// The value breaks a rule of the format, so that no reader would accept it.
    #[error("the {kind} breaks a rule of the format")]
    Refused {
        /// The kind of object.
        kind: &'static str,
        /// What a reader would say.
        #[source]
        source: DecodeError,
    },
}

/// How other objects refer to `bytes`.
pub fn reference_to(bytes: &[u8]) -> ContentRef {
    ContentRef { id: ContentId::new(*blake3::hash(bytes).as_bytes()), length: bytes.len() as u64 }
}

/// Checks that `bytes` are what `reference` refers to.
pub fn verify(reference: &ContentRef, bytes: &[u8]) -> Result<(), DecodeError> {
    let found = reference_to(bytes);
    if found == *reference {
        return Ok(());
    }
    Err(DecodeError::WrongObject { expected: reference.id, found: found.id })
}

/// Encodes an object of `kind`: its kind and schema as fields 0 and 1, then what `fill` adds from 2 on.
pub(crate) fn encode(kind: &'static str, fill: impl FnOnce(&mut MapEncoder)) -> Vec<u8> {
    encode_as(kind, SCHEMA, fill)
}

/// The same with a schema number of its own.
pub(crate) fn encode_as(kind: &'static str, schema: u64, fill: impl FnOnce(&mut MapEncoder)) -> Vec<u8> {
    let mut encoder = Encoder::default();
    encoder.map(|map| {
        map.field(0).text(kind);
        map.field(1).uint(schema);
        fill(map);
    });
    encoder.into_bytes()
}

/// Checks fields 0 and 1 of an object.
pub(crate) fn open(map: &mut MapDecoder<'_, '_>, kind: &'static str) -> Result<(), DecodeError> {
    open_up_to(map, kind, SCHEMA)
}

/// The same of an object that has schema numbers up to `newest`. That it is the right one shows when it is encoded again.
pub(crate) fn open_up_to(map: &mut MapDecoder<'_, '_>, kind: &'static str, newest: u64) -> Result<(), DecodeError> {
    let decoder = map.need(0, "the kind of the object")?;
    if decoder.text()? != kind {
        return decoder.expected(kind);
    }
    match map.need(1, "a schema number")?.uint()? {
        found if (SCHEMA..=newest).contains(&found) => Ok(()),
        found => Err(DecodeError::UnknownSchema { kind, found }),
    }
}

/// Hands `bytes` out once a reader was seen to accept them.
pub(crate) fn checked<T>(
    kind: &'static str,
    bytes: Vec<u8>,
    decode: impl FnOnce(&[u8]) -> Result<T, DecodeError>,
) -> Result<Vec<u8>, EncodeError> {
    match decode(&bytes) {
        Ok(_) => Ok(bytes),
        Err(DecodeError::TooLarge { length, limit }) => Err(EncodeError::TooLarge { kind, length, limit }),
        Err(source) => Err(EncodeError::Refused { kind, source }),
    }
}

/// Refuses bytes that their own re-encoding does not repeat.
pub(crate) fn require_equal(bytes: &[u8], again: &[u8]) -> Result<(), DecodeError> {
    if bytes == again {
        return Ok(());
    }
    let offset = bytes.iter().zip(again).take_while(|(a, b)| a == b).count();
    Err(DecodeError::Malformed { expected: "the deterministic encoding", offset })
}

/// The names of the values of a type, each once.
pub(crate) type Names<'n, T> = &'n [(&'static str, T)];

impl Encoder {
    /// Writes the name of `value` in `names`, which has every value.
    pub(crate) fn named<T: PartialEq>(&mut self, names: Names<'_, T>, value: &T) -> &mut Self {
        let found = names.iter().find(|(_, candidate)| candidate == value);
        self.text(found.map_or("", |(name, _)| name))
    }

    pub(crate) fn id(&mut self, id: &ContentId) -> &mut Self {
        self.bytes(id.as_bytes())
    }

    pub(crate) fn reference(&mut self, reference: &ContentRef) -> &mut Self {
        self.array(2).id(&reference.id).uint(reference.length)
    }

    pub(crate) fn time(&mut self, time: Timestamp) -> &mut Self {
        self.uint(time.unix_ms())
    }

    /// Totals of a Change Set: added, modified, deleted, not captured.
    pub(crate) fn summary(&mut self, summary: &ChangeSummary) -> &mut Self {
        self.array(4).uint(summary.added).uint(summary.modified).uint(summary.deleted).uint(summary.not_captured)
    }

    pub(crate) fn texts(&mut self, texts: &[String]) -> &mut Self {
        self.array(texts.len());
        texts.iter().fold(self, |encoder, text| encoder.text(text))
    }
}

impl Decoder<'_> {
    pub(crate) fn id(&mut self) -> Result<ContentId, DecodeError> {
        self.fixed("a BLAKE3 hash").map(ContentId::new)
    }

    pub(crate) fn reference(&mut self) -> Result<ContentRef, DecodeError> {
        self.array_of(2, "a hash and a length")?;
        Ok(ContentRef { id: self.id()?, length: self.uint()? })
    }

    pub(crate) fn time(&mut self) -> Result<Timestamp, DecodeError> {
        let ms = self.uint()?;
        Timestamp::from_unix_ms(ms).map_or_else(|| self.expected("a time between 2000 and 2200"), Ok)
    }

    pub(crate) fn oid(&mut self) -> Result<GitOid, DecodeError> {
        let bytes = self.bytes()?;
        GitOid::from_bytes(bytes).map_or_else(|| self.expected("a Git object id of 20 or 32 bytes"), Ok)
    }

    pub(crate) fn path(&mut self) -> Result<RepoPath, DecodeError> {
        let bytes = self.bytes()?;
        RepoPath::parse(bytes).map_err(|source| DecodeError::Path { offset: self.position(), source })
    }

    /// Bytes that could be handed to a system call as a string.
    pub(crate) fn bytes_without_nul(&mut self) -> Result<&[u8], DecodeError> {
        let bytes = self.bytes()?;
        if bytes.contains(&0) { self.expected("bytes without NUL") } else { Ok(bytes) }
    }

    /// An absolute path of the host, any bytes but NUL.
    pub(crate) fn host_path(&mut self) -> Result<Vec<u8>, DecodeError> {
        let path = self.bytes_without_nul()?.to_vec();
        if path.starts_with(b"/") { Ok(path) } else { self.expected("an absolute path") }
    }

    /// Totals of a Change Set.
    pub(crate) fn summary(&mut self) -> Result<ChangeSummary, DecodeError> {
        self.array_of(4, "four totals")?;
        let (added, modified, deleted, not_captured) = (self.uint()?, self.uint()?, self.uint()?, self.uint()?);
        Ok(ChangeSummary { added, modified, deleted, not_captured })
    }

    pub(crate) fn texts(&mut self) -> Result<Vec<String>, DecodeError> {
        self.list(|decoder| decoder.text().map(str::to_owned))
    }

    /// The value whose name in `names` is the text here.
    pub(crate) fn named<T: Copy>(&mut self, names: Names<'_, T>, expected: &'static str) -> Result<T, DecodeError> {
        let text = self.text()?;
        let found = names.iter().find(|(name, _)| *name == text);
        found.map_or_else(|| self.expected(expected), |(_, value)| Ok(*value))
    }
}
