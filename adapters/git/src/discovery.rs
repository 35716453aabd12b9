//! Finding the repository around a directory, and refusing what isobox cannot use.

use crate::GixRepository;
use crate::git_config;
use crate::ownership::{ForeignPath, find_foreign};
use crate::repository::failure;
use gix::discover::repository::Path as Found;
use gix::discover::upwards::{Options, TrustPolicy};
use gix::sec::Trust;
use isobox_domain::escape::Escaped;
use isobox_domain::repo_path::RepoPath;
use isobox_ports::{Cause, RepositoryError};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Finds the repository around `directory`; see [`GixRepository::discover`].
pub(crate) fn discover(directory: &Path) -> Result<GixRepository, RepositoryError> {
    let directory = resolved(directory)?;
    let repository = open(&find(&directory)?)?;
    refuse_unusable(&repository)?;
    let root = worktree(&repository)?;
    let common_dir = repository.common_dir();
    let common_dir =
        common_dir.canonicalize().map_err(|e| failure(&format!("look at {}", Escaped::path(common_dir)), e))?;
    let prefix = prefix(&directory, &root)?;
    Ok(GixRepository::new(repository.into_sync(), root, common_dir, prefix))
}

/// Opens the repository around `directory`, with a working tree or without, under the same rule of ownership.
pub(crate) fn open_around(directory: &Path) -> Result<gix::Repository, RepositoryError> {
    open(&find(&resolved(directory)?)?)
}

fn resolved(directory: &Path) -> Result<PathBuf, RepositoryError> {
    let directory = directory.canonicalize().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            refused(format!("there is no directory {}", Escaped::path(directory)), "name a directory in a repository")
        }
        _ => failure(&format!("look at the directory {}", Escaped::path(directory)), error),
    })?;
    if !directory.is_dir() {
        let reason = format!("{} is not a directory", Escaped::path(&directory));
        return Err(refused(reason, "name a directory in a repository"));
    }
    Ok(directory)
}

/// Whether there is a repository around `directory`, whoever owns it, and whatever it is like.
pub(crate) fn is_inside_a_repository(directory: &Path) -> bool {
    directory.canonicalize().is_ok_and(|directory| find(&directory).is_ok())
}

/// The nearest repository at or above `directory`, whoever owns it.
fn find(directory: &Path) -> Result<Found, RepositoryError> {
    let options = Options { trust: TrustPolicy::Assume(Trust::Reduced), ..Options::default() };
    let (found, _) = gix::discover::upwards_opts(directory, options).map_err(|_| {
        refused(
            format!("{} is not inside a Git repository", Escaped::path(directory)),
            "change to a repository, or make one with `git init`",
        )
    })?;
    Ok(found)
}

/// Opens what was found, or refuses it if it belongs to somebody else and is no `safe.directory` of this user.
fn open(found: &Found) -> Result<gix::Repository, RepositoryError> {
    let (git_dir, worktree) = found.clone().into_repository_and_work_tree_directories();
    let foreign = foreign(&git_dir, worktree.as_deref())
        .map_err(|e| failure(&format!("look at who owns the repository at {}", Escaped::path(&git_dir)), e))?;
    let trust = if foreign.is_none() { Trust::Full } else { Trust::Reduced };
    let host_path = worktree.as_ref().unwrap_or(&git_dir);
    let repository = git_config::open(host_path, trust)
        .map_err(|e| failure(&format!("open the repository at {}", Escaped::path(host_path)), e))?;
    if repository.git_dir_trust() == Trust::Full { Ok(repository) } else { Err(refused_as_foreign(host_path, foreign)) }
}

/// Opens the repository at `dot_git` (a Git directory, or a file that names one), under the same rule of ownership.
pub(crate) fn open_owned(dot_git: &Path) -> Result<gix::Repository, RepositoryError> {
    let failed = |e: Cause| failure(&format!("open the repository at {}", Escaped::path(dot_git)), e);
    let kind = gix::discover::is_git(dot_git).map_err(|e| failed(e.into()))?;
    let found = Found::from_dot_git_dir(dot_git.to_owned(), kind, Path::new("/"));
    open(&found.ok_or_else(|| failed("it names a directory outside of the file system".into()))?)
}

/// The first part of a repository that belongs to somebody else.
fn foreign(git_dir: &Path, worktree: Option<&Path>) -> io::Result<Option<ForeignPath>> {
    let common_dir = match gix::discover::path::from_plain_file(&git_dir.join("commondir")) {
        Some(relative) => Some(git_dir.join(relative.map_err(io::Error::other)?)),
        None => None,
    };
    let dot_git = worktree.map(|worktree| worktree.join(".git"));
    let parts = [dot_git.as_deref(), worktree, Some(git_dir), common_dir.as_deref()];
    find_foreign(&parts.into_iter().flatten().collect::<Vec<_>>())
}

fn refused_as_foreign(host_path: &Path, foreign: Option<ForeignPath>) -> RepositoryError {
    let owner = match foreign {
        Some(ForeignPath { host_path, owner }) => {
            format!("{} belongs to the user with uid {owner}", Escaped::path(&host_path))
        }
        None => "its working tree belongs to another user".into(),
    };
    refused(
        format!("the repository at {} is not yours: {owner}", Escaped::path(host_path)),
        &format!("if you trust it, run `git config --global --add safe.directory {}`", Escaped::path(host_path)),
    )
}

/// Refuses what Workspaces cannot be made from, whatever its HEAD.
fn refuse_unusable(repository: &gix::Repository) -> Result<(), RepositoryError> {
    let here = Escaped::path(repository.workdir().unwrap_or(repository.git_dir()));
    let config = repository.config_snapshot();
    if config.string("extensions.refStorage").is_some_and(|format| format != "files") {
        return Err(refused(
            format!("the repository at {here} keeps its references in a format that isobox does not read"),
            "convert it with `git refs migrate --ref-format=files`",
        ));
    }
    if is_partial(&config) {
        return Err(refused(
            format!("the repository at {here} is a partial clone: objects may be missing, and isobox fetches none"),
            "use a full clone, or fetch everything with `git fetch --refetch --no-filter`",
        ));
    }
    if repository.workdir().is_none() {
        return Err(refused(
            format!("the repository at {here} is bare: it has no working tree"),
            "use a clone with a working tree, or add one with `git worktree add`",
        ));
    }
    Ok(())
}

fn is_partial(config: &gix::config::Snapshot<'_>) -> bool {
    let mut remotes = config.sections_by_name("remote").into_iter().flatten();
    config.string("extensions.partialClone").is_some()
        || remotes.any(|remote| remote.value("promisor").is_some_and(|value| value != "false"))
}

/// The root of the working tree, links resolved.
fn worktree(repository: &gix::Repository) -> Result<PathBuf, RepositoryError> {
    let root = repository.workdir().unwrap_or(repository.git_dir());
    let root =
        root.canonicalize().map_err(|e| failure(&format!("look at the working tree {}", Escaped::path(root)), e))?;
    Ok(root)
}

/// Where below `root` the asked directory lies.
fn prefix(directory: &Path, root: &Path) -> Result<Option<RepoPath>, RepositoryError> {
    let inside = directory.strip_prefix(root).map_err(|_| {
        refused(
            format!(
                "{} lies outside of its repository's working tree {}",
                Escaped::path(directory),
                Escaped::path(root)
            ),
            "change to a directory inside of the working tree",
        )
    })?;
    if inside.as_os_str().is_empty() {
        return Ok(None);
    }
    RepoPath::parse(inside.as_os_str().as_bytes()).map(Some).map_err(|why| {
        refused(
            format!("{} is no directory of the working tree: {why}", Escaped::path(directory)),
            "change to a directory of the working tree",
        )
    })
}

fn refused(reason: String, hint: &str) -> RepositoryError {
    RepositoryError::Refused { reason, hint: Some(hint.to_owned()) }
}
