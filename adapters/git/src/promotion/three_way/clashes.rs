//! Where a merge would leave a file and a directory at one path.

use crate::promotion::paths::component_ends;
use gix::bstr::ByteSlice;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;

/// What came of the paths of a Change Set.
#[derive(Default)]
pub(super) struct Outcomes {
    /// Whether something stands at each of them, which what is in conflict does.
    stands: BTreeMap<Vec<u8>, bool>,
    /// Those that are directories of HEAD.
    over_directories: Vec<Vec<u8>>,
}

impl Outcomes {
    pub(super) fn add(&mut self, path: &[u8], stands: bool) {
        self.stands.insert(path.to_vec(), stands);
    }

    pub(super) fn add_over_directory(&mut self, path: &[u8]) {
        self.over_directories.push(path.to_vec());
    }

    /// The paths of files that something would stand below.
    pub(super) fn clashes(&self, head: &gix::Tree<'_>) -> io::Result<BTreeSet<Vec<u8>>> {
        let mut clashes = BTreeSet::new();
        let mut looked_at = HashSet::new();
        for (path, _) in self.stands.iter().filter(|(_, stands)| **stands) {
            for end in component_ends(path).filter(|end| *end < path.len()) {
                let above = &path[..end];
                if looked_at.insert(above) && self.is_file(head, above)? {
                    clashes.insert(above.to_vec());
                }
            }
        }
        for path in self.over_directories.iter().filter(|path| self.stands.get(*path) == Some(&true)) {
            if self.has_more_below(head, path)? {
                clashes.insert(path.clone());
            }
        }
        Ok(clashes)
    }

    fn is_file(&self, head: &gix::Tree<'_>, path: &[u8]) -> io::Result<bool> {
        if let Some(stands) = self.stands.get(path) {
            return Ok(*stands);
        }
        let entry = head.lookup_entry(path.split(|byte| *byte == b'/')).map_err(io::Error::other)?;
        Ok(entry.is_some_and(|entry| !entry.mode().is_tree()))
    }

    /// Whether anything of HEAD stays below a path.
    fn has_more_below(&self, head: &gix::Tree<'_>, path: &[u8]) -> io::Result<bool> {
        let entry = head.lookup_entry(path.split(|byte| *byte == b'/')).map_err(io::Error::other)?;
        let Some(entry) = entry else { return Ok(false) };
        let tree = entry.object().map(|object| object.into_tree()).map_err(io::Error::other)?;
        let below = tree.traverse().breadthfirst.files().map_err(io::Error::other)?;
        let stays = |file: &gix::traverse::tree::recorder::Entry| {
            let whole = [path, b"/", file.filepath.as_bytes()].concat();
            !file.mode.is_tree() && self.stands.get(&whole) != Some(&false)
        };
        Ok(below.iter().any(stays))
    }
}
