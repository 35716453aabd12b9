//! Who a repository must belong to, before anything in it is believed.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Something of a repository that belongs to another user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ForeignPath {
    /// Where it is.
    pub(crate) host_path: PathBuf,
    /// The uid of its owner.
    pub(crate) owner: u32,
}

/// The first of `host_paths` that belongs neither to this user nor, for root under sudo, to the user who called sudo.
///
/// The rule is Git's own: see git-config(1), `safe.directory`. Links are looked at, not through.
pub(crate) fn find_foreign(host_paths: &[&Path]) -> io::Result<Option<ForeignPath>> {
    let uid = nix::unistd::geteuid().as_raw();
    let sudo_uid = (uid == 0).then(sudo_uid).flatten();
    for host_path in host_paths {
        let owner = std::fs::symlink_metadata(host_path)?.uid();
        if owner != uid && Some(owner) != sudo_uid {
            return Ok(Some(ForeignPath { host_path: host_path.to_path_buf(), owner }));
        }
    }
    Ok(None)
}

fn sudo_uid() -> Option<u32> {
    std::env::var("SUDO_UID").ok()?.parse().ok()
}
