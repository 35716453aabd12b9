//! Compressing what is made up.

use isobox_store_format::frame::Compressor;

/// What `make` makes with a compressor.
pub(crate) fn compressed<T>(make: impl FnOnce(&mut Compressor) -> std::io::Result<T>) -> T {
    Compressor::new().and_then(|mut compressor| make(&mut compressor)).expect("memory for a compressor")
}
