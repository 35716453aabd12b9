//! Git directories on the host, which hold hooks, and credentials in their configuration.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// How deep below a path a repository is looked for: `CODE/OWNER/PROJECT/.git` is found.
const DEEPEST: usize = 2;
/// Most directories that are listed: a tool call waits for it.
const MOST_LISTED: usize = 1024;
/// Most directories in one that are looked at.
const MOST_IN_ONE: usize = 8192;
/// What a Git directory has in it, whatever it is called; see gitrepository-layout(5).
const PARTS: [&str; 3] = ["HEAD", "objects", "refs"];
/// Where Cargo keeps what it fetched, some of it in Git's form, below the home directory.
const FETCHED_BY_CARGO: [&str; 2] = [".cargo/git", ".cargo/registry"];

/// The Git directory that `host_path` is or lies in.
pub(crate) fn around(host_path: &Path) -> Option<&Path> {
    let has_parts = |directory: &Path| PARTS.iter().all(|part| directory.join(part).symlink_metadata().is_ok());
    let is_named = |directory: &Path| directory.file_name() == Some(OsStr::new(".git")) && directory.is_dir();
    host_path.ancestors().find(|directory| is_named(directory) || has_parts(directory))
}

/// A Git directory that lies in `host_path`, which is without links, not too deep. In what Cargo fetched for the user
/// whose home directory is `home`, none is looked for: it has one for every package.
pub(crate) fn below(host_path: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let fetched = home.into_iter().flat_map(|home| FETCHED_BY_CARGO.map(|place| home.join(place)));
    // A place that is not there holds nothing.
    if fetched.filter_map(|place| place.canonicalize().ok()).any(|place| host_path.starts_with(place)) {
        return None;
    }
    let mut left = VecDeque::from([(host_path.to_owned(), 0)]);
    for _ in 0..MOST_LISTED {
        let (directory, depth) = left.pop_front()?;
        let folders = folders(&directory);
        if let Some(found) = folders.iter().find(|folder| folder.ends_with(".git")) {
            return Some(found.clone());
        }
        // Before any of them is listed: of thousands, the last one may be a repository.
        let inner = folders.iter().filter(|_| depth < DEEPEST).map(|folder| folder.join(".git"));
        if let Some(found) = inner.into_iter().find(|git| git.symlink_metadata().is_ok_and(|found| found.is_dir())) {
            return Some(found);
        }
        if folders.iter().any(|folder| folder.ends_with("objects")) && around(&directory) == Some(&directory) {
            return Some(directory);
        }
        if depth < DEEPEST {
            left.extend(folders.into_iter().map(|folder| (folder, depth + 1)));
        }
    }
    None
}

/// The directories in a directory. What cannot be listed by this user cannot be shown either.
fn folders(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).take(MOST_IN_ONE).collect()
}
