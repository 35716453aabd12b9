//! Record directories of the existing tool, version 1: read from whatever somebody left, and written.
#![forbid(unsafe_code)]

mod directories;
mod export_file;
mod exports;
mod format;
mod json;

pub use directories::FsV1Directories;
pub use export_file::FsExportFile;
pub use exports::FsExports;
pub use format::V1Json;

use isobox_domain::escape::Escaped;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A path for people.
fn shown(path: &Path) -> String {
    Escaped(path.as_os_str().as_bytes()).to_string()
}
