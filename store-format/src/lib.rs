//! How Task Records become bytes. Pure: bytes in, values out, and back; `docs/store-format.md` says the same in prose.
#![forbid(unsafe_code)]

mod cbor;
pub mod change_set;
pub mod event;
pub mod object;
pub mod policy;
pub mod record;
