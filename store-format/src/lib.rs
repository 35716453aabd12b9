//! How Task Records become bytes. Pure: bytes in, values out, and back; `docs/store-format.md` says the same in prose.
#![forbid(unsafe_code)]

pub mod archive;
pub mod below;
pub mod block;
mod cbor;
pub mod change_set;
mod checksums;
pub mod commit;
pub mod dictionary;
pub mod entry;
pub mod event;
pub mod format_file;
pub mod frame;
pub mod limits;
pub mod log;
pub mod mark;
pub mod object;
pub mod policy;
pub mod record;
mod sandbox_limits;
pub mod scan;
