//! Making a commit of a Change Set: blobs as the attributes of the result convert them, trees, and the commit itself.
//!
//! What is written here is found by nobody until a reference names it.

use super::index::hand_over;
use super::trouble::{conflict, refused, while_doing, while_doing_to};
use crate::fields::invalid;
use crate::oid;
use gix::bstr::ByteSlice;
use gix::filter::plumbing::pipeline::convert::ToGitOutcome;
use gix::objs::tree::{Editor, EntryKind};
use gix::objs::{Exists, Kind, Write as _};
use gix::worktree::stack::state::attributes::Source;
use isobox_domain::change::{After, Change, ChangeLine, Mode};
use isobox_domain::git_oid::GitOid;
use isobox_domain::repo_path::RepoPath;
use isobox_domain::timestamp::Timestamp;
use isobox_ports::{ApplyError, Cause, ChangeLines, CommitText, ObjectStore};
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const ATTRIBUTES: &[u8] = b".gitattributes";

/// Makes the commit of `changes` on `parent`.
pub(super) fn make(
    git: &gix::Repository,
    parent: gix::ObjectId,
    changes: ChangeLines<'_>,
    objects: &dyn ObjectStore,
    text: &CommitText,
) -> Result<GitOid, ApplyError> {
    let signature = signature(git, text)?;
    let mut tree = ChangedTree::of(git, parent)?;
    let mut left = tree.change(changes)?;
    // What converts the others comes first.
    left.sort_by_key(|(path, _)| path.file_name() != ATTRIBUTES);
    let others = left.iter().position(|(path, _)| path.file_name() != ATTRIBUTES).unwrap_or(left.len());
    for (path, after) in &left[..others] {
        let id = write_raw(git, &mut || open(objects, after)).map_err(while_doing_to("write", path.as_bytes()))?;
        tree.put(path, after.mode, id)?;
    }
    let conversion = &mut tree.conversion().map_err(while_doing("read the attributes"))?;
    for (path, after) in &left[others..] {
        let id = write_blob(git, conversion, path, after, objects);
        tree.put(path, after.mode, id.map_err(while_doing_to("write", path.as_bytes()))?)?;
    }
    let commit = gix::objs::Commit {
        tree: tree.write().map_err(while_doing("write the trees of the commit"))?,
        parents: [parent].into_iter().collect(),
        author: signature.clone(),
        committer: signature,
        encoding: None,
        message: text.message.as_slice().into(),
        extra_headers: Vec::new(),
    };
    let made = write_object(git, &commit).map_err(while_doing("write the commit"))?;
    Ok(oid::from_gix(&made))
}

/// Looks whether a commit of `changes` on `parent` could be made. The number of changed paths.
pub(super) fn rehearse(
    git: &gix::Repository,
    parent: gix::ObjectId,
    changes: ChangeLines<'_>,
) -> Result<u64, ApplyError> {
    check_identity(git)?;
    let mut tree = ChangedTree::of(git, parent)?;
    tree.change(changes)?;
    Ok(tree.paths)
}

/// Looks whether the configuration of the repository says who commits.
pub(super) fn check_identity(git: &gix::Repository) -> Result<(), ApplyError> {
    signature(git, &CommitText { message: Vec::new(), at: Timestamp::nearest(0) }).map(drop)
}

/// What a log of references says of a move to, or from, the commit `made`; nothing where the configuration wants no log.
pub(super) fn log_of(git: &gix::Repository, made: &GitOid, what: &str) -> Result<Vec<u8>, ApplyError> {
    if git.config_snapshot().boolean("core.logAllRefUpdates") == Some(false) {
        return Ok(Vec::new());
    }
    let reading = "read the commit that was made";
    let commit = git.find_commit(oid::to_gix(made)).map_err(|e| failure(reading, e.into()))?;
    let commit = commit.decode().map_err(|e| failure(reading, e.into()))?;
    let mut line = commit.committer.trim().as_bytes().to_vec();
    line.extend(format!("\t{what}: ").as_bytes());
    line.extend(commit.message.lines().next().unwrap_or_default());
    line.retain(|byte| *byte != b'\n');
    Ok(line)
}

/// Whom the configuration of the repository calls the one who commits.
fn signature(git: &gix::Repository, text: &CommitText) -> Result<gix::actor::Signature, ApplyError> {
    let unknown =
        || refused("user.name or user.email is not set, so nobody can commit", "`git config user.name NAME` sets one");
    let committer = git.committer().ok_or_else(unknown)?;
    let committer = committer.map_err(|e| failure("find out who commits", e.into()))?;
    Ok(gix::actor::Signature {
        name: committer.name.to_owned(),
        email: committer.email.to_owned(),
        time: gix::date::Time { seconds: (text.at.unix_ms() / 1000) as i64, offset: 0 },
    })
}

/// The tree of a commit on the way to that of another.
struct ChangedTree<'git> {
    git: &'git gix::Repository,
    editor: Editor<'git>,
    base: gix::Tree<'git>,
    paths: u64,
}

impl<'git> ChangedTree<'git> {
    fn of(git: &'git gix::Repository, commit: gix::ObjectId) -> Result<Self, ApplyError> {
        let reading = format!("read the tree of commit {commit}");
        let base = git.find_commit(commit).map_err(|e| failure(&reading, e.into()))?;
        let base = base.tree().map_err(|e| failure(&reading, e.into()))?;
        let root = gix::objs::TreeRef::from_bytes(&base.data, git.object_hash());
        let root = root.map_err(|e| failure(&reading, e.into()))?.to_owned();
        Ok(Self { git, editor: Editor::new(root, &git.objects, git.object_hash()), base, paths: 0 })
    }

    /// Takes away what is deleted or replaced; what is to be put in its place is returned.
    fn change(&mut self, changes: ChangeLines<'_>) -> Result<Vec<(RepoPath, After)>, ApplyError> {
        let mut left = Vec::new();
        for line in changes {
            let line = line.map_err(|cause| failure("read the change set", cause))?;
            let ChangeLine::Change(change) = line else { continue };
            self.paths += 1;
            let path = change.path.as_bytes();
            if let Some(why) = self.conflict(&change)? {
                return Err(conflict(path, &why));
            }
            if change.before.is_some() {
                let removed = self.editor.remove_if_leaf(components(&change.path));
                removed.map_err(|e| failure("change the tree of the commit", e.into()))?;
            }
            left.extend(change.after.map(|after| (change.path, after)));
        }
        Ok(left)
    }

    /// Why a change cannot be made in the tree.
    fn conflict(&self, change: &Change) -> Result<Option<String>, ApplyError> {
        let submodule = [change.before.as_ref().map(|b| b.mode), change.after.as_ref().map(|a| a.mode)];
        if change.submodule.is_some() || submodule.contains(&Some(Mode::Submodule)) {
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
                (!is_same).then(|| "it is not as in the commit".into())
            }
        })
    }

    fn put(&mut self, path: &RepoPath, mode: Mode, id: gix::ObjectId) -> Result<(), ApplyError> {
        let put = self.editor.upsert(components(path), kind_of(mode), id);
        put.map(drop).map_err(|e| failure("change the tree of the commit", e.into()))
    }

    /// Conversions as the attributes of what the tree is by now ask for them. No filter driver is known.
    fn conversion(&mut self) -> io::Result<Conversion<'git>> {
        let tree = self.write()?;
        let index = self.git.index_from_tree(&tree).map_err(io::Error::other)?;
        let attributes = self.git.attributes_only(&index, Source::IdMapping).map_err(io::Error::other)?;
        let pipeline = gix::filter::Pipeline::new(self.git, attributes.detach()).map_err(io::Error::other)?;
        Ok(Conversion { pipeline, index })
    }

    fn write(&mut self) -> io::Result<gix::ObjectId> {
        self.editor.write(|tree| write_object(self.git, tree))
    }
}

struct Conversion<'git> {
    pipeline: gix::filter::Pipeline<'git>,
    index: gix::index::File,
}

fn components(path: &RepoPath) -> impl Iterator<Item = &gix::bstr::BStr> {
    path.components().map(ByteSlice::as_bstr)
}

fn kind_of(mode: Mode) -> EntryKind {
    match mode {
        Mode::File => EntryKind::Blob,
        Mode::Executable => EntryKind::BlobExecutable,
        Mode::Symlink => EntryKind::Link,
        Mode::Submodule => EntryKind::Commit,
    }
}

fn open(objects: &dyn ObjectStore, after: &After) -> io::Result<(Box<dyn Read>, u64)> {
    let content = objects.open(&after.content.id).map_err(io::Error::other)?;
    let content = content.ok_or_else(|| invalid("its content is not in the task store"))?;
    Ok((content, after.content.length))
}

fn write_blob(
    git: &gix::Repository,
    conversion: &mut Conversion<'_>,
    path: &RepoPath,
    after: &After,
    objects: &dyn ObjectStore,
) -> io::Result<gix::ObjectId> {
    if after.mode == Mode::Symlink {
        return write_raw(git, &mut || open(objects, after));
    }
    let host_path = Path::new(OsStr::from_bytes(path.as_bytes()));
    let (content, _) = open(objects, after)?;
    match conversion.pipeline.convert_to_git(content, host_path, &conversion.index).map_err(io::Error::other)? {
        ToGitOutcome::Unchanged(_) => write_raw(git, &mut || open(objects, after)),
        ToGitOutcome::Buffer(bytes) => write_raw(git, &mut || Ok((Box::new(bytes) as _, bytes.len() as u64))),
        ToGitOutcome::Process(_) => Err(io::Error::other("a filter driver would have to run")),
    }
}

/// Writes a blob unless it is there, without holding it in memory. `open` yields its content and length, twice.
fn write_raw<'a>(
    git: &gix::Repository,
    open: &mut dyn FnMut() -> io::Result<(Box<dyn Read + 'a>, u64)>,
) -> io::Result<gix::ObjectId> {
    let (mut content, length) = open()?;
    let mut hasher = oid::blob_hasher(git.object_hash(), length);
    if oid::hash_all(&mut hasher, &mut content)? != length {
        return Err(invalid("its content in the task store is damaged"));
    }
    let id = hasher.try_finalize().map_err(io::Error::other)?;
    if !git.objects.exists(&id) {
        crate::fault::step()?;
        let written = git.objects.write_stream(Kind::Blob, length, &mut open()?.0).map_err(io::Error::other)?;
        if written != id {
            return Err(invalid("its content in the task store is damaged"));
        }
        hand_over(git, &id)?;
    }
    Ok(id)
}

fn write_object(git: &gix::Repository, object: &dyn gix::objs::WriteTo) -> io::Result<gix::ObjectId> {
    let mut bytes = Vec::new();
    object.write_to(&mut bytes)?;
    let id = gix::objs::compute_hash(git.object_hash(), object.kind(), &bytes).map_err(io::Error::other)?;
    if !git.objects.exists(&id) {
        crate::fault::step()?;
        git.objects.write_buf(object.kind(), &bytes).map_err(io::Error::other)?;
        hand_over(git, &id)?;
    }
    Ok(id)
}

fn failure(operation: &str, source: Cause) -> ApplyError {
    ApplyError::Io { operation: operation.into(), source }
}
