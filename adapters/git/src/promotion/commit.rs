//! Making a commit of a Change Set: blobs as the attributes of the result convert them, trees, and the commit itself.
//!
//! What is written here is found by nobody until a reference names it.

use super::changed_tree::{ChangedTree, Conversion, OpenBlob, name_of};
use super::index::hand_over;
use super::trouble::{refused, while_doing, while_doing_to};
use crate::fields::invalid;
use crate::oid;
use gix::bstr::ByteSlice;
use gix::objs::{Exists, Kind, Write as _};
use isobox_domain::change::After;
use isobox_domain::git_oid::GitOid;
use isobox_domain::repo_path::RepoPath;
use isobox_domain::timestamp::Timestamp;
use isobox_ports::{ApplyError, Author, Cause, ChangeLines, CommitText, ObjectStore};
use std::io;

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
    let left = tree.change(changes)?;
    let others = tree.put_attributes(left, objects)?;
    let conversion = &mut tree.conversion().map_err(while_doing("read the attributes"))?;
    for (path, after) in &others {
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
    let commit = read(git, oid::to_gix(made))?;
    let commit = commit.decode().map_err(|e| failure(READING, e.into()))?;
    let mut line = commit.committer.trim().as_bytes().to_vec();
    line.extend(format!("\t{what}: ").as_bytes());
    line.extend(commit.message.lines().next().unwrap_or_default());
    line.retain(|byte| *byte != b'\n');
    Ok(line)
}

const READING: &str = "read the commit that was made";

fn read(git: &gix::Repository, commit: gix::ObjectId) -> Result<gix::Commit<'_>, ApplyError> {
    git.find_commit(commit).map_err(|e| failure(READING, e.into()))
}

/// The first line of what a commit says.
pub(super) fn subject_of(git: &gix::Repository, commit: &GitOid) -> Result<Vec<u8>, ApplyError> {
    let commit = read(git, oid::to_gix(commit))?;
    let message = commit.message_raw().map_err(|e| failure(READING, e.into()))?;
    Ok(message.lines().next().unwrap_or_default().to_vec())
}

/// Who made a commit.
pub(super) fn author_of(git: &gix::Repository, commit: gix::ObjectId) -> Result<Author, ApplyError> {
    let commit = read(git, commit)?;
    let author = commit.author().map_err(|e| failure(READING, e.into()))?;
    Ok(Author { name: author.name.to_vec(), email: author.email.to_vec() })
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

fn write_blob(
    git: &gix::Repository,
    conversion: &mut Conversion<'_>,
    path: &RepoPath,
    after: &After,
    objects: &dyn ObjectStore,
) -> io::Result<gix::ObjectId> {
    conversion.with_blob(path, after, objects, |open| write_raw(git, open))
}

/// Writes a blob unless it is there, without holding it in memory. `open` yields its content and length, twice.
pub(super) fn write_raw(git: &gix::Repository, open: &mut OpenBlob<'_, '_>) -> io::Result<gix::ObjectId> {
    let id = name_of(git, open)?;
    if !git.objects.exists(&id) {
        crate::fault::step()?;
        let (mut content, length) = open()?;
        let written = git.objects.write_stream(Kind::Blob, length, &mut content).map_err(io::Error::other)?;
        if written != id {
            return Err(invalid("its content in the task store is damaged"));
        }
        hand_over(git, &id)?;
    }
    Ok(id)
}

pub(super) fn write_object(git: &gix::Repository, object: &dyn gix::objs::WriteTo) -> io::Result<gix::ObjectId> {
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

pub(super) fn failure(operation: &str, source: Cause) -> ApplyError {
    ApplyError::Io { operation: operation.into(), source }
}
