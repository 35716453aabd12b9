//! The file `FORMAT` of a store: which store it is, and which versions of isobox may use it.

use crate::entry::le_u32;
use isobox_domain::content::hex;
use std::fmt;

/// The version of the store's format that this crate writes.
pub const FORMAT_VERSION: u16 = 1;
/// Length of the file in bytes: two equal copies, so that one damaged byte does not cost the store.
pub const FORMAT_LEN: usize = 2 * COPY_LEN;
const COPY_LEN: usize = 512;
const MAGIC: &[u8; 8] = b"\xb1isobox\n";
const CRC_AT: usize = COPY_LEN - 4;

/// What tells a store from every other: 16 random bytes. COMMITs carry it, and nothing inside a Sandbox ever sees it,
/// so that no workload can write bytes that are taken for a COMMIT of the store they end up in.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct StoreId(pub [u8; 16]);

impl fmt::Debug for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

/// The content of `FORMAT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatFile {
    /// Which store it is.
    pub store: StoreId,
    /// The least format version that a reader must know.
    pub read_min: u16,
    /// The least format version that a writer must know.
    pub write_min: u16,
    /// Features that one must know to read or write.
    pub incompatible: Vec<String>,
    /// Features that one must know to write.
    pub read_compatible: Vec<String>,
    /// Features that one need not know.
    pub compatible: Vec<String>,
}

/// Why a store cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// Both copies are damaged, or it is no such file.
    #[error("it is damaged, or no file of isobox")]
    Damaged,
    /// A later version is needed.
    #[error("it needs format version {needed}, and this isobox knows {FORMAT_VERSION}")]
    TooNew {
        /// The version.
        needed: u16,
    },
    /// A feature is needed that this version does not have.
    #[error("it needs the feature `{0}`, which this isobox does not have")]
    UnknownFeature(String),
    /// The feature lists do not fit.
    #[error("the feature lists are longer than the file")]
    TooLong,
}

impl FormatFile {
    /// A store of this version, without further features.
    pub fn new(store: StoreId) -> Self {
        Self {
            store,
            read_min: FORMAT_VERSION,
            write_min: FORMAT_VERSION,
            incompatible: Vec::new(),
            read_compatible: Vec::new(),
            compatible: Vec::new(),
        }
    }

    /// The bytes of the file.
    pub fn encode(&self) -> Result<Vec<u8>, FormatError> {
        let mut copy = MAGIC.to_vec();
        copy.extend(self.store.0);
        copy.extend(self.read_min.to_le_bytes());
        copy.extend(self.write_min.to_le_bytes());
        for list in [&self.incompatible, &self.read_compatible, &self.compatible] {
            push_features(&mut copy, list)?;
        }
        if copy.len() > CRC_AT {
            return Err(FormatError::TooLong);
        }
        copy.resize(CRC_AT, 0);
        copy.extend(crc32c::crc32c(&copy).to_le_bytes());
        Ok(copy.repeat(2))
    }

    /// Reads the file: its first copy that is whole.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        if bytes.len() != FORMAT_LEN {
            return Err(FormatError::Damaged);
        }
        bytes.chunks_exact(COPY_LEN).find_map(decode_copy).ok_or(FormatError::Damaged)
    }

    /// Whether this version may read the store.
    pub fn require_readable(&self) -> Result<(), FormatError> {
        require(self.read_min, &self.incompatible)
    }

    /// Whether this version may write to the store.
    pub fn require_writable(&self) -> Result<(), FormatError> {
        self.require_readable()?;
        require(self.write_min, &self.read_compatible)
    }
}

// This version has no features yet, so every one that is needed is unknown.
fn require(needed: u16, features: &[String]) -> Result<(), FormatError> {
    if needed > FORMAT_VERSION {
        return Err(FormatError::TooNew { needed });
    }
    features.first().map_or(Ok(()), |feature| Err(FormatError::UnknownFeature(feature.clone())))
}

fn push_features(copy: &mut Vec<u8>, list: &[String]) -> Result<(), FormatError> {
    copy.push(u8::try_from(list.len()).map_err(|_| FormatError::TooLong)?);
    for feature in list {
        copy.push(u8::try_from(feature.len()).map_err(|_| FormatError::TooLong)?);
        copy.extend(feature.as_bytes());
    }
    Ok(())
}

fn decode_copy(copy: &[u8]) -> Option<FormatFile> {
    if le_u32(copy, CRC_AT) != crc32c::crc32c(&copy[..CRC_AT]) {
        return None;
    }
    let mut rest = copy[..CRC_AT].strip_prefix(MAGIC)?;
    let store = StoreId(*take(&mut rest)?);
    let read_min = u16::from_le_bytes(*take(&mut rest)?);
    let write_min = u16::from_le_bytes(*take(&mut rest)?);
    let [incompatible, read_compatible, compatible] =
        [take_features(&mut rest)?, take_features(&mut rest)?, take_features(&mut rest)?];
    let is_padded = rest.iter().all(|&byte| byte == 0);
    is_padded.then_some(FormatFile { store, read_min, write_min, incompatible, read_compatible, compatible })
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (taken, left) = rest.split_first_chunk()?;
    *rest = left;
    Some(taken)
}

fn take_features(rest: &mut &[u8]) -> Option<Vec<String>> {
    let [count] = *take::<1>(rest)?;
    (0..count).map(|_| take_feature(rest)).collect()
}

fn take_feature(rest: &mut &[u8]) -> Option<String> {
    let [length] = *take::<1>(rest)?;
    let (name, left) = rest.split_at_checked(usize::from(length))?;
    *rest = left;
    String::from_utf8(name.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> FormatFile {
        FormatFile { compatible: vec!["views".into(), "x".into()], ..FormatFile::new(StoreId([9; 16])) }
    }

    #[test]
    fn the_file_survives_any_one_damaged_bit() {
        let bytes = file().encode().unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(FormatFile::decode(&flipped), Ok(file()));
        }
        assert_eq!(FormatFile::decode(&bytes[1..]), Err(FormatError::Damaged));
        assert_eq!(FormatFile::decode(&[0; FORMAT_LEN]), Err(FormatError::Damaged));
    }

    #[test]
    fn a_store_of_a_later_version_is_refused_with_what_it_needs() {
        let newer = FormatFile { read_min: 2, ..file() };
        assert_eq!(newer.require_readable(), Err(FormatError::TooNew { needed: 2 }));
        let read_only = FormatFile { read_compatible: vec!["blocks".into()], ..file() };
        assert_eq!(read_only.require_readable(), Ok(()));
        assert_eq!(read_only.require_writable(), Err(FormatError::UnknownFeature("blocks".into())));
        assert_eq!(file().require_writable(), Ok(()));
    }
}
