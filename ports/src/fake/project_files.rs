//! Files of a project in memory.

use crate::contract::project_files::{LinkTarget, Project};
use crate::{ProjectFiles, ProjectFilesError};
use isobox_domain::repo_path::RepoPath;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A project whose files are in memory.
#[derive(Debug, Default)]
pub struct InMemoryProjectFiles {
    entries: Mutex<BTreeMap<Vec<u8>, Entry>>,
}

#[derive(Clone, Debug)]
enum Entry {
    File(Vec<u8>),
    Directory,
    Link,
}

impl InMemoryProjectFiles {
    fn entries(&self) -> MutexGuard<'_, BTreeMap<Vec<u8>, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, path: &str, entry: Entry) {
        self.entries().insert(path.as_bytes().to_vec(), entry);
    }
}

fn in_the_way(path: &[u8], found: &'static str) -> ProjectFilesError {
    ProjectFilesError::InTheWay { host_path: String::from_utf8_lossy(path).into_owned(), found }
}

/// The directories that a path lies in, from the root down.
fn parents(path: &RepoPath) -> impl Iterator<Item = &[u8]> {
    let bytes = path.as_bytes();
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| &bytes[..end])
}

fn look(entries: &BTreeMap<Vec<u8>, Entry>, path: &RepoPath) -> Result<Option<Vec<u8>>, ProjectFilesError> {
    for parent in parents(path) {
        match entries.get(parent) {
            None | Some(Entry::Directory) => {}
            Some(Entry::Link) => return Err(in_the_way(parent, "a symbolic link")),
            Some(Entry::File(_)) => return Err(in_the_way(parent, "no directory")),
        }
    }
    match entries.get(path.as_bytes()) {
        None => Ok(None),
        Some(Entry::File(content)) => Ok(Some(content.clone())),
        Some(Entry::Directory) => Err(in_the_way(path.as_bytes(), "a directory")),
        Some(Entry::Link) => Err(in_the_way(path.as_bytes(), "a symbolic link")),
    }
}

impl ProjectFiles for InMemoryProjectFiles {
    fn read(&self, path: &RepoPath) -> Result<Option<Vec<u8>>, ProjectFilesError> {
        look(&self.entries(), path)
    }

    fn write(&self, files: &[(RepoPath, Vec<u8>)]) -> Result<(), ProjectFilesError> {
        let mut entries = self.entries();
        let mut written = entries.clone();
        for (path, content) in files {
            look(&written, path)?;
            written.extend(parents(path).map(|parent| (parent.to_vec(), Entry::Directory)));
            written.insert(path.as_bytes().to_vec(), Entry::File(content.clone()));
        }
        *entries = written;
        Ok(())
    }
}

impl Project for InMemoryProjectFiles {
    fn files(&self) -> &dyn ProjectFiles {
        self
    }

    fn link(&self, path: &str, _: LinkTarget) {
        self.put(path, Entry::Link);
    }

    fn directory(&self, path: &str) {
        self.put(path, Entry::Directory);
    }

    fn is_there(&self, path: &str) -> bool {
        self.entries().contains_key(path.as_bytes())
    }
}
