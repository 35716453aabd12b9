//! What a Workspace is made from: the pinned commit, and those of its submodules that the source has at hand.

use super::base::{Base, Layer};
use super::submodules::Submodule;
use super::tree::{self, CommitTree, TreeEntry};
use super::{failure, submodules};
use crate::{GixRepository, oid};
use gix::ObjectId;
use isobox_domain::change::Mode;
use isobox_domain::git_oid::GitOid;
use isobox_domain::repo_path::RepoPath;
use isobox_ports::WorkspaceError;
use std::collections::HashSet;
use std::path::PathBuf;

/// A tracked path of the Workspace.
#[derive(Clone, Debug)]
pub(crate) struct Tracked {
    /// From the root of the Workspace.
    pub(crate) path: RepoPath,
    /// Its kind.
    pub(crate) mode: Mode,
    /// Its blob, or the submodule's commit.
    pub(crate) oid: GitOid,
    /// Which of the base's layers it belongs to.
    pub(crate) layer: usize,
}

/// Everything that goes into a Workspace.
pub(crate) struct Pinned {
    /// The layers; the packs have no names yet.
    pub(crate) base: Base,
    /// The open repositories of the layers.
    pub(crate) repositories: Vec<gix::Repository>,
    /// Every tracked path, in ascending order of path bytes.
    pub(crate) tracked: Vec<Tracked>,
    /// What goes into the Workspace's `.git`: the pinned commit, its trees and its blobs, each once. They come as the
    /// paths do, for so they mostly lie in a pack.
    pub(crate) objects: Vec<ObjectId>,
    /// When the pinned commit was made, in seconds since 1970.
    pub(crate) committed_at_s: i64,
    /// Whether the pinned commit has parents.
    pub(crate) has_parents: bool,
    /// Submodules whose objects the source does not have.
    pub(crate) missing_submodules: Vec<MissingSubmodule>,
}

/// A submodule that stays an empty directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MissingSubmodule {
    /// Its path from the root of the Workspace.
    pub(crate) path: RepoPath,
    /// The commit of it that is wanted.
    pub(crate) commit: GitOid,
    /// Where its repository could come to lie.
    pub(crate) candidates: Vec<PathBuf>,
}

impl Pinned {
    /// Reads `commit` of `source`.
    pub(crate) fn read(source: &GixRepository, commit: &GitOid) -> Result<Self, WorkspaceError> {
        let repository = source.gix();
        let mut tree = tree::read(&repository, oid::to_gix(commit))?;
        let mut pinned = Self {
            base: Base { packs: vec![], layers: vec![] },
            repositories: vec![],
            tracked: vec![],
            objects: objects(oid::to_gix(commit), std::mem::take(&mut tree.trees), &tree.entries),
            committed_at_s: tree.committed_at_s,
            has_parents: tree.has_parents,
            missing_submodules: vec![],
        };
        pinned.add_layer(repository, source.root().to_owned(), None, commit, tree)?;
        pinned.tracked.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(pinned)
    }

    /// Whether the Workspace has this directory.
    pub(crate) fn has_directory(&self, path: &RepoPath) -> bool {
        let is_submodule = |tracked: &Tracked| tracked.mode == Mode::Submodule && tracked.path == *path;
        self.tracked.iter().any(|tracked| tracked.path.is_below(path) || is_submodule(tracked))
    }

    fn add_layer(
        &mut self,
        repository: gix::Repository,
        host_path: PathBuf,
        prefix: Option<RepoPath>,
        commit: &GitOid,
        tree: CommitTree,
    ) -> Result<(), WorkspaceError> {
        let index = self.base.layers.len();
        let attribute_files =
            tree.entries.iter().filter(|e| e.path.file_name() == b".gitattributes" && e.mode != Mode::Symlink);
        self.base.layers.push(Layer {
            prefix: prefix.clone(),
            host_path,
            commit: *commit,
            attribute_files: attribute_files.map(|e| (e.path.clone(), oid::from_gix(&e.oid))).collect(),
        });
        let submodules = submodules::named(&repository, &tree)?;
        self.repositories.push(repository);
        // Moved, not copied: of a large commit, paths are most of what there is in memory.
        for TreeEntry { path, mode, oid } in tree.entries {
            let path = below(prefix.as_ref(), path)?;
            self.tracked.push(Tracked { path, mode, oid: oid::from_gix(&oid), layer: index });
        }
        submodules.into_iter().try_for_each(|submodule| self.add_submodule(submodule, prefix.as_ref()))
    }

    fn add_submodule(&mut self, submodule: Submodule, prefix: Option<&RepoPath>) -> Result<(), WorkspaceError> {
        let Submodule { path, commit, candidates } = submodule;
        let (path, oid) = (below(prefix, path)?, oid::from_gix(&commit));
        match submodules::open(&candidates, &commit) {
            Some((submodule, host_path)) => {
                let inner = tree::read(&submodule, commit)?;
                self.add_layer(submodule, host_path, Some(path), &oid, inner)
            }
            None => {
                self.missing_submodules.push(MissingSubmodule { path, commit: oid, candidates });
                Ok(())
            }
        }
    }
}

fn below(prefix: Option<&RepoPath>, path: RepoPath) -> Result<RepoPath, WorkspaceError> {
    let Some(prefix) = prefix else { return Ok(path) };
    prefix
        .join(path.as_bytes())
        .map_err(|why| failure(&format!("look at the path `{path}` of submodule `{prefix}`"), why))
}

fn objects(commit: ObjectId, trees: Vec<ObjectId>, entries: &[TreeEntry]) -> Vec<ObjectId> {
    let blobs = entries.iter().filter(|entry| entry.mode != Mode::Submodule).map(|entry| entry.oid);
    let all = std::iter::once(commit).chain(trees).chain(blobs);
    let mut seen = HashSet::with_capacity(entries.len());
    all.filter(|oid| seen.insert(*oid)).collect()
}
