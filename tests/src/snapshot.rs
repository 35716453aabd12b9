//! Files of the checkout that are made by tests, and compared with what the tests make now.

use snapbox::data::DataFormat;
use snapbox::{Assert, Data, IntoData};
use std::path::{Path, PathBuf};

/// The root of the checkout that the tests run in, wherever they were built.
pub fn checkout() -> PathBuf {
    let package =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    let root = package.ancestors().find(|folder| folder.join("Cargo.lock").exists());
    root.unwrap_or_else(|| panic!("{} is in no checkout", package.display())).to_owned()
}

/// Fails with a diff where the file `path`, from the root of the checkout, does not hold `found`. With `SNAPSHOTS=overwrite`
/// in the environment it is written instead.
pub fn assert_snapshot(path: impl AsRef<Path>, found: &str) {
    let path = checkout().join(path);
    let expected = Data::read_from(&path, Some(DataFormat::Text)).raw();
    Assert::new().action_env("SNAPSHOTS").eq(found.into_data().raw(), expected);
}
