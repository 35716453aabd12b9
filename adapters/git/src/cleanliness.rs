//! Whether a working tree is as its HEAD says.

use crate::repository::failure;
use crate::{discovery, sparse_index};
use gix::bstr::{BStr, ByteSlice};
use gix::dir::EntryRef;
use gix::dir::entry::Status;
use gix::dir::walk::{Delegate, EmissionMode};
use gix::index::{Entry, State};
use gix::status::plumbing::index_as_worktree;
use gix::status::plumbing::index_as_worktree::traits::{FastEq, SubmoduleStatus};
use gix::status::plumbing::index_as_worktree::{Context, EntryStatus, Options, VisitEntry};
use gix::status::tree_index::TrackRenames;
use gix::worktree::stack::state::attributes::Source;
use isobox_domain::source::{Cleanliness, DirtyEntry, DirtyState};
use isobox_ports::RepositoryError;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::AtomicBool;

/// A look at everything.
const NO_PATTERNS: [&BStr; 0] = [];
/// Nobody interrupts a look.
static NEVER: AtomicBool = AtomicBool::new(false);

/// Compares HEAD with the index, and the index with the working tree, as `git status` does; writes nothing.
///
/// An untracked directory counts as one entry. A submodule is dirty if it stands at another commit than the index says,
/// or is dirty itself; one that is not checked out is clean.
pub(crate) fn cleanliness(repository: &gix::Repository) -> Result<Cleanliness, RepositoryError> {
    let dirt = look(repository, Depth::Summary).map_err(|e| failure("compare the working tree with HEAD", e))?;
    if dirt.count == 0 {
        return Ok(Cleanliness::Clean);
    }
    let first = dirt.first.into_iter().map(|((path, _), state)| DirtyEntry { path, state }).collect();
    Ok(Cleanliness::Dirty { first, count: dirt.count })
}

/// A path that is not as HEAD says.
pub(crate) struct Uncommitted {
    /// From the root of the repository.
    pub(crate) path: Vec<u8>,
    /// Whether the index does not know it.
    pub(crate) is_untracked: bool,
    /// Whether it is in conflict.
    pub(crate) is_unmerged: bool,
}

/// The paths that are not as HEAD says, each once, in ascending order of their bytes; of more than `most`, one more than
/// that. Every untracked file is one, whether `git status` shows those or not, and so is a repository in the working tree.
pub(crate) fn uncommitted(repository: &gix::Repository, most: usize) -> Result<Vec<Uncommitted>, RepositoryError> {
    // One path can be there in each state.
    let depth = Depth::Paths { most: (most + 1) * 4 };
    let dirt = look(repository, depth).map_err(|e| failure("compare the working tree with HEAD", e))?;
    let mut found: Vec<Uncommitted> = Vec::new();
    for ((path, _), state) in dirt.first {
        let path = path.strip_suffix(b"/").map_or_else(|| path.clone(), <[u8]>::to_vec);
        if found.last().is_none_or(|last| last.path != path) {
            found.push(Uncommitted { path, is_untracked: false, is_unmerged: false });
        }
        if let Some(last) = found.last_mut() {
            last.is_untracked |= state == DirtyState::Untracked;
            last.is_unmerged |= state == DirtyState::Unmerged;
        }
    }
    // A directory's own slash has another place in the order than its name.
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found.truncate(most + 1);
    Ok(found)
}

/// How much is told.
#[derive(Clone, Copy)]
enum Depth {
    /// The first entries; an untracked directory is one.
    Summary,
    /// All paths, up to a number.
    Paths { most: usize },
}

impl Depth {
    const fn most(self) -> usize {
        match self {
            Self::Summary => Cleanliness::SHOWN,
            Self::Paths { most } => most,
        }
    }

    const fn emission(self) -> EmissionMode {
        match self {
            Self::Summary => EmissionMode::CollapseDirectory,
            Self::Paths { .. } => EmissionMode::Matching,
        }
    }
}

/// What was found so far; memory does not grow with its number, but with what was asked for.
struct Dirt {
    first: BTreeMap<(Vec<u8>, u8), DirtyState>,
    count: u64,
    most: usize,
}

impl Dirt {
    fn new(depth: Depth) -> Self {
        Self { first: BTreeMap::new(), count: 0, most: depth.most() }
    }

    fn add(&mut self, path: &[u8], state: DirtyState) {
        self.count += 1;
        self.first.insert((path.to_vec(), state as u8), state);
        if self.first.len() > self.most {
            self.first.pop_last();
        }
    }

    fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.first.extend(other.first);
        while self.first.len() > self.most {
            self.first.pop_last();
        }
    }
}

/// Up to this many index entries one thread is faster than starting a second.
const ENTRIES_OF_ONE_THREAD: usize = 2000;

fn look(repository: &gix::Repository, depth: Depth) -> gix::Result<Dirt> {
    let mut index = read_index(repository)?;
    if index.is_sparse() {
        index = sparse_index::expand(repository, &index)?;
    }
    let mut dirt = if index.entries().len() <= ENTRIES_OF_ONE_THREAD {
        let mut dirt = changed(repository, &index, Some(1), depth)?;
        dirt.merge(untracked(repository, &index, depth)?);
        dirt
    } else {
        side_by_side(repository, &index, depth)?
    };
    dirt.merge(staged(repository, &index, depth)?);
    look_at_submodules(repository, &index, &mut dirt)?;
    Ok(dirt)
}

/// The index of the source, empty where there is none. gix would keep the one that it shares for as long as the Task takes,
/// which is megabytes for 50,000 files.
fn read_index(repository: &gix::Repository) -> gix::Result<gix::index::File> {
    let path = repository.index_path();
    if path.try_exists().map_err(gix::Error::from_error)? {
        return repository.open_index();
    }
    Ok(gix::index::File::from_state(State::new(repository.object_hash()), path))
}

fn side_by_side(repository: &gix::Repository, index: &State, depth: Depth) -> gix::Result<Dirt> {
    let shared = repository.clone().into_sync();
    std::thread::scope(|scope| {
        let untracked = scope.spawn(move || untracked(&shared.to_thread_local(), index, depth));
        let mut dirt = changed(repository, index, None, depth)?;
        dirt.merge(untracked.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        Ok(dirt)
    })
}

/// Whether Git noted that the index is that tree: it takes the note away with the first entry that changes. To compare 50,000
/// entries one by one takes a fifth of a `git status`, which believes the note, too.
fn stands_for(index: &State, tree: &gix::oid) -> bool {
    let noted = index.tree().filter(|noted| *noted.id == *tree);
    let entries = noted.and_then(|noted| usize::try_from(noted.num_entries?).ok());
    entries == Some(index.entries().len())
}

/// HEAD against the index.
fn staged(repository: &gix::Repository, index: &State, depth: Depth) -> gix::Result<Dirt> {
    let mut dirt = Dirt::new(depth);
    let tree = repository.head_tree_id_or_empty()?;
    if stands_for(index, &tree) {
        return Ok(dirt);
    }
    repository.tree_index_status(&tree, index, None, TrackRenames::Disabled, |change, _, _| {
        dirt.add(change.location(), DirtyState::Staged);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(dirt)
}

/// The index against the files of the working tree.
fn changed(
    repository: &gix::Repository,
    index: &State,
    thread_limit: Option<usize>,
    depth: Depth,
) -> gix::Result<Dirt> {
    let Some(root) = repository.workdir() else { return Ok(Dirt::new(depth)) };
    let source = Source::WorktreeThenIdMapping;
    let context = Context {
        pathspec: repository.pathspec(false, NO_PATTERNS, true, index, source)?.into_parts().0,
        stack: repository.attributes_only(index, source)?.detach(),
        filter: gix::filter::plumbing::Pipeline::new(
            repository.command_context()?,
            repository.object_hash(),
            gix::filter::Pipeline::options(repository)?,
        ),
        should_interrupt: &NEVER,
    };
    let options = Options {
        fs: repository.filesystem_options()?,
        stat: repository.stat_options()?,
        thread_limit,
        fscache: false,
    };
    let mut dirt = Dirt::new(depth);
    index_as_worktree(
        index,
        root,
        &mut dirt,
        FastEq,
        NoSubmodules,
        repository.objects.clone().into_arc().map_err(gix::Error::from_error)?,
        &mut gix::progress::Discard,
        context,
        options,
    )?;
    Ok(dirt)
}

/// What the index does not know. A summary, which is what `git status` says, has none of it where the configuration says
/// that nobody cares to see it; that it is there is true all the same.
fn untracked(repository: &gix::Repository, index: &State, depth: Depth) -> gix::Result<Dirt> {
    let mut dirt = Dirt::new(depth);
    let is_hidden = || repository.config_snapshot().boolean("status.showUntrackedFiles") == Some(false);
    if matches!(depth, Depth::Summary) && is_hidden() {
        return Ok(dirt);
    }
    let options = repository.dirwalk_options()?.emit_untracked(depth.emission());
    repository.dirwalk(index, NO_PATTERNS, &NEVER, options, &mut dirt)?;
    Ok(dirt)
}

/// Looks at no submodule: gix opens them with their own configuration, filter drivers included. See `look_at_submodules`.
#[derive(Clone)]
struct NoSubmodules;

impl SubmoduleStatus for NoSubmodules {
    type Output = ();

    fn status(&mut self, _: &Entry, _: &BStr) -> gix::Result<Option<()>> {
        Ok(None)
    }
}

impl<'index> VisitEntry<'index> for Dirt {
    type ContentChange = ();
    type SubmoduleStatus = ();

    fn visit_entry(
        &mut self,
        _: &'index [Entry],
        _: &'index Entry,
        _: usize,
        path: &'index BStr,
        status: EntryStatus<(), ()>,
    ) {
        match status {
            EntryStatus::Conflict { .. } => self.add(path, DirtyState::Unmerged),
            EntryStatus::Change(_) | EntryStatus::IntentToAdd => self.add(path, DirtyState::Unstaged),
            EntryStatus::NeedsUpdate(_) => {}
        }
    }
}

impl Delegate for Dirt {
    fn emit(&mut self, entry: EntryRef<'_>, _: Option<Status>) -> ControlFlow<()> {
        if entry.status == Status::Untracked {
            self.add(&entry.rela_path, DirtyState::Untracked);
        }
        ControlFlow::Continue(())
    }
}

fn look_at_submodules(repository: &gix::Repository, index: &State, dirt: &mut Dirt) -> gix::Result<()> {
    let Some(root) = repository.workdir() else { return Ok(()) };
    for entry in index.entries().iter().filter(|entry| entry.mode.is_submodule()) {
        let path = entry.path(index);
        let dot_git = root.join(OsStr::from_bytes(path)).join(".git");
        if dot_git.symlink_metadata().is_ok() && !is_submodule_clean(&dot_git, entry.id) {
            dirt.add(path.as_bytes(), DirtyState::Unstaged);
        }
    }
    Ok(())
}

/// What cannot be looked at is not known to be clean.
fn is_submodule_clean(dot_git: &std::path::Path, commit: gix::ObjectId) -> bool {
    let Ok(submodule) = discovery::open_owned(dot_git) else { return false };
    let is_at_commit = submodule.head_id().is_ok_and(|head| head == commit);
    is_at_commit && look(&submodule, Depth::Summary).is_ok_and(|dirt| dirt.count == 0)
}
