//! The tree of a commit with a Change Set on it, and how files become its blobs.

use super::commit::{failure, write_object, write_raw};
use super::trouble::{conflict, while_doing_to};
use crate::fields::invalid;
use crate::oid;
use gix::bstr::ByteSlice;
use gix::filter::plumbing::pipeline::convert::ToGitOutcome;
use gix::objs::tree::{Editor, EntryKind};
use gix::worktree::stack::state::attributes::Source;
use isobox_domain::change::{After, Change, ChangeLine, Mode};
use isobox_domain::repo_path::RepoPath;
use isobox_ports::{ApplyError, ChangeLines, ObjectStore};
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const ATTRIBUTES: &[u8] = b".gitattributes";

/// Opens the bytes of a blob, with their length, as often as they are read.
pub(super) type OpenBlob<'f, 'a> = dyn FnMut() -> io::Result<(Box<dyn Read + 'a>, u64)> + 'f;

/// The tree of a commit on the way to that of another.
pub(super) struct ChangedTree<'git> {
    git: &'git gix::Repository,
    editor: Editor<'git>,
    base: gix::Tree<'git>,
    pub(super) paths: u64,
}

impl<'git> ChangedTree<'git> {
    pub(super) fn of(git: &'git gix::Repository, commit: gix::ObjectId) -> Result<Self, ApplyError> {
        let reading = format!("read the tree of commit {commit}");
        let base = git.find_commit(commit).map_err(|e| failure(&reading, e.into()))?;
        let base = base.tree().map_err(|e| failure(&reading, e.into()))?;
        let root = gix::objs::TreeRef::from_bytes(&base.data, git.object_hash());
        let root = root.map_err(|e| failure(&reading, e.into()))?.to_owned();
        Ok(Self { git, editor: Editor::new(root, &git.objects, git.object_hash()), base, paths: 0 })
    }

    /// Takes away what is deleted or replaced; what is to be put in its place is returned.
    pub(super) fn change(&mut self, changes: ChangeLines<'_>) -> Result<Vec<(RepoPath, After)>, ApplyError> {
        let mut left = Vec::new();
        for line in changes {
            let line = line.map_err(|cause| failure("read the change set", cause))?;
            let ChangeLine::Change(change) = line else { continue };
            self.paths += 1;
            self.check(&change)?;
            if change.before.is_some() {
                let removed = self.editor.remove_if_leaf(components(&change.path));
                removed.map_err(|e| failure("change the tree of the commit", e.into()))?;
            }
            left.extend(change.after.map(|after| (change.path, after)));
        }
        Ok(left)
    }

    /// Looks whether a change can be made in the tree.
    pub(super) fn check(&self, change: &Change) -> Result<(), ApplyError> {
        self.conflict(change)?.map_or(Ok(()), |why| Err(conflict(change.path.as_bytes(), &why)))
    }

    /// Why a change cannot be made in the tree.
    fn conflict(&self, change: &Change) -> Result<Option<String>, ApplyError> {
        if change.concerns_submodule() {
            return Ok(Some("it lies in a submodule, or is one".into()));
        }
        let path = Path::new(OsStr::from_bytes(change.path.as_bytes()));
        let entry = self.base.lookup_entry_by_path(path);
        let entry = entry.map_err(|e| failure("look into the tree of the commit", e.into()))?;
        let found = entry.filter(|entry| !entry.mode().is_tree());
        Ok(match (&change.before, found) {
            (None, None) => None,
            (None, Some(_)) => Some("the commit has something in its place".into()),
            (Some(_), None) => Some("the commit does not have it".into()),
            (Some(before), Some(entry)) => {
                let is_same = entry.mode().kind() == kind_of(before.mode) && oid::from_gix(entry.oid()) == before.oid;
                (!is_same).then(|| "it was changed meanwhile".into())
            }
        })
    }

    /// Puts what converts others into the tree, and returns the others.
    pub(super) fn put_attributes(
        &mut self,
        left: Vec<(RepoPath, After)>,
        objects: &dyn ObjectStore,
    ) -> Result<Vec<(RepoPath, After)>, ApplyError> {
        let (attributes, others): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|(path, _)| path.file_name() == ATTRIBUTES);
        for (path, after) in &attributes {
            let written = write_raw(self.git, &mut || open(objects, after));
            self.put(path, after.mode, written.map_err(while_doing_to("write", path.as_bytes()))?)?;
        }
        Ok(others)
    }

    pub(super) fn put(&mut self, path: &RepoPath, mode: Mode, id: gix::ObjectId) -> Result<(), ApplyError> {
        let put = self.editor.upsert(components(path), kind_of(mode), id);
        put.map(drop).map_err(|e| failure("change the tree of the commit", e.into()))
    }

    /// Conversions as the attributes of what the tree is by now ask for them. No filter driver is known.
    pub(super) fn conversion(&mut self) -> io::Result<Conversion<'git>> {
        let tree = self.write()?;
        let index = self.git.index_from_tree(&tree).map_err(io::Error::other)?;
        let attributes = self.git.attributes_only(&index, Source::IdMapping).map_err(io::Error::other)?;
        let pipeline = gix::filter::Pipeline::new(self.git, attributes.detach()).map_err(io::Error::other)?;
        Ok(Conversion { pipeline, index })
    }

    pub(super) fn write(&mut self) -> io::Result<gix::ObjectId> {
        self.editor.write(|tree| write_object(self.git, tree))
    }
}

/// How files become blobs.
pub(super) struct Conversion<'git> {
    pipeline: gix::filter::Pipeline<'git>,
    index: gix::index::File,
}

fn components(path: &RepoPath) -> impl Iterator<Item = &gix::bstr::BStr> {
    path.components().map(ByteSlice::as_bstr)
}

pub(super) fn kind_of(mode: Mode) -> EntryKind {
    match mode {
        Mode::File => EntryKind::Blob,
        Mode::Executable => EntryKind::BlobExecutable,
        Mode::Symlink => EntryKind::Link,
        Mode::Submodule => EntryKind::Commit,
    }
}

impl Conversion<'_> {
    /// Hands what opens the blob of a file to `then`.
    pub(super) fn with_blob<T>(
        &mut self,
        path: &RepoPath,
        after: &After,
        objects: &dyn ObjectStore,
        then: impl FnOnce(&mut OpenBlob<'_, '_>) -> io::Result<T>,
    ) -> io::Result<T> {
        if after.mode == Mode::Symlink {
            return then(&mut || open(objects, after));
        }
        let host_path = Path::new(OsStr::from_bytes(path.as_bytes()));
        let (content, _) = open(objects, after)?;
        match self.pipeline.convert_to_git(content, host_path, &self.index).map_err(io::Error::other)? {
            ToGitOutcome::Unchanged(_) => then(&mut || open(objects, after)),
            ToGitOutcome::Buffer(bytes) => then(&mut || Ok((Box::new(bytes) as _, bytes.len() as u64))),
            ToGitOutcome::Process(_) => Err(io::Error::other("a filter driver would have to run")),
        }
    }
}

/// Git's name for a blob, without holding it in memory.
pub(super) fn name_of(git: &gix::Repository, open: &mut OpenBlob<'_, '_>) -> io::Result<gix::ObjectId> {
    let (mut content, length) = open()?;
    let mut hasher = oid::blob_hasher(git.object_hash(), length);
    if oid::hash_all(&mut hasher, &mut content)? != length {
        return Err(invalid("its content in the task store is damaged"));
    }
    hasher.try_finalize().map_err(io::Error::other)
}

fn open(objects: &dyn ObjectStore, after: &After) -> io::Result<(Box<dyn Read>, u64)> {
    let content = objects.open(&after.content.id).map_err(io::Error::other)?;
    let content = content.ok_or_else(|| invalid("its content is not in the task store"))?;
    Ok((content, after.content.length))
}
