//! What capture compares with: the content of the pinned commit, as isobox materialised it.

use super::snapshot::open_kept;
use crate::GixRepository;
use crate::beneath;
use crate::layers;
use crate::stat_cache::StatCacheEntry;
use crate::workspace::base::Base;
use crate::workspace::materialiser::Materialiser;
use isobox_domain::change::Mode;
use isobox_domain::content::{ContentId, ContentRef};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

/// Gives the materialised content of paths of the pinned commit. It comes from the trusted repository and from the
/// attributes of the pinned commit, never from the Workspace.
pub(super) struct BaseContent<'a> {
    base: &'a Base,
    /// One that is open, most often the one that the base is of.
    repository: &'a GixRepository,
    /// Opened when a first path is asked for: most captures find nothing that is touched.
    materialiser: Option<Materialiser>,
    /// Where the content of uncommitted changes is that the Workspace began with.
    snapshot: Option<&'a Path>,
    /// What an overlay lies on, the uppermost first: isobox's own copies, for what the repository has no more.
    lowers: &'a [PathBuf],
}

/// The content that a path had.
pub(super) enum Known {
    /// Of the commit.
    Held(Vec<u8>),
    /// Of a snapshot: a file that nobody writes any more, of any size that a snapshot takes.
    Kept(File),
}

impl Known {
    /// Opens it at its beginning.
    pub(super) fn open(&mut self) -> io::Result<Box<dyn Read + '_>> {
        match self {
            Self::Held(bytes) => Ok(Box::new(bytes.as_slice())),
            Self::Kept(file) => {
                file.rewind()?;
                Ok(Box::new(file))
            }
        }
    }

    /// Its length in bytes.
    pub(super) fn length(&self) -> io::Result<u64> {
        match self {
            Self::Held(bytes) => Ok(bytes.len() as u64),
            Self::Kept(file) => Ok(file.metadata()?.len()),
        }
    }

    /// Its identity.
    pub(super) fn content_ref(&mut self) -> io::Result<ContentRef> {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(self.open()?)?;
        Ok(ContentRef { id: ContentId::new(*hasher.finalize().as_bytes()), length: hasher.count() })
    }
}

impl<'a> BaseContent<'a> {
    /// The content of `base`. Opens nothing yet.
    pub(super) fn new(base: &'a Base, repository: &'a GixRepository, snapshot: Option<&'a Path>) -> Self {
        Self { base, repository, materialiser: None, snapshot, lowers: &[] }
    }

    /// The same for an overlay on `lowers`.
    pub(super) fn over(self, lowers: &'a [PathBuf]) -> Self {
        Self { lowers, ..self }
    }

    /// The bytes that the Workspace began with at `entry`; the target of a link. A submodule has none.
    pub(super) fn find(&mut self, entry: &StatCacheEntry) -> io::Result<Known> {
        if let Some(snapshot) = self.snapshot
            && let Some(kept) = open_kept(snapshot, &entry.path)?
        {
            return Ok(Known::Kept(kept));
        }
        self.materialise(entry).or_else(|error| below(self.lowers, entry).ok_or(error)).map(Known::Held)
    }

    fn materialise(&mut self, entry: &StatCacheEntry) -> io::Result<Vec<u8>> {
        let materialiser = match &mut self.materialiser {
            Some(materialiser) => materialiser,
            closed => closed.insert(Materialiser::open(self.base, self.repository).map_err(io::Error::other)?),
        };
        materialiser.materialise(&entry.path, entry.mode, &entry.oid).map_err(io::Error::other)
    }
}

/// The bytes of `entry` as `lowers` show it, if they are as long as those that were made.
fn below(lowers: &[PathBuf], entry: &StatCacheEntry) -> Option<Vec<u8>> {
    let path = entry.path.as_bytes();
    let (root, _) = layers::find(lowers, path).ok()??;
    let mut bytes = Vec::new();
    match entry.mode {
        Mode::Symlink => bytes = beneath::read_link(&root, path).ok()?,
        _ => drop(beneath::open_file(&root, path).ok()?.take(entry.stat.size + 1).read_to_end(&mut bytes).ok()?),
    }
    (bytes.len() as u64 == entry.stat.size).then_some(bytes)
}
