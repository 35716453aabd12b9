//! A commit beside a repository: its objects lie in a directory of their own, which borrows those of the repository.

use super::commit::{self, failure};
use super::trouble::{refused, while_doing};
use crate::loose::LooseObject;
use crate::patch::{self, MAX_LITERAL_BYTES, Side};
use crate::workspace::pack;
use crate::{oid, patch::Content};
use gix::ObjectId;
use gix::diff::tree::recorder::Change;
use gix::diff::tree::{Recorder, State};
use gix::objs::TreeRefIter;
use gix::objs::tree::{EntryKind, EntryMode};
use gix::odb::Store;
use gix::odb::store::init::Options;
use isobox_domain::change::Mode;
use isobox_domain::escape::Escaped;
use isobox_domain::git_oid::GitOid;
use isobox_domain::quoted_name::quoted;
use isobox_domain::repo_path::RepoPath;
use isobox_ports::{ApplyError, Author, ChangeLines, CommitAside, CommitText, ObjectStore};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// The commit, in a repository that ends with it.
pub(super) struct GixCommitAside {
    git: gix::Repository,
    parent: ObjectId,
    commit: ObjectId,
    author: Author,
    _objects: TempDir,
}

impl GixCommitAside {
    pub(super) fn make(
        git: &gix::Repository,
        parent: ObjectId,
        changes: ChangeLines<'_>,
        objects: &dyn ObjectStore,
        text: &CommitText,
    ) -> Result<Self, ApplyError> {
        let directory = tempfile::tempdir().map_err(while_doing("make a temporary directory"))?;
        let git = beside(git, directory.path()).map_err(while_doing("write to a temporary directory"))?;
        let commit = oid::to_gix(&commit::make(&git, parent, changes, objects, text)?);
        let author = commit::author_of(&git, commit)?;
        Ok(Self { git, parent, commit, author, _objects: directory })
    }

    /// What the commit has in place of what its parent has, trees too, by path.
    fn changes(&self) -> gix::Result<Vec<Change>> {
        let tree = |commit: ObjectId| Ok::<_, gix::Error>(self.git.find_commit(commit)?.tree()?.detach().data);
        let (before, after) = (tree(self.parent)?, tree(self.commit)?);
        let hash = self.git.object_hash();
        let [before, after] = [&before, &after].map(|tree| TreeRefIter::from_bytes(tree, hash));
        let mut found = Recorder::default();
        gix::diff::tree(before, after, State::default(), &self.git.objects, &mut found)
            .map_err(gix::Error::from_error)?;
        found.records.sort_by(|one, other| path_of(one).cmp(path_of(other)));
        Ok(found.records)
    }

    /// Every object of the commit that its parent does not have at the same path.
    fn objects(&self) -> gix::Result<Vec<ObjectId>> {
        let tree = self.git.find_commit(self.commit)?.tree_id()?.detach();
        let mut objects = vec![self.commit, tree];
        objects.extend(self.changes()?.iter().filter_map(|change| match change {
            Change::Addition { oid, entry_mode, .. } | Change::Modification { oid, entry_mode, .. } => {
                (!entry_mode.is_commit()).then_some(*oid)
            }
            Change::Deletion { .. } => None,
        }));
        let mut seen = std::collections::HashSet::new();
        objects.retain(|object| seen.insert(*object));
        Ok(objects)
    }

    fn write_change(&self, change: &Change, out: &mut dyn Write) -> Result<(), ApplyError> {
        let (before, after) = match change {
            Change::Addition { entry_mode, oid, .. } => (None, Some((*entry_mode, *oid))),
            Change::Deletion { entry_mode, oid, .. } => (Some((*entry_mode, *oid)), None),
            Change::Modification { previous_entry_mode, previous_oid, entry_mode, oid, .. } => {
                (Some((*previous_entry_mode, *previous_oid)), Some((*entry_mode, *oid)))
            }
        };
        let blob = |(mode, oid): (EntryMode, ObjectId)| Some((mode_of(mode)?, Blob { aside: self, oid }));
        let (mut before, mut after) = (before.and_then(blob), after.and_then(blob));
        if before.is_none() && after.is_none() {
            return Ok(());
        }
        let reading = "read what the commit changed";
        let path = RepoPath::parse(path_of(change)).map_err(io::Error::other).map_err(while_doing(reading))?;
        let before = side(before.as_mut()).map_err(while_doing(reading))?;
        let after = side(after.as_mut()).map_err(while_doing(reading))?;
        let longest = [&before, &after].into_iter().flatten().map(|side| side.length).max().unwrap_or(0);
        if longest > MAX_LITERAL_BYTES {
            return Err(too_large(path.as_bytes(), longest));
        }
        patch::render(out, self.git.object_hash(), &path, before, after)
            .map_err(while_doing("write the patch of the commit"))
    }
}

impl CommitAside for GixCommitAside {
    fn id(&self) -> GitOid {
        oid::from_gix(&self.commit)
    }

    fn author(&self) -> Author {
        self.author.clone()
    }

    fn write_patch(&self, out: &mut dyn Write) -> Result<(), ApplyError> {
        let changes = self.changes().map_err(|e| failure("compare the commit with its parent", e.into()))?;
        let mut each = changes.iter();
        each.try_for_each(|change| self.write_change(change, out))
    }

    fn write_bundle(&self, reference: &str, out: &mut dyn Write) -> Result<(), ApplyError> {
        let objects = self.objects().map_err(|e| failure("look which objects the commit has", e.into()))?;
        // gitformat-bundle(5): the second version knows no other names of objects than those of SHA-1.
        let version = match self.git.object_hash() {
            gix::hash::Kind::Sha1 => "# v2 git bundle\n".to_owned(),
            other => format!("# v3 git bundle\n@object-format={other}\n"),
        };
        let (parent, commit) = (self.parent, self.commit);
        let head = format!(
            "{version}-{parent} the commit that the task started from\n{commit} {reference}\n{commit} HEAD\n\n"
        );
        out.write_all(head.as_bytes()).map_err(while_doing("write the bundle"))?;
        pack::write_stream(&self.git, &objects, out).map_err(|e| failure("write the objects of the bundle", e.into()))
    }
}

/// The same repository with an empty object directory of its own, which borrows what the repository has.
fn beside(git: &gix::Repository, directory: &Path) -> io::Result<gix::Repository> {
    let borrowed = git.objects.store_ref();
    let path = borrowed.path().as_os_str().as_bytes();
    // A path of two lines would be two; one with a quote at its beginning is not absolute.
    let line = if path.contains(&b'\n') { quoted(b"", path) } else { path.to_vec() };
    fs::create_dir(directory.join("info"))?;
    fs::write(directory.join("info/alternates"), [line.as_slice(), b"\n"].concat())?;
    let options = Options { use_multi_pack_index: borrowed.use_multi_pack_index(), ..Options::default() };
    let objects = Store::at_opts(directory.to_owned(), borrowed.object_hash(), &mut std::iter::empty(), options)?;
    let mut beside = git.clone().into_sync();
    beside.objects = Arc::new(objects);
    Ok(beside.to_thread_local())
}

/// A blob that is read anew each time.
struct Blob<'a> {
    aside: &'a GixCommitAside,
    oid: ObjectId,
}

impl Blob<'_> {
    fn loose(&self) -> io::Result<Option<LooseObject>> {
        LooseObject::find(&self.aside.git, &self.oid)
    }

    fn length(&self) -> io::Result<u64> {
        match self.loose()? {
            Some(object) => Ok(object.length),
            None => Ok(self.aside.git.find_header(self.oid).map_err(io::Error::other)?.size()),
        }
    }
}

impl Content for Blob<'_> {
    fn open(&mut self) -> io::Result<Box<dyn Read + '_>> {
        if let Some(object) = self.loose()? {
            return Ok(Box::new(object));
        }
        let object = self.aside.git.find_object(self.oid).map_err(io::Error::other)?;
        Ok(Box::new(io::Cursor::new(object.detach().data)))
    }
}

fn side<'a>(blob: Option<&'a mut (Mode, Blob<'_>)>) -> io::Result<Option<Side<'a>>> {
    let Some((mode, content)) = blob else { return Ok(None) };
    let length = content.length()?;
    Ok(Some(Side { mode: *mode, length, content, commit: None }))
}

fn too_large(path: &[u8], length: u64) -> ApplyError {
    let reason = format!("a patch cannot tell {length} bytes of one file, {}", Escaped(path));
    refused(reason, "export it with --format git-bundle, which holds files of any size")
}

fn path_of(change: &Change) -> &[u8] {
    match change {
        Change::Addition { path, .. } | Change::Deletion { path, .. } | Change::Modification { path, .. } => path,
    }
}

/// The mode of what a patch shows; trees are shown by what is in them, and commits of submodules do not change.
fn mode_of(mode: EntryMode) -> Option<Mode> {
    match mode.kind() {
        EntryKind::Blob => Some(Mode::File),
        EntryKind::BlobExecutable => Some(Mode::Executable),
        EntryKind::Link => Some(Mode::Symlink),
        EntryKind::Tree | EntryKind::Commit => None,
    }
}
