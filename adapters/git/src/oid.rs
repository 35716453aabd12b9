//! Git's object names: gix's and the domain's, either way.

use gix::ObjectId;
use gix::hash::Kind;
use isobox_domain::git_oid::GitOid;

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
