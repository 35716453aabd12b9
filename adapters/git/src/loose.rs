//! A loose object as a stream. gix holds one in memory as a whole, which a captured file of any size would have to fit into.

use gix::ObjectId;
use gix::objs::Kind;
use gix::zlib::Decompress;
use gix::zlib::stream::inflate;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

/// Longest header: a kind, a blank, a length in digits, and NUL.
const MAX_HEADER_BYTES: usize = 32;

/// The content of a loose object.
pub(crate) struct LooseObject {
    pub(crate) kind: Kind,
    /// How long the content is, in bytes, as its header says.
    pub(crate) length: u64,
    file: BufReader<File>,
    state: Decompress,
}

impl LooseObject {
    /// Opens `oid` of `repository`, or of what that borrows from; `None` if it is not loose.
    pub(crate) fn find(repository: &gix::Repository, oid: &ObjectId) -> io::Result<Option<Self>> {
        let store = repository.objects.store_ref();
        let own = Self::open(store.path(), oid)?;
        if own.is_some() {
            return Ok(own);
        }
        let borrowed = store.alternate_db_paths().map_err(io::Error::other)?;
        borrowed.iter().find_map(|objects| Self::open(objects, oid).transpose()).transpose()
    }

    /// Opens `oid` below the object directory `objects`; `None` if it is not loose there.
    fn open(objects: &Path, oid: &ObjectId) -> io::Result<Option<Self>> {
        let name = oid.to_string();
        let (fan_out, rest) = name.split_at(2);
        let file = match File::open(objects.join(fan_out).join(rest)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let (mut file, mut state) = (BufReader::new(file), Decompress::new());
        let (kind, length) = header(&mut file, &mut state)?;
        Ok(Some(Self { kind, length, file, state }))
    }
}

impl Read for LooseObject {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() { Ok(0) } else { inflate::read(&mut self.file, &mut self.state, buffer) }
    }
}

fn header(file: &mut BufReader<File>, state: &mut Decompress) -> io::Result<(Kind, u64)> {
    let (mut header, mut byte) = (Vec::new(), [0]);
    while header.len() < MAX_HEADER_BYTES && inflate::read(file, state, &mut byte)? == 1 && byte != [0] {
        header.push(byte[0]);
    }
    let parsed = std::str::from_utf8(&header).ok().and_then(|header| {
        let (kind, length) = header.split_once(' ')?;
        Some((Kind::from_bytes(kind.as_bytes()).ok()?, length.parse().ok()?))
    });
    parsed.ok_or_else(|| crate::fields::invalid("a loose object has no header"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gix::objs::Write;

    #[test]
    fn an_object_reads_as_it_was_written_and_one_that_is_not_loose_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let objects = gix::odb::loose::Store::at(directory.path(), gix::hash::Kind::Sha1);
        for length in [0, 1, 100, 3 << 20] {
            let content: Vec<u8> = (0..length).map(|at: u32| (at % 251) as u8).collect();
            let oid = objects.write_buf(Kind::Blob, &content).unwrap();
            let mut opened = LooseObject::open(directory.path(), &oid).unwrap().unwrap();
            assert_eq!((opened.kind, opened.length), (Kind::Blob, u64::from(length)));
            let mut read = Vec::new();
            opened.read_to_end(&mut read).unwrap();
            assert_eq!(read, content);
        }
        assert!(LooseObject::open(directory.path(), &gix::hash::Kind::Sha1.null()).unwrap().is_none());
    }

    #[test]
    fn what_is_cut_off_or_no_object_is_an_error_or_shorter_than_it_says() {
        let directory = tempfile::tempdir().unwrap();
        let objects = gix::odb::loose::Store::at(directory.path(), gix::hash::Kind::Sha1);
        let oid = objects.write_buf(Kind::Blob, &[7; 1 << 20]).unwrap();
        let name = oid.to_string();
        let path = directory.path().join(&name[..2]).join(&name[2..]);
        let whole = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        for end in [0, 1, 2, 20, whole.len() / 2] {
            std::fs::write(&path, &whole[..end]).unwrap();
            let read = LooseObject::open(directory.path(), &oid).and_then(|opened| {
                let mut opened = opened.unwrap();
                io::copy(&mut opened, &mut io::sink()).map(|read| read < opened.length)
            });
            assert!(read.unwrap_or(true), "{end}");
        }
    }
}
