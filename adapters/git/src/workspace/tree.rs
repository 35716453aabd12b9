//! The paths of a commit.

use super::failure;
use crate::objects::ObjectReader;
use crate::oid;
use gix::ObjectId;
use gix::objs::Kind;
use gix::objs::tree::EntryKind;
use isobox_domain::change::Mode;
use isobox_domain::escape::Escaped;
use isobox_domain::repo_path::RepoPath;
use isobox_ports::WorkspaceError;

/// A file, link or submodule of a commit.
#[derive(Clone, Debug)]
pub(crate) struct TreeEntry {
    /// Its path from the root of its own repository.
    pub(crate) path: RepoPath,
    /// Its kind.
    pub(crate) mode: Mode,
    /// Its blob, or the submodule's commit.
    pub(crate) oid: ObjectId,
}

/// Everything that a commit holds.
#[derive(Debug)]
pub(crate) struct CommitTree {
    /// Its files, links and submodules, in ascending order of path bytes.
    pub(crate) entries: Vec<TreeEntry>,
    /// The trees themselves.
    pub(crate) trees: Vec<ObjectId>,
    /// When it was committed, in seconds since 1970.
    pub(crate) committed_at_s: i64,
    /// Whether it has parents.
    pub(crate) has_parents: bool,
}

/// Reads the tree of `commit`, and looks whether its objects are what their names say. A path that no Workspace can
/// have is refused.
pub(crate) fn read(repository: &gix::Repository, commit: ObjectId) -> Result<CommitTree, WorkspaceError> {
    let failed = |e: gix::Error| failure(&format!("read the tree of commit {commit}"), e);
    let decoded = repository.find_commit(commit).map_err(failed)?;
    oid::verify(Kind::Commit, &decoded.data, &commit).map_err(failed)?;
    let root = decoded.tree_id().map_err(failed)?.detach();
    let mut tree = CommitTree {
        entries: vec![],
        trees: vec![],
        committed_at_s: decoded.time().map_or(0, |time| time.seconds),
        has_parents: decoded.parent_ids().next().is_some(),
    };
    let mut reader = ObjectReader::new(repository.clone());
    let mut pending = vec![(Vec::new(), root)];
    while let Some((directory, oid)) = pending.pop() {
        tree.trees.push(oid);
        let repository = reader.next().map_err(|e| failed(gix::Error::from_error(e)))?;
        let object = repository.find_tree(oid).map_err(failed)?;
        oid::verify(Kind::Tree, &object.data, &oid).map_err(failed)?;
        for entry in object.iter() {
            let entry = entry.map_err(failed)?;
            let path = [&directory[..], entry.filename()].concat();
            match mode(entry.mode().kind()) {
                Some(mode) => {
                    tree.entries.push(TreeEntry { path: parse(path, commit)?, mode, oid: entry.object_id() });
                }
                None => pending.push(([&path[..], b"/"].concat(), entry.object_id())),
            }
        }
    }
    tree.entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(tree)
}

/// The kind of an entry of a tree; `None` for a tree.
pub(crate) fn mode(kind: EntryKind) -> Option<Mode> {
    match kind {
        EntryKind::Tree => None,
        EntryKind::Blob => Some(Mode::File),
        EntryKind::BlobExecutable => Some(Mode::Executable),
        EntryKind::Link => Some(Mode::Symlink),
        EntryKind::Commit => Some(Mode::Submodule),
    }
}

fn parse(path: Vec<u8>, commit: ObjectId) -> Result<RepoPath, WorkspaceError> {
    let shown = Escaped(&path).to_string();
    RepoPath::parse(path).map_err(|why| WorkspaceError::Refused {
        reason: format!("commit {commit} has the path `{shown}`, which cannot be created: {why}"),
        hint: Some("rename it in a commit of its own".into()),
    })
}
