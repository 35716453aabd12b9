//! Making a Workspace.

use super::base::Base;
use super::checkout::{Made, checkout};
use super::git_dir::{self, Contents};
use super::layout::{Destination, Layout};
use super::materialiser::Materialiser;
use super::pinned::{MissingSubmodule, Pinned, Tracked};
use super::{disposal, failure};
use crate::stat_cache::{Freshness, StatCacheEntry, StatCacheWriter};
use crate::{GixRepository, history};
use isobox_domain::escape::Escaped;
use isobox_domain::policy::WorkspaceKind;
use isobox_domain::repo_path::RepoPath;
use isobox_domain::source::WorkspaceSource;
use isobox_ports::{Headway, Workspace, WorkspaceError, WorkspaceMount};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Up to this many objects, writing them beside the checkout costs more than it saves.
const OBJECTS_OF_ONE_THREAD: usize = 64;

/// Makes a copy of `source`, a commit of `repository`, at `layout`, where nothing but an empty root may be yet. Its files are
/// counted in `headway`.
pub(super) fn create(
    repository: &GixRepository,
    layout: &Layout,
    source: &WorkspaceSource,
    headway: &Arc<Headway>,
) -> Result<Workspace, WorkspaceError> {
    let pinned = Pinned::read(repository, &source.commit)?;
    if let Some(directory) = source.working_directory.as_ref().filter(|directory| !pinned.has_directory(directory)) {
        return Err(WorkspaceError::not_committed(directory, &source.commit));
    }
    if !layout.root().is_dir() {
        make_directories(layout).map_err(|e| failure("make the workspace's directory", e))?;
    }
    headway.begin(pinned.tracked.len() as u64);
    let notices = copy(layout, pinned, source.branch.as_deref(), headway).inspect_err(|_| {
        // Best effort: whoever noted the state disposes it again, and hears what stands in the way.
        disposal::remove(layout.container()).unwrap_or_default();
    })?;
    remember_root(repository, source);
    let mount = WorkspaceMount::Directory { host_path: layout.root() };
    Ok(Workspace { mount, kind: WorkspaceKind::Copy, state: layout.encode(), notices })
}

/// Without it, the next look at the source takes longer.
pub(super) fn remember_root(repository: &GixRepository, source: &WorkspaceSource) {
    if let Some(root) = &source.root_commit {
        history::remember(repository.common_dir(), &source.commit, root).unwrap_or_default();
    }
}

fn copy(
    layout: &Layout,
    mut pinned: Pinned,
    branch: Option<&[u8]>,
    headway: &Arc<Headway>,
) -> Result<Vec<String>, WorkspaceError> {
    let materialiser = Materialiser::new(&pinned.base, pinned.repositories.clone())?.telling(headway);
    write(&layout.copy(), &mut pinned, &materialiser, branch)?;
    Ok(notices(&pinned.repositories[0], &pinned.missing_submodules, &materialiser.filters_not_run()))
}

/// Writes everything of `pinned` to `destination`, whose root is there and empty: what the system says of each path.
pub(crate) fn write(
    destination: &Destination,
    pinned: &mut Pinned,
    materialiser: &Materialiser,
    branch: Option<&[u8]>,
) -> Result<Vec<Made>, WorkspaceError> {
    let (made, pack) = fill(&destination.root, pinned, materialiser, branch)?;
    pinned.base.packs = vec![pack];
    let hash = pinned.repositories[0].object_hash();
    write_around(destination, &Written { tracked: &pinned.tracked, made: &made, base: &pinned.base, hash })?;
    Ok(made)
}

/// The files of a Workspace, as they were just made, and its `.git`.
pub(super) struct Written<'a> {
    /// Every path.
    pub(super) tracked: &'a [Tracked],
    /// What the system says of each.
    pub(super) made: &'a [Made],
    /// What they are made from.
    pub(super) base: &'a Base,
    /// How objects are named.
    pub(super) hash: gix::hash::Kind,
}

/// Writes the index, and what is kept outside of the Workspace.
pub(super) fn write_around(destination: &Destination, written: &Written<'_>) -> Result<(), WorkspaceError> {
    let Written { tracked, made, base, hash } = *written;
    git_dir::write_index(&destination.root.join(".git"), hash, tracked, made)?;
    write_stat_cache(&destination.stat_cache, tracked, made)
        .map_err(|e| failure("write the workspace's stat cache", e))?;
    // The base comes last: where it is, the Workspace is whole.
    base.write(&destination.base).map_err(|e| failure("write what the workspace was made from", e))
}

/// Makes the empty root, and what is around it.
pub(super) fn make_directories(layout: &Layout) -> io::Result<()> {
    let parent = layout.container().parent().unwrap_or(Path::new("/"));
    DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    DirBuilder::new().mode(0o700).create(layout.container())?;
    DirBuilder::new().mode(0o755).create(layout.root())
}

/// Writes the files and the `.git`, side by side where there is enough to do.
fn fill(
    root: &Path,
    pinned: &Pinned,
    materialiser: &Materialiser,
    branch: Option<&[u8]>,
) -> Result<(Vec<Made>, String), WorkspaceError> {
    let repository = pinned.repositories[0].clone();
    let mtime_s = modification_time(pinned.committed_at_s);
    let contents = Contents::of(pinned, branch);
    let git = move || git_dir::create(&root.join(".git"), &repository, contents);
    let files = || checkout(root, &pinned.tracked, materialiser, mtime_s);
    if pinned.objects.len() <= OBJECTS_OF_ONE_THREAD {
        // Files first: what is a tick of the clock older than the stat cache need not be read again by capture.
        let made = files()?;
        return Ok((made, git()?));
    }
    std::thread::scope(|scope| {
        let git = scope.spawn(git);
        let made = files();
        let pack = git.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok((made?, pack?))
    })
}

/// The time of the commit, but not after two seconds ago: Git takes a file for changed, and reads it again, if it is not
/// older than the index (see "racy git" in Git's documentation), and it compares whole seconds.
pub(crate) fn modification_time(committed_at_s: i64) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    committed_at_s.clamp(1, i64::try_from(now).unwrap_or(i64::MAX).saturating_sub(2).max(1))
}

fn write_stat_cache(host_path: &Path, tracked: &[Tracked], made: &[Made]) -> io::Result<()> {
    let mut writer = StatCacheWriter::create(host_path)?;
    let created = writer.created_at_ns()?;
    for (tracked, made) in tracked.iter().zip(made) {
        writer.add(&entry(tracked, made, created))?;
    }
    writer.finish()
}

/// A path as a stat cache has it that was created at `created_at_ns`: one whose ctime is not before that could be
/// changed in the same tick of the clock.
pub(crate) fn entry(tracked: &Tracked, made: &Made, created_at_ns: i64) -> StatCacheEntry {
    let freshness = if made.stat.ctime_ns < created_at_ns { Freshness::Proven } else { Freshness::Racy };
    let Tracked { path, mode, oid, .. } = tracked.clone();
    StatCacheEntry { path, mode, oid, stat: made.stat, freshness }
}

/// What to tell the user: `filters` are the filter drivers that were not run, with how many paths name each.
pub(super) fn notices(
    repository: &gix::Repository,
    missing: &[MissingSubmodule],
    filters: &[(Vec<u8>, u64)],
) -> Vec<String> {
    let missing = missing.iter().map(|missing| missing_submodule(&missing.path));
    filters_not_run(filters).chain(missing).chain(sparse(repository)).collect()
}

fn filters_not_run(filters: &[(Vec<u8>, u64)]) -> impl Iterator<Item = String> {
    filters.iter().map(|(filter, paths)| {
        let filter = Escaped(filter).to_string();
        format!("filter `{filter}` was not run: files with it ({paths}) are in the workspace as Git stores them")
    })
}

fn missing_submodule(path: &RepoPath) -> String {
    format!("submodule `{path}` is an empty directory in the workspace: its commit is not in the repository")
}

fn sparse(repository: &gix::Repository) -> Option<String> {
    let is_sparse = repository.config_snapshot().boolean("core.sparseCheckout").unwrap_or(false);
    is_sparse.then(|| "the repository is checked out sparsely; the workspace has every file of the commit".into())
}
