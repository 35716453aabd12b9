//! Capture: reading what changed in a Workspace, trusting nothing that the workload could write.
//!
//! The final tree is compared with the pinned commit as isobox materialised it: first by what the file system says and
//! no program can set back, then byte for byte. Nothing of the Workspace's `.git` is looked at for that, so what was
//! committed, staged, hidden or broken there makes no difference. Everything is read, nothing is written or executed.

mod base_content;
mod base_cursor;
mod base_side;
mod content;
pub(crate) mod copies;
mod descent;
mod found;
mod ignore;
mod listing;
mod lower_git;
pub(crate) mod marks;
mod old;
mod own_git;
mod renames;
pub(crate) mod snapshot;
mod tar;
pub(crate) mod tree;
mod walk;

use crate::GixRepository;
use crate::patch::{self, Side};
use crate::stat_cache::StatCacheEntry;
use crate::workspace::base::Base;
use crate::workspace::failure;
use base_content::BaseContent;
use content::{Content, Tap};
use found::{Entry, Found};
use gix::hash::Kind;
use isobox_domain::change::{After, Change, ChangeLine, NotCaptured, NotCapturedReason};
use isobox_domain::escape::Escaped;
use isobox_domain::git_oid::GitOid;
use isobox_domain::repo_path::RepoPath;
use isobox_ports::{CaptureSink, Cause, StoreError, StoreErrorKind, WorkspaceError, WorkspaceMount};
use old::Old;
use renames::{Candidates, Renames};
use std::io;
use std::path::{Path, PathBuf};
use tree::Tree;
use walk::Walk;

/// What isobox keeps of how a Workspace was made, where no workload writes.
#[derive(Clone, Copy)]
pub(crate) struct MadeFrom<'a> {
    /// See `base.rs`.
    pub(crate) base: &'a Path,
    /// See `stat_cache.rs`.
    pub(crate) stat_cache: &'a Path,
    /// See `snapshot/kept.rs`; often not there. No overlay has one.
    pub(crate) snapshot: Option<&'a Path>,
    /// What it lies on, or lay on before it was made a plain directory: pristine copies, the uppermost first.
    pub(crate) lowers: &'a [PathBuf],
}

/// Reads what changed in the Workspace made from `made_from`, mounted as `mounted`, into `sink`. Every process that could
/// write to it is dead.
pub(crate) fn capture(
    made_from: &MadeFrom<'_>,
    repository: &GixRepository,
    mounted: &WorkspaceMount,
    sink: &mut dyn CaptureSink,
) -> Result<(), WorkspaceError> {
    let host_path = mounted.host_path();
    let shown = Escaped::path(host_path);
    let base = Base::load(made_from.base)
        .map_err(|error| failure(&format!("read what the workspace at {shown} was made from"), error))?;
    let hash = match base.layers.first().map(|layer| layer.commit) {
        Some(GitOid::Sha256(_)) => Kind::Sha256,
        _ => Kind::Sha1,
    };
    let tree = Tree::open(mounted).map_err(|error| failure(&format!("read the workspace at {shown}"), error))?;
    let place = Place { host_path, tree, stat_cache: made_from.stat_cache, packs: &base.packs, hash };
    let content = BaseContent::new(&base, repository, made_from.snapshot).over(made_from.lowers);
    capture_place(&place, content, sink)
}

/// Where a Workspace lies, and what it was made from.
struct Place<'a> {
    /// Its root.
    host_path: &'a Path,
    /// What walks go through.
    tree: Tree,
    /// The stat cache of its checkout.
    stat_cache: &'a Path,
    /// The packs that were put into its `.git`.
    packs: &'a [String],
    /// How its repository names objects.
    hash: Kind,
}

fn capture_place(
    place: &Place<'_>,
    mut content: BaseContent<'_>,
    sink: &mut dyn CaptureSink,
) -> Result<(), WorkspaceError> {
    let survey = survey(place, &mut content)?;
    let renames = survey.candidates.match_up(&mut content);
    let mut capture = Capture { place, content, sink, renames, holes_left: content::MAX_HOLE_BYTES };
    if survey.is_clean {
        return capture.own_git();
    }
    let mut walk = start(place, &mut capture.content)?;
    while let Some(found) = walk.next(&mut capture.content).map_err(|error| walk_failure(place, error))? {
        capture.found(found)?;
    }
    Ok(())
}

/// What a first walk tells.
struct Survey {
    candidates: Candidates,
    /// Whether nothing differs from the commit.
    is_clean: bool,
}

/// Walks once to know what is deleted before the first added path is told.
fn survey(place: &Place<'_>, content: &mut BaseContent<'_>) -> Result<Survey, WorkspaceError> {
    let mut survey = Survey { candidates: Candidates::default(), is_clean: true };
    let mut walk = start(place, content)?;
    while let Some(found) = walk.next(content).map_err(|error| walk_failure(place, error))? {
        survey.is_clean &= matches!(found, Found::GitDirectory);
        match found {
            Found::Deleted(entry, _) => survey.candidates.note_deleted(entry),
            Found::Entry(Entry { base: None, seen, .. }) => survey.candidates.note_added(seen.stat.size),
            _ => {}
        }
    }
    Ok(survey)
}

fn start(place: &Place<'_>, content: &mut BaseContent<'_>) -> Result<Walk, WorkspaceError> {
    Walk::new(&place.tree, place.stat_cache, content).map_err(|error| walk_failure(place, error))
}

fn walk_failure(place: &Place<'_>, error: io::Error) -> WorkspaceError {
    let operation = format!("read the workspace at {}", Escaped::path(place.host_path));
    failure(&operation, error)
}

struct Capture<'a> {
    place: &'a Place<'a>,
    content: BaseContent<'a>,
    sink: &'a mut dyn CaptureSink,
    renames: Renames,
    holes_left: u64,
}

impl Capture<'_> {
    fn found(&mut self, found: Found) -> Result<(), WorkspaceError> {
        match found {
            Found::GitDirectory => self.own_git(),
            Found::Deleted(entry, submodule) => self.deleted(entry, submodule),
            Found::Entry(entry) => self.entry(entry),
            Found::Left(path, reason) => self.leave(path, reason),
            Found::Ignored(path, rule) => {
                let reason = rule.reason(&mut self.content);
                self.leave(path, reason)
            }
        }
    }

    fn leave(&mut self, workspace_path: Vec<u8>, reason: NotCapturedReason) -> Result<(), WorkspaceError> {
        self.line(ChangeLine::NotCaptured(NotCaptured { workspace_path, reason }))
    }

    fn line(&mut self, line: ChangeLine) -> Result<(), WorkspaceError> {
        self.sink.line(line).map_err(|cause| sink_failure("store a line of the change set", cause))
    }

    fn own_git(&mut self) -> Result<(), WorkspaceError> {
        let left = own_git::archive(&self.place.tree, self.place.packs, self.sink.workspace_git())
            .map_err(|error| sink_failure("store the workspace's own git objects", error.into()))?;
        left.map_or(Ok(()), |reason| self.leave(b".git".to_vec(), reason))
    }

    fn deleted(&mut self, entry: StatCacheEntry, submodule: Option<RepoPath>) -> Result<(), WorkspaceError> {
        let path = entry.path.clone();
        let mut old = Old::read(entry, &mut self.content);
        self.render(&path, Some(&mut old), None)?;
        let before = Some(old.before());
        self.line(ChangeLine::Change(Change { path, before, after: None, renamed_from: None, submodule }))
    }

    fn entry(&mut self, entry: Entry) -> Result<(), WorkspaceError> {
        let shown = entry.path.as_bytes().to_vec();
        match self.changed(entry)? {
            Ok(()) => Ok(()),
            Err(reason) => self.leave(shown, reason),
        }
    }

    /// Captures a file or link if it differs from the commit. The inner error is the reason why it cannot be captured.
    fn changed(&mut self, entry: Entry) -> Result<Result<(), NotCapturedReason>, WorkspaceError> {
        let mut content = match Content::open(&entry, &mut self.holes_left) {
            Ok(content) => content,
            Err(reason) => return Ok(Err(reason)),
        };
        let Entry { path, base, submodule, .. } = entry;
        let mut old = base.map(|base| Old::read(base, &mut self.content));
        match old.as_mut().map_or(Ok(false), |old| old.is_equal_to(&mut content)) {
            Ok(false) => {}
            Ok(true) if content.is_as_seen() => return Ok(Ok(())),
            Ok(true) => return Ok(Err(content::moved())),
            Err(error) => return Ok(Err(NotCapturedReason::Unreadable(error.to_string()))),
        }
        let after = match stage(self.sink, &path, &mut content)? {
            Ok(after) => after,
            Err(reason) => return Ok(Err(reason)),
        };
        if after.content.length != content.length() || !content.is_as_seen() {
            return Ok(Err(content::moved()));
        }
        self.render(&path, old.as_mut(), Some(&mut content))?;
        let renamed_from = if old.is_none() { self.renames.find(after.mode, after.content) } else { None };
        let (before, after) = (old.map(|mut old| old.before()), Some(after));
        self.line(ChangeLine::Change(Change { path, before, after, renamed_from, submodule })).map(Ok)
    }

    fn render(
        &mut self,
        path: &RepoPath,
        before: Option<&mut Old>,
        after: Option<&mut Content>,
    ) -> Result<(), WorkspaceError> {
        let before = before.map(Old::side);
        let after = after.map(|content| Side { mode: content.mode(), length: content.length(), commit: None, content });
        patch::render(self.sink.patch(), self.place.hash, path, before, after)
            .map_err(|error| sink_failure(&format!("store the patch of {path}"), error.into()))
    }
}

/// Stores content: what a Change Set says of it, or why it could not be read.
fn stage(
    sink: &mut dyn CaptureSink,
    path: &RepoPath,
    content: &mut Content,
) -> Result<Result<After, NotCapturedReason>, WorkspaceError> {
    let mode = content.mode();
    let mut tap = match content.read() {
        Ok(reader) => Tap::new(reader),
        Err(error) => return Ok(Err(NotCapturedReason::Unreadable(error.to_string()))),
    };
    let staged = sink.content(&mut tap);
    if let Some(error) = tap.error {
        return Ok(Err(NotCapturedReason::Unreadable(error)));
    }
    match staged {
        Ok(content) => Ok(Ok(After { mode, content, binary: tap.is_binary })),
        Err(cause) => Err(sink_failure(&format!("store the content of {path}"), cause)),
    }
}

fn sink_failure(operation: &str, cause: Cause) -> WorkspaceError {
    match cause.downcast_ref::<StoreError>() {
        Some(error) if error.kind == StoreErrorKind::Full => WorkspaceError::Full { operation: operation.to_owned() },
        _ => failure(operation, cause),
    }
}
