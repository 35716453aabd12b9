//! The three sides of a merge: what the Task began with, what HEAD has, and what the Task left.

use super::decision::Entry;
use super::texts::{Driver, DriverKind, Whole};
use crate::oid;
use crate::promotion::changed_tree::{ChangedTree, Conversion, OpenBlob, name_of};
use crate::promotion::commit::failure;
use crate::workspace::materialiser::Materialiser;
use crate::workspace::tree;
use gix::attrs::StateRef;
use gix::attrs::search::Outcome;
use gix::bstr::ByteSlice;
use gix::index::entry::{Mode as IndexMode, Stage};
use gix::merge::blob::builtin_driver::text::{Conflict, ConflictStyle};
use gix::worktree::stack::state::attributes::Source;
use isobox_domain::change::{After, Change, ChangeLine, Mode};
use isobox_domain::repo_path::RepoPath;
use isobox_ports::{ApplyError, ObjectStore};
use std::ffi::OsStr;
use std::io::{self, Read};
use std::num::NonZeroU8;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Longest side of a file whose lines are merged, in bytes. All three and their lines are in memory at once.
const LONGEST: u64 = 4 << 20;
const MARKER_SIZE: NonZeroU8 = NonZeroU8::new(Conflict::DEFAULT_MARKER_SIZE).expect("it is not 0");

pub(super) struct Sides<'a> {
    git: &'a gix::Repository,
    head: gix::Tree<'a>,
    index: gix::worktree::IndexPersistedOrInMemory,
    /// The result: the base with every change.
    theirs: Theirs<'a>,
    materialiser: Option<Materialiser>,
    attributes: Option<(gix::AttributeStack<'a>, Outcome)>,
}

struct Theirs<'a> {
    git: &'a gix::Repository,
    base: gix::ObjectId,
    changes: &'a [Change],
    objects: &'a dyn ObjectStore,
    conversion: Option<Conversion<'a>>,
}

/// What HEAD has at a path.
pub(super) enum Ours {
    Nothing,
    Directory,
    Entry(Entry),
}

impl<'a> Sides<'a> {
    /// Opens them. `git` keeps what is written in memory.
    pub(super) fn open(
        git: &'a gix::Repository,
        head: gix::ObjectId,
        base: gix::ObjectId,
        changes: &'a [Change],
        objects: &'a dyn ObjectStore,
    ) -> Result<Self, ApplyError> {
        let reading = "read the tree of HEAD";
        let commit = git.find_commit(head).map_err(|e| failure(reading, e.into()))?;
        let head = commit.tree().map_err(|e| failure(reading, e.into()))?;
        let index = git.index_or_empty().map_err(|e| failure("read the index", e.into()))?;
        let theirs = Theirs { git, base, changes, objects, conversion: None };
        let index = gix::worktree::IndexPersistedOrInMemory::Persisted(index);
        Ok(Self { git, head, index, theirs, materialiser: None, attributes: None })
    }

    /// What HEAD has at `path`.
    pub(super) fn ours(&self, path: &RepoPath) -> io::Result<Ours> {
        let found = self.head.lookup_entry_by_path(host_path(path)).map_err(io::Error::other)?;
        Ok(match found {
            Some(found) => match tree::mode(found.mode().kind()) {
                Some(mode) => Ours::Entry(Entry { mode, id: found.object_id() }),
                None => Ours::Directory,
            },
            None => Ours::Nothing,
        })
    }

    /// Why the index forbids to touch `path`, where it has something else there than HEAD has.
    pub(super) fn staged_otherwise(&self, path: &RepoPath, ours: Option<Entry>) -> Option<&'static str> {
        let range = self.index.entry_range(path.as_bytes().as_bstr()).unwrap_or_default();
        let staged = match &self.index.entries()[range] {
            [] => None,
            [entry] if entry.stage() == Stage::Unconflicted => Some(entry),
            // Whoever merges there has not decided about it: what HEAD has is but one of the sides.
            _ => return Some("an unfinished merge in the repository has it in conflict"),
        };
        let staged = staged.map(|entry| mode_in_index(entry.mode).map(|mode| Entry { mode, id: entry.id }));
        (staged != ours.map(Some)).then_some("it is staged in another form than HEAD has")
    }

    /// The tree of HEAD.
    pub(super) fn head(&self) -> &gix::Tree<'a> {
        &self.head
    }

    /// Git's name of what the Task left at `path`.
    pub(super) fn name_of(&mut self, path: &RepoPath, after: &After) -> io::Result<gix::ObjectId> {
        self.theirs.with_blob(path, after, name_of)
    }

    /// The bytes of all three sides of a file.
    pub(super) fn whole(
        &mut self,
        path: &RepoPath,
        base: Option<Entry>,
        ours: Option<Entry>,
        after: Option<&After>,
    ) -> io::Result<Result<Whole, &'static str>> {
        let too_long = "both changed it, and it is longer than 4 MiB";
        let blob = |entry: Option<Entry>| match entry {
            Some(entry) => blob(self.git, entry.id),
            None => Ok(Some(Vec::new())),
        };
        let (Some(base), Some(ours)) = (blob(base)?, blob(ours)?) else { return Ok(Err(too_long)) };
        let Some(after) = after.filter(|after| after.content.length <= LONGEST) else { return Ok(Err(too_long)) };
        let theirs = self.theirs.with_blob(path, after, |_, open| {
            let mut bytes = Vec::new();
            open()?.0.read_to_end(&mut bytes)?;
            Ok(bytes)
        })?;
        Ok(Ok(Whole { base, ours, theirs }))
    }

    /// Whether a file of HEAD is too long to be held in memory.
    pub(super) fn is_too_long(&self, entry: Entry) -> io::Result<bool> {
        is_too_long(self.git, entry.id)
    }

    /// How the file is to be merged.
    pub(super) fn driver(&mut self, path: &RepoPath) -> io::Result<Driver> {
        let drivers = self.git.config_snapshot();
        let style = drivers.string("merge.conflictStyle");
        let mut driver = Driver {
            // What no attribute is about. See gitattributes(5).
            kind: drivers.string("merge.default").map_or(DriverKind::Text, |name| kind_of(name.as_bstr(), &drivers)),
            style: match style.as_deref().map(|style| style.as_bytes()) {
                Some(b"diff3") => ConflictStyle::Diff3,
                Some(b"zdiff3") => ConflictStyle::ZealousDiff3,
                _ => ConflictStyle::Merge,
            },
            marker_size: MARKER_SIZE,
        };
        let (stack, found) = self.attributes()?;
        stack.at_entry(path.as_bytes().as_bstr(), None).map_err(io::Error::other)?.matching_attributes(found);
        for attribute in found.iter_selected().map(|found| found.assignment) {
            match (attribute.name.as_str(), attribute.state) {
                ("conflict-marker-size", StateRef::Value(size)) => {
                    let size = size.as_bstr().to_str().ok().and_then(|size| size.parse().ok());
                    driver.marker_size = size.unwrap_or(MARKER_SIZE);
                }
                ("merge", StateRef::Set) => driver.kind = DriverKind::Text,
                ("merge", StateRef::Unset) => driver.kind = DriverKind::Binary,
                ("merge", StateRef::Value(name)) => driver.kind = kind_of(name.as_bstr(), &drivers),
                _ => {}
            }
        }
        Ok(driver)
    }

    fn attributes(&mut self) -> io::Result<&mut (gix::AttributeStack<'a>, Outcome)> {
        Ok(match &mut self.attributes {
            Some(attributes) => attributes,
            none => {
                let index = self.git.index_from_tree(&self.head.id).map_err(io::Error::other)?;
                let stack = self.git.attributes_only(&index, Source::IdMapping).map_err(io::Error::other)?;
                let found = stack.selected_attribute_matches(["merge", "conflict-marker-size"]);
                none.insert((stack, found))
            }
        })
    }

    /// The bytes of a file of HEAD as isobox checks it out.
    pub(super) fn checked_out(&mut self, path: &RepoPath, entry: Entry) -> io::Result<Vec<u8>> {
        let oid = oid::from_gix(&entry.id);
        self.materialiser()?.materialise(path, entry.mode, &oid).map_err(io::Error::other)
    }

    /// The bytes of a blob that is nowhere yet, as isobox checks it out where HEAD is checked out.
    pub(super) fn convert(&mut self, path: &RepoPath, mode: Mode, blob: Vec<u8>) -> io::Result<Vec<u8>> {
        let id = gix::objs::compute_hash(self.git.object_hash(), gix::objs::Kind::Blob, &blob);
        let oid = oid::from_gix(&id.map_err(io::Error::other)?);
        self.materialiser()?.convert(path, mode, &oid, blob).map_err(io::Error::other)
    }

    fn materialiser(&mut self) -> io::Result<&mut Materialiser> {
        Ok(match &mut self.materialiser {
            Some(materialiser) => materialiser,
            none => none.insert(Materialiser::of_tree(self.git, &self.head.id).map_err(io::Error::other)?),
        })
    }
}

impl Theirs<'_> {
    fn with_blob<T>(
        &mut self,
        path: &RepoPath,
        after: &After,
        then: impl FnOnce(&gix::Repository, &mut OpenBlob<'_, '_>) -> io::Result<T>,
    ) -> io::Result<T> {
        let conversion = match &mut self.conversion {
            Some(conversion) => conversion,
            none => {
                let changes = self.changes.iter().filter(|change| !change.concerns_submodule());
                let lines = changes.cloned().map(|change| Ok(ChangeLine::Change(change)));
                let mut tree = ChangedTree::of(self.git, self.base).map_err(io::Error::other)?;
                let left = tree.change(Box::new(lines)).map_err(io::Error::other)?;
                tree.put_attributes(left, self.objects).map_err(io::Error::other)?;
                none.insert(tree.conversion()?)
            }
        };
        conversion.with_blob(path, after, self.objects, |open| then(self.git, open))
    }
}

/// The bytes of a blob; `None` if there are too many.
fn blob(git: &gix::Repository, id: gix::ObjectId) -> io::Result<Option<Vec<u8>>> {
    if is_too_long(git, id)? {
        return Ok(None);
    }
    Ok(Some(git.find_blob(id).map_err(io::Error::other)?.detach().data))
}

fn is_too_long(git: &gix::Repository, id: gix::ObjectId) -> io::Result<bool> {
    Ok(git.find_header(id).map_err(io::Error::other)?.size() > LONGEST)
}

fn kind_of(name: &gix::bstr::BStr, drivers: &gix::config::Snapshot<'_>) -> DriverKind {
    match name.as_bytes() {
        _ if drivers.string(format!("merge.{name}.driver").as_str()).is_some() => DriverKind::Program,
        b"union" => DriverKind::Union,
        b"binary" => DriverKind::Binary,
        _ => DriverKind::Text,
    }
}

fn mode_in_index(mode: IndexMode) -> Option<Mode> {
    mode.to_tree_entry_mode().and_then(|mode| tree::mode(mode.kind()))
}

fn host_path(path: &RepoPath) -> &Path {
    Path::new(OsStr::from_bytes(path.as_bytes()))
}
