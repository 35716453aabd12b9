//! Taking a snapshot: its content is kept, then put into the Workspace.

use super::kept::{self, After, Line};
use super::uncommitted::{self, Stands};
use super::{put, stat};
use crate::oid;
use crate::repository::failure as looking_failed;
use crate::workspace::failure;
use crate::workspace::layout::Layout;
use crate::{GixRepository, capture::content::Content};
use gix::hash::Kind;
use isobox_domain::escape::Escaped;
use isobox_domain::git_oid::GitOid;
use isobox_domain::repo_path::RepoPath;
use isobox_ports::{RepositoryError, WorkspaceError};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Puts what is not committed in `repository` into the Workspace at `layout`, which was made whole from `commit`.
pub(crate) fn take(repository: &GixRepository, layout: &Layout, commit: &GitOid) -> Result<(), WorkspaceError> {
    let snapshot = layout.snapshot();
    require_head(repository, commit)?;
    DirBuilder::new().mode(0o700).create(&snapshot).map_err(|e| failure("make a place for the snapshot", e))?;
    let hash = oid::to_gix(commit).kind();
    let mut lines = Vec::new();
    uncommitted::each(repository, commit, &mut |path, stands| {
        lines.push(keep(&snapshot, hash, path, stands)?);
        Ok(())
    })
    .map_err(as_workspace_error)?;
    // What was compared with one commit is no snapshot over another one.
    require_head(repository, commit)?;
    if lines.is_empty() {
        return fs::remove_dir(&snapshot).map_err(|e| failure("clear the place for the snapshot", e));
    }
    put_in(layout, &snapshot, &lines).map_err(|e| failure("put what is not committed into the workspace", e))
}

/// Writes `lines`, whose content is kept in `snapshot`, over the files of the commit.
pub(super) fn put_in(layout: &Layout, snapshot: &Path, lines: &[Line]) -> io::Result<()> {
    let copy = layout.copy();
    let made = put::put(&copy.root, &copy.stat_cache, snapshot, lines)?;
    stat::replace(&copy.stat_cache, snapshot, lines, &made)?;
    kept::write_lines(snapshot, lines)
}

fn require_head(repository: &GixRepository, commit: &GitOid) -> Result<(), WorkspaceError> {
    let (head, _) = repository.head().map_err(as_workspace_error)?;
    if head == *commit {
        return Ok(());
    }
    let reason = format!(
        "HEAD of {} is at {}, and what is not committed there is no change of {}, which the task starts from",
        repository.shown(),
        head.short(),
        commit.short()
    );
    Err(WorkspaceError::Refused { reason, hint: Some("try again from where HEAD is now".to_owned()) })
}

fn as_workspace_error(error: RepositoryError) -> WorkspaceError {
    match error {
        RepositoryError::Refused { reason, hint } => WorkspaceError::Refused { reason, hint },
        RepositoryError::Io { operation, source } => failure(&operation, source),
        locked @ RepositoryError::Locked { .. } => failure("look at the working tree", locked),
    }
}

/// Keeps what stands at `path`.
fn keep(snapshot: &Path, hash: Kind, path: &RepoPath, stands: Stands) -> Result<Line, RepositoryError> {
    let Stands::Content(mode, mut content) = stands else { return Ok(Line { path: path.clone(), after: None }) };
    let operation = format!("read {} of the working tree", Escaped(path.as_bytes()));
    let (oid, length) = copy(&mut content, hash, &kept::content_path(snapshot, path))
        .map_err(|error| looking_failed(&operation, error))?;
    if length != content.length() || !content.is_as_seen() {
        let reason = format!("{} was changed while it was being read", Escaped(path.as_bytes()));
        return Err(RepositoryError::Refused { reason, hint: Some("try again when nothing writes to it".to_owned()) });
    }
    Ok(Line { path: path.clone(), after: Some(After { mode, oid, length }) })
}

fn copy(content: &mut Content, hash: Kind, to: &Path) -> io::Result<(GitOid, u64)> {
    let mut hasher = oid::blob_hasher(hash, content.length());
    let mut file = File::create_new(to)?;
    let mut reader = content.read()?;
    let mut piece = vec![0; 64 * 1024];
    let mut length = 0;
    loop {
        let count = match reader.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(&piece[..count]);
        file.write_all(&piece[..count])?;
        length += count as u64;
    }
    let oid = hasher.try_finalize().map_err(io::Error::other)?;
    Ok((oid::from_gix(&oid), length))
}

#[cfg(test)]
mod tests {
    use super::super::super::found::Entry;
    use super::*;
    use crate::beneath;
    use isobox_domain::change::Mode;
    use std::rc::Rc;

    #[test]
    fn a_file_that_changes_between_the_look_and_the_last_byte_is_refused() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let path = RepoPath::parse("file").expect("a path");
        for (is_changed, content) in [(false, "same length"), (true, "other bytes")] {
            let file = place.path().join("file");
            fs::write(&file, "same length").expect("written");
            let directory = Rc::new(File::open(place.path()).expect("opened").into());
            let seen = beneath::look(&*directory, b"file").expect("it is there");
            let entry = Entry { path: path.clone(), directory, seen, base: None, submodule: None };
            let open = Content::open(&entry, &mut u64::MAX.clone());
            let open = open.unwrap_or_else(|reason| panic!("{reason:?}"));
            if is_changed {
                // In the same tick of the clock only the time of modification could tell; it is set back by no one.
                fs::write(&file, content).expect("written");
                let later = std::time::SystemTime::now() + std::time::Duration::from_secs(1);
                File::options().write(true).open(&file).and_then(|file| file.set_modified(later)).expect("a time");
            }
            let snapshot = tempfile::tempdir_in(place.path()).expect("a temporary directory");
            let kept = keep(snapshot.path(), Kind::Sha1, &path, Stands::Content(Mode::File, open));
            match kept {
                Ok(line) => assert!(!is_changed, "{line:?}"),
                Err(RepositoryError::Refused { reason, .. }) => {
                    assert!(is_changed && reason == "file was changed while it was being read", "{reason}");
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}
