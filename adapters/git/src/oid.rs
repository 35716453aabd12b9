//! Git's object names: gix's and the domain's, either way, and how a blob comes to its own.

use gix::ObjectId;
use gix::hash::{Hasher, Kind};
use gix::objs::encode::loose_header;
use isobox_domain::git_oid::GitOid;
use std::io::{self, Read};

/// The domain's name for an object of gix.
pub(crate) fn from_gix(oid: &gix::oid) -> GitOid {
    let bytes = oid.as_bytes();
    match oid.kind() {
        Kind::Sha256 => GitOid::Sha256(std::array::from_fn(|i| bytes[i])),
        // gix knows no third kind, but leaves room for one; 20 bytes are then a prefix that names no object.
        _ => GitOid::Sha1(std::array::from_fn(|i| bytes[i])),
    }
}

/// gix's name for an object of the domain.
pub(crate) fn to_gix(oid: &GitOid) -> ObjectId {
    match oid {
        GitOid::Sha1(bytes) => ObjectId::Sha1(*bytes),
        GitOid::Sha256(bytes) => ObjectId::Sha256(*bytes),
    }
}

/// Fails unless `content` is what the name `oid` stands for.
pub(crate) fn verify(kind: gix::objs::Kind, content: &[u8], oid: &gix::oid) -> gix::Result<()> {
    let found = gix::objs::compute_hash(oid.kind(), kind, content).map_err(gix::Error::from_error)?;
    match *found == *oid {
        true => Ok(()),
        false => {
            Err(gix::Error::from_error(io::Error::other(format!("{kind} {oid} is damaged: its bytes are {found}"))))
        }
    }
}

/// The kind of hash that objects are named by where `oid` is the name of one.
pub(crate) const fn kind(oid: &GitOid) -> Kind {
    match oid {
        GitOid::Sha1(_) => Kind::Sha1,
        GitOid::Sha256(_) => Kind::Sha256,
    }
}

/// A hasher that has taken in Git's header of a blob of `length` bytes.
pub(crate) fn blob_hasher(kind: Kind, length: u64) -> Hasher {
    let mut hasher = gix::hash::hasher(kind);
    hasher.update(&loose_header(gix::objs::Kind::Blob, length));
    hasher
}

/// Takes in all that `content` yields, without holding it in memory: how many bytes these were.
pub(crate) fn hash_all(hasher: &mut Hasher, content: &mut dyn Read) -> io::Result<u64> {
    let mut buffer = vec![0; 64 * 1024];
    let mut length = 0;
    loop {
        match content.read(&mut buffer) {
            Ok(0) => return Ok(length),
            Ok(count) => {
                hasher.update(&buffer[..count]);
                length += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
