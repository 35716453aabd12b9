//! Releases of isobox: their signed index and Release Files by URL, and the replacement of an installed program by one.
#![forbid(unsafe_code)]

mod failed;
mod http;
mod identity;
mod installation;
mod key;
mod place;
mod source;
mod unpack;

pub use installation::FsInstallation;
pub use key::{KeyError, TrustedKeys};
pub use place::{Place, PlaceError};
pub use source::{INDEX_NAME, SignedReleaseSource};
