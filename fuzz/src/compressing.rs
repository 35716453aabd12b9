//! One compressor for everything that is made up: to prepare another costs more than most of what is done with it.

use isobox_store_format::frame::Compressor;
use std::cell::RefCell;

thread_local! {
    static COMPRESSOR: RefCell<Option<Compressor>> = const { RefCell::new(None) };
}

/// What `make` makes with a compressor.
pub(crate) fn compressed<T>(make: impl FnOnce(&mut Compressor) -> std::io::Result<T>) -> T {
    let made = COMPRESSOR.with_borrow_mut(|compressor| match compressor {
        Some(compressor) => make(compressor),
        none => make(none.insert(Compressor::new()?)),
    });
    made.expect("memory for a compressor")
}
