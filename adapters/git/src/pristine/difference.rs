//! What differs between two commits, found without a look at what is the same in both.

use crate::oid;
use gix::ObjectId;
use gix::objs::Kind;
use gix::objs::tree::EntryKind;
use isobox_domain::repo_path::RepoPath;
use std::collections::{BTreeMap, BTreeSet};

/// How one commit is made from another.
#[derive(Debug, Default)]
pub(super) struct Difference {
    /// Files and links that are other, or there only now.
    pub(super) changed: BTreeMap<RepoPath, (EntryKind, ObjectId)>,
    /// What is gone: a file, or a directory with all that was in it. Something else may have come in its place.
    pub(super) gone: BTreeSet<RepoPath>,
    /// Of these, what nothing came in place of.
    pub(super) hidden: Vec<RepoPath>,
    /// Files that were there before, as what they were, and are other now or gone.
    pub(super) before: Vec<RepoPath>,
    /// Trees and blobs that are only there now.
    pub(super) objects: BTreeSet<ObjectId>,
}

/// Why one commit cannot be made from the other.
#[derive(Debug)]
pub(super) enum Apart {
    /// A submodule differs, or what says how files are converted; or too much does.
    Unlike,
    /// An object cannot be read, or is not what its name says.
    Unreadable(gix::Error),
}

impl From<gix::Error> for Apart {
    fn from(error: gix::Error) -> Self {
        Self::Unreadable(error)
    }
}

type Entry = (EntryKind, ObjectId);

type Entries = BTreeMap<Vec<u8>, Entry>;

/// Compares the trees of two commits. Up to `limit` paths may differ.
pub(super) fn difference(
    repository: &gix::Repository,
    [old, new]: [ObjectId; 2],
    limit: usize,
) -> Result<Difference, Apart> {
    let mut comparison = Comparison { repository, found: Difference::default(), limit };
    let tree = |commit| -> gix::Result<ObjectId> {
        let commit = repository.find_commit(commit)?;
        oid::verify(Kind::Commit, &commit.data, &commit.id)?;
        Ok(commit.tree_id()?.detach())
    };
    let [old, new] = [tree(old)?, tree(new)?];
    if old != new {
        comparison.compare(Some(old), Some(new), b"")?;
    }
    Ok(comparison.found)
}

struct Comparison<'a> {
    repository: &'a gix::Repository,
    found: Difference,
    limit: usize,
}

impl Comparison<'_> {
    /// Trees lie in one another as deep as the paths of the commit are long.
    fn compare(&mut self, old: Option<ObjectId>, new: Option<ObjectId>, around: &[u8]) -> Result<(), Apart> {
        let (old_entries, new_entries) = (self.entries(old)?, self.entries(new)?);
        self.found.objects.extend(new);
        let names: BTreeSet<&Vec<u8>> = old_entries.keys().chain(new_entries.keys()).collect();
        for name in names {
            let entries @ [old, new_entry] = [&old_entries, &new_entries].map(|entries| entries.get(name).copied());
            if old == new_entry {
                continue;
            }
            let path = [around, name].concat();
            self.entry(entries, &path)?;
            // What was in a directory that is gone goes with it.
            if new.is_some() {
                self.gone(entries, &path)?;
            }
        }
        Ok(())
    }

    fn gone(&mut self, [old, new]: [Option<Entry>; 2], path: &[u8]) -> Result<(), Apart> {
        let Some(old) = old else { return Ok(()) };
        let path = RepoPath::parse(path).map_err(|_| Apart::Unlike)?;
        let is_other_kind = |new: Entry| (old.0 == EntryKind::Tree) != (new.0 == EntryKind::Tree);
        if new.is_none() {
            self.found.hidden.push(path.clone());
        }
        if new.is_none_or(is_other_kind) {
            self.found.gone.insert(path);
        }
        Ok(())
    }

    fn entry(&mut self, [old, new]: [Option<Entry>; 2], path: &[u8]) -> Result<(), Apart> {
        let tree = |entry: Option<Entry>| entry.filter(|entry| entry.0 == EntryKind::Tree).map(|it| it.1);
        let file = |entry: Option<Entry>| entry.filter(|entry| entry.0 != EntryKind::Tree);
        let is_file_name = |name: &[u8]| path == name || path.ends_with(&[b"/", name].concat());
        let is_submodule = |entry: Option<Entry>| entry.is_some_and(|entry| entry.0 == EntryKind::Commit);
        if is_submodule(old) || is_submodule(new) || is_file_name(b".gitattributes") || path == b".gitmodules" {
            return Err(Apart::Unlike);
        }
        let repo_path = RepoPath::parse(path).map_err(|_| Apart::Unlike)?;
        if tree(old).is_some() || tree(new).is_some() {
            self.compare(tree(old), tree(new), &[path, b"/"].concat())?;
        }
        if let Some((kind, _)) = file(old)
            && kind != EntryKind::Link
        {
            self.found.before.push(repo_path.clone());
        }
        if let Some((kind, oid)) = file(new) {
            self.found.objects.insert(oid);
            self.found.changed.insert(repo_path, (kind, oid));
        }
        let paths = self.found.changed.len() + self.found.before.len();
        if paths > self.limit { Err(Apart::Unlike) } else { Ok(()) }
    }

    fn entries(&self, tree: Option<ObjectId>) -> gix::Result<Entries> {
        let Some(oid) = tree else { return Ok(Entries::new()) };
        let object = self.repository.find_tree(oid)?;
        oid::verify(Kind::Tree, &object.data, &oid)?;
        let entries = object.iter().map(|entry| {
            let entry = entry?;
            Ok((entry.filename().to_vec(), (entry.mode().kind(), entry.object_id())))
        });
        entries.collect()
    }
}
