//! Copies of the host's files that a workload may change, and that nobody keeps.

use crate::task_ids::random;
use isobox_domain::escape::Escaped;
use isobox_domain::policy::Glob;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

/// Most that is copied for one Task: more would take its disk, and its time.
const MOST_ENTRIES: usize = 200_000;
const MOST_BYTES: u64 = 2 << 30;

/// The copies of one Task. They are removed with this value, and what a killed process left by the next one that makes some.
#[derive(Debug)]
pub struct PrivateCopies {
    directory: PathBuf,
    /// Its lock tells that somebody needs the directory.
    held: File,
    count: usize,
    left_entries: usize,
    left_bytes: u64,
}

impl PrivateCopies {
    /// Makes room for copies below `root`, a private directory of the user that is made if it is missing.
    pub fn begin(root: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(root)?;
        let together = File::open(root)?;
        // One at a time: a directory without a lock is one that nobody needs.
        together.lock()?;
        remove_abandoned(root)?;
        let name: String = random::<8>().iter().map(|byte| format!("{byte:02x}")).collect();
        let directory = root.join(name);
        DirBuilder::new().mode(0o700).create(&directory)?;
        let held = File::open(&directory)?;
        held.lock()?;
        Ok(Self { directory, held, count: 0, left_entries: MOST_ENTRIES, left_bytes: MOST_BYTES })
    }

    /// Copies a file or directory, but for what `hidden`, patterns of absolute host paths, names in it. Links stay links, and
    /// what is neither a file, a directory nor a link is left out.
    pub fn copy(&mut self, source: &Path, hidden: &[Glob]) -> io::Result<PathBuf> {
        let place = self.directory.join(self.count.to_string());
        self.count += 1;
        self.copy_to(source, &place, hidden)
            .map_err(|error| io::Error::new(error.kind(), format!("copy {}: {error}", Escaped::path(source))))?;
        Ok(place)
    }

    fn copy_to(&mut self, source: &Path, place: &Path, hidden: &[Glob]) -> io::Result<()> {
        if is_hidden(source, hidden) {
            return Ok(());
        }
        let more = || io::Error::other(format!("it has more than {MOST_ENTRIES} entries, or {MOST_BYTES} bytes"));
        self.left_entries = self.left_entries.checked_sub(1).ok_or_else(more)?;
        let found = fs::symlink_metadata(source)?;
        if found.is_symlink() {
            return symlink(fs::read_link(source)?, place);
        }
        if found.is_dir() {
            DirBuilder::new().mode(0o700).create(place)?;
            for entry in fs::read_dir(source)? {
                let entry = entry?;
                self.copy_to(&entry.path(), &place.join(entry.file_name()), hidden)?;
            }
            return fs::set_permissions(place, Permissions::from_mode(found.permissions().mode() & 0o777 | 0o700));
        }
        if found.is_file() {
            self.left_bytes = self.left_bytes.checked_sub(found.len()).ok_or_else(more)?;
            fs::copy(source, place)?;
            let mut file = File::options().write(true).open(place);
            if let (Ok(file), Ok(modified)) = (file.as_mut(), found.modified()) {
                // Tools take what is newer than its source for done.
                file.set_modified(modified)?;
            }
        }
        Ok(())
    }
}

impl Drop for PrivateCopies {
    fn drop(&mut self) {
        // What cannot be removed now, the next one removes.
        drop(remove(&self.directory));
        drop(self.held.unlock());
    }
}

fn remove_abandoned(root: &Path) -> io::Result<()> {
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        if let Ok(held) = File::open(&path)
            && held.try_lock().is_ok()
        {
            remove(&path)?;
        }
    }
    Ok(())
}

/// Removes a directory in which a workload may have made what it wanted; every process of it is dead.
pub(crate) fn remove(directory: &Path) -> io::Result<()> {
    fs::set_permissions(directory, Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => remove(&entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    fs::remove_dir(directory)
}

fn is_hidden(path: &Path, hidden: &[Glob]) -> bool {
    let names = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(OsStr::as_bytes(name)),
        _ => None,
    });
    let names: Vec<&[u8]> = names.collect();
    hidden.iter().any(|glob| glob.fit(&names).matches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_everything_but_what_is_hidden_and_goes_with_its_task() {
        let host = tempfile::tempdir().unwrap();
        let (source, root) = (host.path().join("source"), host.path().join("private"));
        fs::create_dir_all(source.join("deep")).unwrap();
        fs::write(source.join("deep/plain"), "plain").unwrap();
        fs::write(source.join("deep/secret"), "secret").unwrap();
        symlink("deep/plain", source.join("link")).unwrap();
        let hidden = [Glob::new(b"**/secret").below(source.as_os_str().as_bytes())];
        let mut copies = PrivateCopies::begin(&root).unwrap();
        let copy = copies.copy(&source, &hidden).unwrap();
        assert_eq!(fs::read_to_string(copy.join("link")).unwrap(), "plain");
        assert!(!copy.join("deep/secret").exists());
        fs::set_permissions(copy.join("deep"), Permissions::from_mode(0o0)).unwrap();
        drop(copies);
        assert_eq!(fs::read_dir(&root).unwrap().count(), 0);
        assert!(source.join("deep/secret").exists());
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_is_needed_stays() {
        let host = tempfile::tempdir().unwrap();
        let root = host.path().join("private");
        fs::create_dir_all(root.join("abandoned/0")).unwrap();
        let first = PrivateCopies::begin(&root).unwrap();
        let second = PrivateCopies::begin(&root).unwrap();
        assert!(!root.join("abandoned").exists());
        assert!(first.directory.exists() && second.directory.exists());
    }
}
