//! Reading deterministic CBOR, and nothing else.

use super::{ARRAY, BYTES, FALSE, MAP, TEXT, TRUE, UINT};
use crate::object::{DecodeError, MAX_OBJECT_BYTES};

/// Reads items one after the other, and only in the one way that [`Encoder`] writes them.
#[derive(Debug)]
pub(crate) struct Decoder<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Decoder<'a> {
    /// Reads an object of at most [`MAX_OBJECT_BYTES`].
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        Self::with_limit(bytes, MAX_OBJECT_BYTES)
    }

    /// Reads an object of at most `limit` bytes.
    pub(crate) fn with_limit(bytes: &'a [u8], limit: usize) -> Result<Self, DecodeError> {
        if bytes.len() > limit {
            return Err(DecodeError::TooLarge { length: bytes.len(), limit });
        }
        Ok(Self { bytes, at: 0 })
    }

    /// Reads on in `bytes` from `at`, where an earlier decoder of the same bytes stood.
    pub(crate) fn resume(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// How many bytes were read.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// The error that something else should have been here.
    pub(crate) fn expected<T>(&self, expected: &'static str) -> Result<T, DecodeError> {
        Err(DecodeError::Malformed { expected, offset: self.at })
    }

    pub(crate) fn uint(&mut self) -> Result<u64, DecodeError> {
        self.head(UINT, "an unsigned integer")
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = self.head(BYTES, "a byte string")?;
        self.take(length)
    }

    /// A byte string of exactly `N` bytes.
    pub(crate) fn fixed<const N: usize>(&mut self, expected: &'static str) -> Result<[u8; N], DecodeError> {
        let start = self.at;
        let malformed = DecodeError::Malformed { expected, offset: start };
        self.bytes()?.try_into().map_err(|_| malformed)
    }

    /// UTF-8 without NUL.
    pub(crate) fn text(&mut self) -> Result<&'a str, DecodeError> {
        let length = self.head(TEXT, "a text")?;
        let start = self.at;
        let text = std::str::from_utf8(self.take(length)?).ok().filter(|text| !text.contains('\0'));
        text.ok_or(DecodeError::Malformed { expected: "UTF-8 without NUL", offset: start })
    }

    pub(crate) fn bool(&mut self) -> Result<bool, DecodeError> {
        let value = match self.bytes.get(self.at) {
            Some(&FALSE) => false,
            Some(&TRUE) => true,
            _ => return self.expected("true or false"),
        };
        self.at += 1;
        Ok(value)
    }

    /// The length of an array; never more than bytes are left, so that it may be reserved.
    pub(crate) fn array(&mut self) -> Result<usize, DecodeError> {
        self.counted(ARRAY, "an array")
    }

    /// Begins an array whose length must be `length`.
    pub(crate) fn array_of(&mut self, length: usize, expected: &'static str) -> Result<(), DecodeError> {
        let start = self.at;
        if self.array()? != length {
            return Err(DecodeError::Malformed { expected, offset: start });
        }
        Ok(())
    }

    /// Reads an array with `item` for each of its items.
    pub(crate) fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        let length = self.array()?;
        (0..length).map(|_| item(self)).collect()
    }

    /// Begins a map with small integers as keys.
    pub(crate) fn map(&mut self) -> Result<MapDecoder<'_, 'a>, DecodeError> {
        let left = self.counted(MAP, "a map")?;
        Ok(MapDecoder { decoder: self, left })
    }

    /// Reads a map from text to bytes, its keys in deterministic order and no two alike.
    pub(crate) fn text_map(&mut self) -> Result<Vec<(String, Vec<u8>)>, DecodeError> {
        let mut entries: Vec<(String, Vec<u8>)> = Vec::new();
        for _ in 0..self.counted(MAP, "a map")? {
            let start = self.at;
            let key = self.text()?;
            if entries.last().is_some_and(|(last, _)| (last.len(), last.as_str()) >= (key.len(), key)) {
                return Err(DecodeError::Malformed { expected: "a key after the one before it", offset: start });
            }
            entries.push((key.to_owned(), self.bytes()?.to_vec()));
        }
        Ok(entries)
    }

    /// Checks that nothing follows.
    pub(crate) fn end(&self) -> Result<(), DecodeError> {
        if self.at == self.bytes.len() { Ok(()) } else { self.expected("the end") }
    }

    fn counted(&mut self, major: u8, expected: &'static str) -> Result<usize, DecodeError> {
        let start = self.at;
        let count = self.head(major, expected)?;
        // Every item takes a byte at least, so a larger count is a lie.
        let left = self.bytes.len() - self.at;
        let count = usize::try_from(count).ok().filter(|&count| count <= left);
        count.ok_or(DecodeError::Malformed { expected: "a count that fits what follows", offset: start })
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], DecodeError> {
        let end = usize::try_from(length).ok().and_then(|length| self.at.checked_add(length));
        match end.and_then(|end| self.bytes.get(self.at..end)) {
            Some(taken) => {
                self.at += taken.len();
                Ok(taken)
            }
            None => self.expected("as many bytes as announced"),
        }
    }

    fn head(&mut self, major: u8, expected: &'static str) -> Result<u64, DecodeError> {
        let malformed = DecodeError::Malformed { expected, offset: self.at };
        let (&first, rest) = self.bytes.get(self.at..).and_then(<[u8]>::split_first).ok_or(malformed.clone())?;
        if first >> 5 != major {
            return Err(malformed);
        }
        let (argument, width, least) = match first & 31 {
            small @ 0..=23 => (Some(u64::from(small)), 0, 0),
            24 => (be::<1>(rest), 1, 24),
            25 => (be::<2>(rest), 2, 0x100),
            26 => (be::<4>(rest), 4, 0x1_0000),
            27 => (be::<8>(rest), 8, 0x1_0000_0000),
            _ => return self.expected("a definite length"),
        };
        let argument = argument.filter(|&argument| argument >= least);
        let argument = argument.ok_or(DecodeError::Malformed { expected: "the shortest form", offset: self.at })?;
        self.at += 1 + width;
        Ok(argument)
    }
}

fn be<const N: usize>(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk::<N>().map(|chunk| chunk.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

/// The fields of one map, asked for in ascending order of their keys.
pub(crate) struct MapDecoder<'d, 'a> {
    decoder: &'d mut Decoder<'a>,
    left: usize,
}

impl<'a> MapDecoder<'_, 'a> {
    /// The decoder at the value of `key`, which must be the next field.
    pub(crate) fn need(&mut self, key: u64, expected: &'static str) -> Result<&mut Decoder<'a>, DecodeError> {
        if self.find(key)?.is_none() {
            return self.decoder.expected(expected);
        }
        Ok(self.decoder)
    }

    /// The decoder at the value of `key` if that is the next field.
    pub(crate) fn find(&mut self, key: u64) -> Result<Option<&mut Decoder<'a>>, DecodeError> {
        if self.left == 0 {
            return Ok(None);
        }
        let start = self.decoder.at;
        if self.decoder.uint()? != key {
            self.decoder.at = start;
            return Ok(None);
        }
        self.left -= 1;
        Ok(Some(self.decoder))
    }

    /// Checks that there are no more fields: an unknown, repeated or misplaced key ends here.
    pub(crate) fn end(self) -> Result<(), DecodeError> {
        if self.left == 0 { Ok(()) } else { self.decoder.expected("no further field") }
    }
}
