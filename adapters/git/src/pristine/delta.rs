//! Making a pristine copy from that of another commit: a layer with what differs, which lies on the other's layers.
//!
//! A name that is gone is hidden by a whiteout, a character device 0:0, which ordinary users may make since Linux
//! 5.8. No directory is marked opaque: where a file became a directory, or the other way round, the kernel merges
//! nothing anyway.
//!
//! The `.git` of the layer is complete but for the objects of the layers below, whose packs show through.

use super::build;
use super::difference::{Apart, Difference, difference};
use super::held::Held;
use super::merged;
use super::seal::{Seal, Sealed};
use super::wanted::Wanted;
use crate::workspace::base::Base;
use crate::workspace::checkout::{Directories, Made, checkout};
use crate::workspace::creation::modification_time;
use crate::workspace::failure;
use crate::workspace::git_dir::{self, Contents};
use crate::workspace::layout::Destination;
use crate::workspace::materialiser::Materialiser;
use crate::workspace::pinned::Tracked;
use crate::{GixRepository, beneath, layers, oid};
use gix::ObjectId;
use gix::objs::tree::EntryKind;
use isobox_domain::change::Mode;
use isobox_domain::repo_path::RepoPath;
use isobox_ports::WorkspaceError;
use nix::sys::stat::{Mode as Permissions, SFlag, mknodat};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

/// Up to this many paths may differ, or up to half of all.
const FEW_PATHS: u64 = 1_000;

/// Makes the copy that is `wanted` of `repository` on `lower`, in the directory `making`, which is not there yet, and
/// seals it with `id`. `false` if the commits have too little in common; what is left in `making` is worth nothing
/// then.
pub(super) fn upon(
    lower: &Held,
    making: &Path,
    id: &str,
    wanted: &Wanted,
    repository: &GixRepository,
) -> Result<bool, WorkspaceError> {
    let gix = repository.gix();
    let limit = FEW_PATHS.max(lower.seal.paths / 2);
    let commits = [&lower.seal.commit, &wanted.commit].map(oid::to_gix);
    let difference = match difference(&gix, commits, usize::try_from(limit).unwrap_or(usize::MAX)) {
        Ok(difference) => difference,
        Err(Apart::Unlike) => return Ok(false),
        Err(Apart::Unreadable(error)) => return Err(failure("compare the commit with one before it", error)),
    };
    let destination = build::destination(making)?;
    let layer = Layer { lower, destination: &destination, wanted, gix: &gix, difference: &difference };
    let mut base = Base::load(&lower.base()).map_err(|e| failure("read what a pristine copy was made from", e))?;
    base.packs.push(layer.write_git()?);
    let Some(first) = base.layers.first_mut() else { return Ok(false) };
    first.commit = wanted.commit;
    let mut materialiser = layer.materialiser(&base)?;
    let (tracked, made) = layer.write_files(&materialiser)?;
    let paths = merged::write(&layer.merge(&tracked, &made, &base))?;
    base.write(&destination.base).map_err(|e| failure("write what the pristine copy was made from", e))?;
    let below = std::iter::once((name(&lower.place), lower.seal.id.clone())).chain(lower.seal.below.iter().cloned());
    let sealed = Sealed {
        bytes: build::bytes_on_disk(making, &made),
        paths,
        below: below.collect(),
        filters: layer.filters(&mut materialiser)?,
        missing: lower.seal.missing.clone(),
        samples: build::samples(&tracked, &made),
    };
    let seal = Seal::of(id, repository.common_dir(), wanted, sealed);
    seal.close(making).map_err(|e| failure("seal the pristine copy", e))?;
    Ok(true)
}

struct Layer<'a> {
    lower: &'a Held,
    destination: &'a Destination,
    wanted: &'a Wanted,
    gix: &'a gix::Repository,
    difference: &'a Difference,
}

impl Layer<'_> {
    /// Of the outermost repository alone: no submodule differs.
    fn materialiser(&self, base: &Base) -> Result<Materialiser, WorkspaceError> {
        let outermost = Base { packs: vec![], layers: base.layers[..1].to_vec() };
        Ok(Materialiser::new(&outermost, vec![self.gix.clone()])?.verifying())
    }

    /// Writes what changed, and whiteouts.
    fn write_files(&self, materialiser: &Materialiser) -> Result<(Vec<Tracked>, Vec<Made>), WorkspaceError> {
        let changed = self.difference.changed.iter().map(|(path, (kind, oid))| Tracked {
            path: path.clone(),
            mode: mode(*kind),
            oid: oid::from_gix(oid),
            layer: 0,
        });
        let changed: Vec<_> = changed.collect();
        let committed = self.gix.find_commit(oid::to_gix(&self.wanted.commit));
        let committed_at = committed.and_then(|commit| Ok(commit.time()?.seconds)).unwrap_or(0);
        let root = &self.destination.root;
        let made = checkout(root, &changed, materialiser, modification_time(committed_at))?;
        hide(root, &self.difference.hidden).map_err(|e| failure("hide what is gone from the commit before", e))?;
        Ok((changed, made))
    }

    /// Writes the `.git`: the name of its pack.
    fn write_git(&self) -> Result<String, WorkspaceError> {
        let commit = oid::to_gix(&self.wanted.commit);
        let decoded = self.gix.find_commit(commit).map_err(|e| failure("read the pinned commit", e))?;
        let has_parents = decoded.parent_ids().next().is_some();
        // The commit itself is there even if nothing else is: a pack is never empty.
        let mut objects: Vec<ObjectId> = self.difference.objects.iter().copied().collect();
        objects.push(commit);
        objects.sort_unstable();
        objects.dedup();
        let branch = self.wanted.branch.as_deref();
        let contents = Contents { commit: &self.wanted.commit, has_parents, branch, objects: &objects };
        let git_dir = self.destination.root.join(".git");
        let pack = git_dir::create(&git_dir, self.gix, contents)?;
        self.cut_history(&git_dir).map_err(|e| failure("write the workspace's .git", e))?;
        Ok(pack)
    }

    /// Commits of the layers below can be reached by name: their history is cut off as well, or Git misses their
    /// parents.
    fn cut_history(&self, git_dir: &Path) -> io::Result<()> {
        for name in ["shallow", "packed-refs"] {
            let path = [b".git/", name.as_bytes()].concat();
            let below = layers::find(&self.lower.lowers(), &path)?;
            let below = below.map(|(root, _)| read(&root, &path)).transpose()?;
            let here = git_dir.join(name);
            match below {
                Some(lines) if name == "shallow" => {
                    let own = format!("{}\n", self.wanted.commit).into_bytes();
                    let mut file = std::fs::File::options().append(true).create(true).open(&here)?;
                    let others = lines.split_inclusive(|&byte| byte == b'\n').filter(|line| **line != *own);
                    file.write_all(&others.collect::<Vec<_>>().concat())?;
                }
                Some(_) if !here.exists() => whiteout(std::fs::File::open(git_dir)?, name.as_bytes())?,
                _ => {}
            }
        }
        Ok(())
    }

    fn merge<'a>(&'a self, tracked: &'a [Tracked], made: &'a [Made], base: &'a Base) -> merged::Merge<'a> {
        let submodules = base.layers.iter().filter_map(|layer| layer.prefix.as_ref()).collect();
        let Self { lower, destination, difference, .. } = self;
        merged::Merge { lower, gone: &difference.gone, tracked, made, submodules, destination }
    }

    /// How many paths name which filter driver, after what differs.
    fn filters(&self, materialiser: &mut Materialiser) -> Result<Vec<(Vec<u8>, u64)>, WorkspaceError> {
        let mut filters: BTreeMap<Vec<u8>, u64> = self.lower.seal.filters.iter().cloned().collect();
        for (filter, paths) in materialiser.filters_not_run() {
            *filters.entry(filter).or_default() += paths;
        }
        for path in &self.difference.before {
            let filter =
                materialiser.filter_of(path).map_err(|e| failure("look at the attributes of the commit", e))?;
            if let Some(paths) = filter.and_then(|filter| filters.get_mut(&filter)) {
                *paths = paths.saturating_sub(1);
            }
        }
        Ok(filters.into_iter().filter(|(_, paths)| *paths > 0).collect())
    }
}

fn mode(kind: EntryKind) -> Mode {
    match kind {
        EntryKind::BlobExecutable => Mode::Executable,
        EntryKind::Link => Mode::Symlink,
        _ => Mode::File,
    }
}

fn name(place: &Path) -> String {
    place.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn read(root: &OwnedFd, path: &[u8]) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    beneath::open_file(root, path)?.read_to_end(&mut content)?;
    Ok(content)
}

fn hide(root: &Path, hidden: &[RepoPath]) -> io::Result<()> {
    let mut directories = Directories::below(root)?;
    hidden.iter().try_for_each(|path| whiteout(directories.around(path)?, path.file_name()))
}

fn whiteout(around: impl std::os::fd::AsFd, name: &[u8]) -> io::Result<()> {
    Ok(mknodat(around, name, SFlag::S_IFCHR, Permissions::empty(), 0)?)
}
