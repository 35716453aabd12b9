//! One pack with the objects of a Workspace's `.git`, and its index.
//!
//! Objects that the source keeps whole in a pack are copied as they lie there; all others are compressed anew, at the
//! fastest level. Deltas are never written: their bases may be objects that do not belong into the Workspace. The
//! bytes are those of gitformat-pack(5), pack version 2 and index version 2.

use crate::loose::LooseObject;
use crate::objects::ObjectReader;
use gix::ObjectId;
use gix::odb::pack::Find;
use gix::odb::pack::data::entry::Header;
use gix::zlib::stream::deflate::{Compress, FlushCompress};
use gix::zlib::{Compression, Status};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// An object of the pack.
struct Packed {
    oid: ObjectId,
    crc32: u32,
    offset: u64,
}

/// Writes the objects `oids` (each once) of `repository` as one pack into `directory`, in their order: its file name
/// without extension.
pub(super) fn write(repository: &gix::Repository, oids: &[ObjectId], directory: &Path) -> gix::Result<String> {
    let kind = repository.object_hash();
    let file = create(&directory.join("new.pack")).map_err(gix::Error::from_error)?;
    let (mut packed, hash) = write_objects(repository, oids, file)?;
    packed.sort_unstable_by_key(|packed| packed.oid);
    let name = format!("pack-{hash}");
    write_index(&directory.join(format!("{name}.idx")), kind, &packed, hash)?;
    std::fs::rename(directory.join("new.pack"), directory.join(format!("{name}.pack")))
        .map_err(gix::Error::from_error)?;
    Ok(name)
}

/// Writes the objects `oids` (each once) of `repository` as one pack to `out`, in their order.
pub(crate) fn write_stream(repository: &gix::Repository, oids: &[ObjectId], out: &mut dyn Write) -> gix::Result<()> {
    write_objects(repository, oids, out).map(drop)
}

/// Writes the pack itself: where each object lies in it, and its hash.
fn write_objects<W: Write>(
    repository: &gix::Repository,
    oids: &[ObjectId],
    out: W,
) -> gix::Result<(Vec<Packed>, ObjectId)> {
    let mut pack = PackWriter::begin(out, repository.object_hash(), oids.len())?;
    let mut reader = ObjectReader::new(repository.clone());
    let mut packed = Vec::with_capacity(oids.len());
    let mut buffer = Vec::new();
    for oid in oids {
        let offset = pack.begin_object();
        let repository = reader.next().map_err(gix::Error::from_error)?;
        match whole_entry(repository, oid, &mut buffer)? {
            Some(entry) => pack.write(&entry).map_err(gix::Error::from_error)?,
            None => compress(&mut pack, repository, oid)?,
        }
        packed.push(Packed { oid: *oid, crc32: pack.crc32(), offset });
    }
    Ok((packed, pack.finish()?))
}

/// Compresses an object anew, as a stream where it is loose.
fn compress<W: Write>(pack: &mut PackWriter<W>, repository: &gix::Repository, oid: &ObjectId) -> gix::Result<()> {
    let loose = LooseObject::find(repository, oid).map_err(gix::Error::from_error)?;
    let written = match loose {
        Some(mut object) => pack.compress(object.kind, object.length, &mut object),
        None => {
            let object = repository.find_object(*oid)?;
            pack.compress(object.kind, object.data.len() as u64, &mut object.data.as_slice())
        }
    };
    written.map_err(gix::Error::from_error)
}

/// The bytes of an object that lies whole, not as a delta, in a pack of the source.
fn whole_entry(repository: &gix::Repository, oid: &ObjectId, buffer: &mut Vec<u8>) -> gix::Result<Option<Vec<u8>>> {
    let source = &*repository.objects;
    let Some(location) = source.location_by_oid(oid, buffer)? else { return Ok(None) };
    let Some(entry) = source.entry_by_location(&location) else { return Ok(None) };
    let header = gix::odb::pack::data::Entry::from_bytes(&entry.data, 0, oid.kind())?.header;
    let is_whole = matches!(header, Header::Commit | Header::Tree | Header::Blob | Header::Tag);
    Ok(is_whole.then_some(entry.data))
}

struct PackWriter<W: Write> {
    out: BufWriter<W>,
    hasher: gix::hash::Hasher,
    crc32: crc32fast::Hasher,
    offset: u64,
    compressor: Compress,
    input: Vec<u8>,
    buffer: Vec<u8>,
}

impl<W: Write> PackWriter<W> {
    fn begin(out: W, kind: gix::hash::Kind, objects: usize) -> gix::Result<Self> {
        let mut writer = Self {
            out: BufWriter::with_capacity(128 << 10, out),
            hasher: gix::hash::hasher(kind),
            crc32: crc32fast::Hasher::new(),
            offset: 0,
            compressor: Compress::new(Compression::BEST_SPEED),
            input: vec![0; 64 << 10],
            buffer: vec![0; 64 << 10],
        };
        let objects = u32::try_from(objects).map_err(gix::Error::from_error)?;
        let header = [b"PACK".as_slice(), &2_u32.to_be_bytes(), &objects.to_be_bytes()].concat();
        writer.write(&header).map_err(gix::Error::from_error)?;
        Ok(writer)
    }

    /// Begins an object: its offset.
    fn begin_object(&mut self) -> u64 {
        self.crc32 = crc32fast::Hasher::new();
        self.offset
    }

    /// The CRC-32 of the object's bytes in the pack.
    fn crc32(&self) -> u32 {
        self.crc32.clone().finalize()
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.update(bytes);
        self.crc32.update(bytes);
        self.offset += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// Writes an object's header and its compressed content, `length` bytes.
    fn compress(&mut self, kind: gix::objs::Kind, length: u64, content: &mut dyn Read) -> io::Result<()> {
        self.write(&object_header(kind, length))?;
        self.compressor.reset();
        let (mut input, mut buffer) = (std::mem::take(&mut self.input), std::mem::take(&mut self.buffer));
        let (mut filled, mut taken, mut flush) = (0, 0, FlushCompress::None);
        loop {
            if taken == filled && matches!(flush, FlushCompress::None) {
                (filled, taken) = (content.read(&mut input)?, 0);
                flush = if filled == 0 { FlushCompress::Finish } else { FlushCompress::None };
            }
            let (consumed, produced) = (self.compressor.total_in(), self.compressor.total_out());
            let status = self.compressor.compress(&input[taken..filled], &mut buffer, flush);
            let status = status.map_err(io::Error::other)?;
            taken += (self.compressor.total_in() - consumed) as usize;
            self.write(&buffer[..(self.compressor.total_out() - produced) as usize])?;
            if matches!(status, Status::StreamEnd) {
                break;
            }
        }
        (self.input, self.buffer) = (input, buffer);
        match self.compressor.total_in() == length {
            true => Ok(()),
            false => Err(crate::fields::invalid("an object is not as long as it says")),
        }
    }

    /// Ends the pack: its hash.
    fn finish(mut self) -> gix::Result<ObjectId> {
        let hash = self.hasher.clone().try_finalize()?;
        self.out.write_all(hash.as_slice()).and_then(|()| self.out.flush()).map_err(gix::Error::from_error)?;
        Ok(hash)
    }
}

/// Three bits of kind, then the size: four bits in the first byte, seven in each further one.
fn object_header(kind: gix::objs::Kind, size: u64) -> Vec<u8> {
    let kind = match kind {
        gix::objs::Kind::Commit => 1,
        gix::objs::Kind::Tree => 2,
        gix::objs::Kind::Blob => 3,
        gix::objs::Kind::Tag => 4,
    };
    let mut header = vec![kind << 4 | (size & 15) as u8];
    let mut rest = size >> 4;
    while rest > 0 {
        if let Some(last) = header.last_mut() {
            *last |= 0x80;
        }
        header.push((rest & 0x7f) as u8);
        rest >>= 7;
    }
    header
}

/// Writes the index of a pack whose objects come in ascending order of their oids.
fn write_index(host_path: &Path, kind: gix::hash::Kind, packed: &[Packed], pack: ObjectId) -> gix::Result<()> {
    const LARGE: u64 = 1 << 31;
    let mut bytes = b"\xfftOc\x00\x00\x00\x02".to_vec();
    for first in 0..=255_u8 {
        let up_to = packed.partition_point(|object| object.oid.as_slice()[0] <= first);
        bytes.extend((up_to as u32).to_be_bytes());
    }
    packed.iter().for_each(|object| bytes.extend(object.oid.as_slice()));
    packed.iter().for_each(|object| bytes.extend(object.crc32.to_be_bytes()));
    let mut large = Vec::new();
    for object in packed {
        let offset = if object.offset < LARGE { object.offset as u32 } else { LARGE as u32 | large.len() as u32 };
        bytes.extend(offset.to_be_bytes());
        if object.offset >= LARGE {
            large.push(object.offset);
        }
    }
    large.iter().for_each(|offset| bytes.extend(offset.to_be_bytes()));
    bytes.extend(pack.as_slice());
    let mut hasher = gix::hash::hasher(kind);
    hasher.update(&bytes);
    bytes.extend(hasher.try_finalize()?.as_slice());
    create(host_path).and_then(|mut file| file.write_all(&bytes)).map_err(gix::Error::from_error)
}

/// Git makes packs read-only.
fn create(host_path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o444).open(host_path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_header_holds_four_bits_of_size_then_seven_a_byte() {
        assert_eq!(object_header(gix::objs::Kind::Blob, 15), [0x3f]);
        assert_eq!(object_header(gix::objs::Kind::Blob, 16), [0xb0, 0x01]);
        assert_eq!(object_header(gix::objs::Kind::Commit, 2047 + 1), [0x90, 0x80, 0x01]);
    }
}
