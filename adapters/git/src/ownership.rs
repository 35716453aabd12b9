//! Who a repository must belong to, before anything in it is believed; and whose is what root makes there.

use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt, fchown};
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

/// Gives a file that root made in `directory` to the owner of the directory, who could not read it else.
pub(crate) fn give_to_owner_of(directory: &Path, made: &File) -> io::Result<()> {
    let owner = std::fs::metadata(directory)?;
    if !nix::unistd::geteuid().is_root() || owner.uid() == 0 {
        return Ok(());
    }
    fchown(made, Some(owner.uid()), Some(owner.gid()))
}

fn sudo_uid() -> Option<u32> {
    std::env::var("SUDO_UID").ok()?.parse().ok()
}
