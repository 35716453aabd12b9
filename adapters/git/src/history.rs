//! The root of a repository's history, by which it is known wherever it lies.
//!
//! Walking to it costs a look at every commit, so the last answer is kept in isobox's own directory inside the Git
//! directory: `history` there holds a commit and its root, and the walk ends where it meets that commit. Nothing but
//! speed depends on the file.

use crate::fields::read_regular;
use crate::ownership;
use gix::ObjectId;
use isobox_domain::git_oid::GitOid;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Longest file that is read, in bytes: two object names of 64 digits, and room.
const LONGEST: u64 = 256;

/// The root commit in which the chain of first parents from `commit` ends; `None` where history is cut off.
pub(crate) fn root_commit(repository: &gix::Repository, commit: ObjectId) -> gix::Result<Option<ObjectId>> {
    if repository.is_shallow()? {
        return Ok(None);
    }
    let known = load(repository.common_dir());
    let mut last = None;
    for step in repository.rev_walk([commit]).first_parent_only().all()? {
        let commit = step?.id;
        match known {
            Some((known, root)) if known == commit => return Ok(Some(root)),
            _ => last = Some(commit),
        }
    }
    Ok(last)
}

/// Keeps that the history of `commit` ends in `root`, if isobox has a directory in `common_dir`.
pub(crate) fn remember(common_dir: &Path, commit: &GitOid, root: &GitOid) -> io::Result<()> {
    let line = format!("{commit} {root}\n");
    let host_path = host_path(common_dir);
    let Some(directory) = host_path.parent().filter(|directory| directory.is_dir()) else { return Ok(()) };
    if read_regular(&host_path, LONGEST).is_ok_and(|known| known == line.as_bytes()) {
        return Ok(());
    }
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(line.as_bytes())?;
    ownership::give_to_owner_of(directory, file.as_file())?;
    file.persist(host_path)?;
    Ok(())
}

fn host_path(common_dir: &Path) -> PathBuf {
    common_dir.join("isobox").join("history")
}

/// What is not there, or cannot be read, is not known.
fn load(common_dir: &Path) -> Option<(ObjectId, ObjectId)> {
    let text = String::from_utf8(read_regular(&host_path(common_dir), LONGEST).ok()?).ok()?;
    let (commit, root) = text.strip_suffix('\n')?.split_once(' ')?;
    Some((ObjectId::from_hex(commit.as_bytes()).ok()?, ObjectId::from_hex(root.as_bytes()).ok()?))
}
