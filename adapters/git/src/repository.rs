//! The trusted repository, for looking.

use crate::{capture, cleanliness, discovery, history, oid, promotion};
use isobox_domain::escape::Escaped;
use isobox_domain::git_oid::GitOid;
use isobox_domain::repo_path::RepoPath;
use isobox_domain::source::{Cleanliness, SnapshotDifference, WorkspaceSource};
use isobox_ports::{ChangeLines, Promotion, RepositoryError, TrustedRepository};
use std::io::{Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A repository with a working tree that isobox may use.
#[derive(Clone)]
pub struct GixRepository {
    shared: Arc<Shared>,
}

struct Shared {
    repository: gix::ThreadSafeRepository,
    root: PathBuf,
    common_dir: PathBuf,
    prefix: Option<RepoPath>,
}

impl GixRepository {
    /// Finds the repository around `directory`, and refuses one that isobox cannot use.
    ///
    /// Not looked at yet is whether it has a commit: `source` says that.
    pub fn discover(directory: &Path) -> Result<Self, RepositoryError> {
        discovery::discover(directory)
    }

    /// Whether there is a repository around `directory`, whoever owns it, and whether it can be used or not.
    pub fn is_around(directory: &Path) -> bool {
        discovery::is_inside_a_repository(directory)
    }

    /// Absolute path of the working tree's root, links resolved.
    pub fn root(&self) -> &Path {
        &self.shared.root
    }

    /// The Git directory that all working trees of the repository share.
    pub fn common_dir(&self) -> &Path {
        &self.shared.common_dir
    }

    /// Where below the root the directory lies that was asked for; `None` at the root.
    pub fn prefix(&self) -> Option<&RepoPath> {
        self.shared.prefix.as_ref()
    }

    pub(crate) fn new(
        repository: gix::ThreadSafeRepository,
        root: PathBuf,
        common_dir: PathBuf,
        prefix: Option<RepoPath>,
    ) -> Self {
        Self { shared: Arc::new(Shared { repository, root, common_dir, prefix }) }
    }

    /// The root, escaped for people.
    pub(crate) fn shown(&self) -> String {
        Escaped::path(self.root()).to_string()
    }

    /// gix's view of the repository, for the calling thread. No filter driver is known to it.
    pub(crate) fn gix(&self) -> gix::Repository {
        self.shared.repository.to_thread_local()
    }
}

impl GixRepository {
    /// The commit that HEAD names, and the branch by which it does. Far quicker than `source`, which walks the history.
    pub fn head(&self) -> Result<(GitOid, Option<Vec<u8>>), RepositoryError> {
        let repository = self.gix();
        let head = repository.head().map_err(|e| failure("read HEAD", e))?;
        let branch = head.referent_name().map(|name| name.as_bstr().to_vec());
        let commit = head.id().ok_or_else(|| RepositoryError::Refused {
            reason: format!("the repository at {} has no commit yet", self.shown()),
            hint: Some("make a first commit: `git add -A && git commit`".into()),
        })?;
        Ok((oid::from_gix(&commit.detach()), branch))
    }

    /// Whether the commit that HEAD names has something at `path`, from its root. Without a commit there is nothing.
    pub fn has_in_head(&self, path: &Path) -> Result<bool, RepositoryError> {
        let looking = || -> gix::Result<bool> {
            let repository = self.gix();
            let tree = repository.find_tree(repository.head_tree_id_or_empty()?)?;
            Ok(tree.lookup_entry_by_path(path)?.is_some())
        };
        looking().map_err(|e| failure(&format!("look for {} in HEAD", Escaped::path(path)), e))
    }
}

impl TrustedRepository for GixRepository {
    fn source(&self) -> Result<WorkspaceSource, RepositoryError> {
        let repository = self.gix();
        let (pinned, branch) = self.head()?;
        let commit = oid::to_gix(&pinned);
        let decoded = repository.find_commit(commit).map_err(|e| failure(&format!("read commit {commit}"), e))?;
        decoded.tree().map_err(|e| failure(&format!("read the tree of commit {commit}"), e))?;
        let root_commit = history::root_commit(&repository, commit)
            .map_err(|e| failure(&format!("walk the history of commit {commit}"), e))?;
        Ok(WorkspaceSource {
            host_path: self.root().as_os_str().as_bytes().to_vec(),
            root_commit: root_commit.map(|root| oid::from_gix(&root)),
            commit: pinned,
            branch,
            working_directory: self.prefix().cloned(),
        })
    }

    fn cleanliness(&self) -> Result<Cleanliness, RepositoryError> {
        cleanliness::cleanliness(&self.gix())
    }

    fn compare_snapshot(
        &self,
        commit: &GitOid,
        snapshot: ChangeLines<'_>,
    ) -> Result<SnapshotDifference, RepositoryError> {
        capture::snapshot::compare(self, commit, snapshot)
    }

    fn blob_name(&self, path: &RepoPath, content: &[u8]) -> Result<GitOid, RepositoryError> {
        let name = || {
            let mut file = tempfile::tempfile()?;
            file.write_all(content)?;
            file.rewind()?;
            promotion::target::Target::open(&self.gix(), self.root())?.normalised_oid(path, file)
        };
        name().map_err(|e| failure(&format!("name the content of {path}"), e))
    }

    fn begin_promotion(&self) -> Result<Box<dyn Promotion + '_>, RepositoryError> {
        promotion::begin(self)
    }
}

/// A failure to look at a repository.
pub(crate) fn failure(operation: &str, source: impl Into<isobox_ports::Cause>) -> RepositoryError {
    RepositoryError::Io { operation: operation.to_owned(), source: source.into() }
}
