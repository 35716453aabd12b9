//! Whether the working tree is in the very state of a snapshot.

use super::uncommitted::{self, MOST_PATHS, Stands};
use crate::GixRepository;
use crate::repository::failure;
use isobox_domain::change::{ChangeLine, Mode};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::escape::Escaped;
use isobox_domain::git_oid::GitOid;
use isobox_domain::repo_path::RepoPath;
use isobox_domain::source::SnapshotDifference;
use isobox_ports::{ChangeLines, RepositoryError};
use std::collections::BTreeMap;
use std::io;

/// What stands at a path: kind and content, or nothing.
type State = Option<(Mode, ContentRef)>;

/// Compares what is not committed in `repository`, over `commit`, with the snapshot in `expected`.
pub(crate) fn compare(
    repository: &GixRepository,
    commit: &GitOid,
    expected: ChangeLines<'_>,
) -> Result<SnapshotDifference, RepositoryError> {
    let mut expected = read(expected)?;
    let mut difference = SnapshotDifference::default();
    uncommitted::each(repository, commit, &mut |path, stands| {
        let found = state(path, stands)?;
        if expected.remove(path) != Some(found) {
            difference.add(path.as_bytes());
        }
        Ok(())
    })?;
    expected.keys().for_each(|path| difference.add(path.as_bytes()));
    Ok(difference)
}

fn read(lines: ChangeLines<'_>) -> Result<BTreeMap<RepoPath, State>, RepositoryError> {
    let mut expected = BTreeMap::new();
    for line in lines {
        let line = line.map_err(|cause| failure("read the snapshot of the task", cause))?;
        let ChangeLine::Change(change) = line else { continue };
        expected.insert(change.path, change.after.map(|after| (after.mode, after.content)));
        if expected.len() > MOST_PATHS {
            return Err(failure("read the snapshot of the task", io::Error::other("it has too many paths")));
        }
    }
    Ok(expected)
}

fn state(path: &RepoPath, stands: Stands) -> Result<State, RepositoryError> {
    let Stands::Content(mode, mut content) = stands else { return Ok(None) };
    let mut hasher = blake3::Hasher::new();
    let hashed = content.read().and_then(|reader| hasher.update_reader(reader).map(drop));
    hashed.map_err(|error| failure(&format!("read {}", Escaped(path.as_bytes())), error))?;
    if !content.is_as_seen() {
        let reason = format!("{} was changed while it was being read", Escaped(path.as_bytes()));
        return Err(RepositoryError::Refused { reason, hint: Some("try again when nothing writes to it".to_owned()) });
    }
    let id = ContentId::new(*hasher.finalize().as_bytes());
    Ok(Some((mode, ContentRef { id, length: hasher.count() })))
}
