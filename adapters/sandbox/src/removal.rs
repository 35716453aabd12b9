//! Removing a directory in which a workload may have made what it wanted.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A private directory of the host that goes with this value.
#[derive(Debug)]
pub(crate) struct PrivateDirectory(PathBuf);

impl PrivateDirectory {
    /// Makes one, for this user alone.
    pub(crate) fn make() -> io::Result<Self> {
        Ok(Self(tempfile::Builder::new().prefix("isobox-").tempdir()?.keep()))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        // The Stage removes it, too. Nobody is left to be told.
        drop(remove(&self.0));
    }
}

/// Removes `directory`, whatever the modes in it are and however deep it is. No link is followed, even if something that
/// still runs puts one in the place of a directory.
pub(crate) fn remove(directory: &Path) -> io::Result<()> {
    let root = opened(directory)?;
    let mut moved = 0_u64;
    loop {
        let directories = empty(&root)?;
        if directories.is_empty() {
            return fs::remove_dir(directory);
        }
        for inner in directories {
            // What lies in it is moved to the top, so that no path is too long and no descriptor too many.
            let open = opened(&inner)?;
            for deeper in empty(&open)? {
                drop(opened(&deeper)?);
                moved = moved_to(&deeper, &root, moved)?;
            }
            fs::remove_dir(inner)?;
        }
    }
}

/// A directory, which this user may list and change from here on; not what a link leads to.
fn opened(directory: &Path) -> io::Result<File> {
    let flags = libc::O_PATH | libc::O_NOFOLLOW | libc::O_DIRECTORY;
    let open = File::options().read(true).custom_flags(flags).open(directory)?;
    fs::set_permissions(at(&open), Permissions::from_mode(0o700))?;
    Ok(open)
}

fn at(directory: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()))
}

/// Removes what is in a directory but directories, which it returns.
fn empty(directory: &File) -> io::Result<Vec<PathBuf>> {
    let mut directories = Vec::new();
    for entry in fs::read_dir(at(directory))? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => directories.push(entry.path()),
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(directories)
}

/// Moves a directory into `root` under a name that nothing has there; the number of the next one.
fn moved_to(directory: &Path, root: &File, mut number: u64) -> io::Result<u64> {
    loop {
        let place = at(root).join(format!(".removed-{number}"));
        number += 1;
        // An empty directory that came to be there would be replaced, which is no loss.
        if fs::symlink_metadata(&place).is_err() {
            fs::rename(directory, place)?;
            return Ok(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_is_closed_or_deep_goes_and_what_a_link_leads_to_stays() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("file"), "kept").unwrap();
        let private = PrivateDirectory::make().unwrap();
        let path = private.path().to_owned();
        fs::create_dir_all(path.join("home/a/b")).unwrap();
        fs::create_dir_all(path.join(".removed-0/x")).unwrap();
        fs::write(path.join("home/a/b/c"), "x").unwrap();
        symlink(outside.path(), path.join("home/link")).unwrap();
        fs::set_permissions(path.join("home/a"), Permissions::from_mode(0o000)).unwrap();
        let deep = "d/".repeat(400);
        for part in 0..5 {
            // Longer than a path may be, and deeper than a process may have files open.
            let next = path.join(format!("part-{part}"));
            fs::create_dir_all(next.join(&deep)).unwrap();
            if part > 0 {
                let before = path.join(format!("part-{}", part - 1));
                fs::rename(before, next.join(&deep).join("more")).unwrap();
            }
        }
        drop(private);
        assert!(fs::symlink_metadata(&path).is_err());
        assert_eq!(fs::read_to_string(outside.path().join("file")).unwrap(), "kept");
    }
}
