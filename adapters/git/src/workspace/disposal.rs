//! Removing what a workload left, with the seam at which tests make it fail.

use crate::fault::step;
use std::io;
use std::path::Path;

/// Removes the directory at `host_path` with everything in it. Nothing there is fine, and so is somebody who does the same.
pub(crate) fn remove(host_path: &Path) -> io::Result<()> {
    isobox_removal::remove_stepwise(host_path, &step)
}

/// Removes everything in the directory at `host_path`, which stays.
pub(crate) fn empty(host_path: &Path) -> io::Result<()> {
    isobox_removal::empty_stepwise(host_path, &step)
}
