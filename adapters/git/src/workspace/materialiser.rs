//! The bytes of the base as checkout writes them.
//!
//! Conversions (end of line, `ident`, `working-tree-encoding`) follow the `.gitattributes` of the pinned commit alone:
//! neither configuration nor `info/attributes` can add to them, and no filter driver is known here.

use super::base::{Base, Layer};
use super::wide_encoding::WideEncoding;
use super::{failure, ident};
use crate::objects::ObjectReader;
use crate::{GixRepository, git_config, oid};
use gix::attrs::search::{MetadataCollection, Outcome};
use gix::attrs::{Search, StateRef};
use gix::bstr::{BStr, ByteSlice};
use gix::filter::plumbing::driver::apply::Delay;
use gix::filter::plumbing::pipeline::convert::ToWorktreeOutcome;
use gix::filter::plumbing::pipeline::convert::to_worktree::{Options, UnknownEncoding};
use gix::index::entry::Mode as IndexMode;
use gix::sec::Trust;
use gix::worktree::stack::State;
use gix::worktree::stack::state::Attributes;
use gix::worktree::stack::state::attributes::Source;
use isobox_domain::change::Mode;
use isobox_domain::git_oid::GitOid;
use isobox_domain::repo_path::RepoPath;
use isobox_ports::{Headway, WorkspaceError};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Gives the bytes of tracked paths as checkout writes them. For one thread; a clone serves another.
#[derive(Clone)]
pub(crate) struct Materialiser {
    layers: Vec<OpenLayer>,
    filters: Filters,
    trust: ObjectTrust,
    headway: Arc<Headway>,
}

/// Whether blobs are what their names say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ObjectTrust {
    /// It is believed.
    Believed,
    /// It is looked at.
    Verified,
}

/// Names of filter drivers, with the number of paths that name them.
type Filters = Arc<Mutex<BTreeMap<Vec<u8>, u64>>>;

#[derive(Clone)]
struct OpenLayer {
    prefix: Option<RepoPath>,
    reader: ObjectReader,
    conversions: Option<Conversions>,
}

#[derive(Clone)]
struct Conversions {
    attributes: gix::worktree::Stack,
    pipeline: gix::filter::plumbing::Pipeline,
    ident: Outcome,
    filters: Filters,
}

impl Materialiser {
    /// Opens the repositories that `base` names, all but `known`, which is open.
    pub(crate) fn open(base: &Base, known: &GixRepository) -> Result<Self, WorkspaceError> {
        let open = |layer: &Layer| {
            if layer.host_path == known.root() || layer.host_path == known.common_dir() {
                return Ok(known.gix());
            }
            // The owner was looked at before the base was written, and the base lies where no workload writes.
            git_config::open(&layer.host_path, Trust::Full)
                .map_err(|e| failure("open the repository that the workspace was made from", e))
        };
        let repositories = base.layers.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        Self::new(base, repositories)
    }

    /// One for what the tree `tree` of an open repository holds, outside of submodules.
    pub(crate) fn of_tree(repository: &gix::Repository, tree: &gix::oid) -> gix::Result<Self> {
        let index = repository.index_from_tree(tree)?;
        let is_attributes = |entry: &&gix::index::Entry| {
            entry.path(&index).rsplit(|byte| *byte == b'/').next() == Some(b".gitattributes")
                && entry.mode != IndexMode::SYMLINK
        };
        let attributes =
            index.entries().iter().filter(is_attributes).filter_map(|entry| {
                Some((RepoPath::parse(entry.path(&index).to_vec()).ok()?, oid::from_gix(&entry.id)))
            });
        let filters = Arc::default();
        let conversions = Conversions::new(repository, &attributes.collect::<Vec<_>>(), &filters);
        let conversions = conversions.map_err(gix::Error::from_error)?;
        let layer = OpenLayer { prefix: None, conversions, reader: ObjectReader::new(repository.clone()) };
        Ok(Self { layers: vec![layer], filters, trust: ObjectTrust::Verified, headway: Arc::default() })
    }

    /// Takes the open repositories of `base`'s layers, in their order.
    pub(crate) fn new(base: &Base, repositories: Vec<gix::Repository>) -> Result<Self, WorkspaceError> {
        let filters = Arc::default();
        let open = |(layer, repository): (&Layer, gix::Repository)| {
            let conversions = Conversions::new(&repository, &layer.attribute_files, &filters)
                .map_err(|e| failure("look at the attributes of the pinned commit", e))?;
            Ok(OpenLayer { prefix: layer.prefix.clone(), conversions, reader: ObjectReader::new(repository) })
        };
        let layers = base.layers.iter().zip(repositories).map(open).collect::<Result<_, WorkspaceError>>()?;
        Ok(Self { layers, filters, trust: ObjectTrust::Believed, headway: Arc::default() })
    }

    /// The same, which fails at a blob whose bytes have another name than it. gix does not look at that.
    pub(crate) fn verifying(self) -> Self {
        Self { trust: ObjectTrust::Verified, ..self }
    }

    /// The same, which counts in `headway` what it materialises.
    pub(crate) fn telling(self, headway: &Arc<Headway>) -> Self {
        Self { headway: Arc::clone(headway), ..self }
    }

    /// The filter drivers that paths materialised so far, by this value or a clone, name in their attributes, and how
    /// many paths do. None of them was run.
    pub(crate) fn filters_not_run(&self) -> Vec<(Vec<u8>, u64)> {
        lock(&self.filters).iter().map(|(name, paths)| (name.clone(), *paths)).collect()
    }

    /// The filter driver that a file names in its attributes. `path` is from the root of the Workspace, and not in a
    /// submodule.
    pub(crate) fn filter_of(&mut self, path: &RepoPath) -> io::Result<Option<Vec<u8>>> {
        let Some(OpenLayer { conversions: Some(conversions), reader, .. }) = self.layers.first_mut() else {
            return Ok(None);
        };
        let at_path = conversions.attributes.at_entry(path.as_bytes().as_bstr(), None, &reader.repository().objects)?;
        let mut found = Outcome::default();
        found.initialize_with_selection(&MetadataCollection::default(), ["filter"]);
        at_path.matching_attributes(&mut found);
        Ok(value(&found, "filter").map(<[u8]>::to_vec))
    }

    /// The bytes of a file as checkout writes it, or the target of a link. Costs the blob's size, twice if it is converted.
    ///
    /// `path` is from the root of the Workspace; `mode` and `oid` are the base's. A submodule has no bytes.
    pub(crate) fn materialise(&mut self, path: &RepoPath, mode: Mode, oid: &GitOid) -> gix::Result<Vec<u8>> {
        self.headway.advance();
        // Layers are outer before inner: the last one that fits is the innermost.
        let is_around = |layer: &OpenLayer| layer.prefix.as_ref().is_none_or(|prefix| path.is_below(prefix));
        let index = self.layers.iter().rposition(is_around).unwrap_or(0);
        let layer = &mut self.layers[index];
        let inside = layer.prefix.as_ref().map_or(0, |prefix| prefix.as_bytes().len() + 1);
        let repository = layer.reader.next().map_err(gix::Error::from_error)?;
        let blob = repository.find_blob(oid::to_gix(oid))?.detach().data;
        if self.trust == ObjectTrust::Verified {
            oid::verify(gix::objs::Kind::Blob, &blob, &oid::to_gix(oid))?;
        }
        layer.convert(&path.as_bytes()[inside..], mode, oid, blob)
    }

    /// The bytes of a file of the outermost repository as checkout writes it, from those of a blob.
    pub(crate) fn convert(&mut self, path: &RepoPath, mode: Mode, oid: &GitOid, blob: Vec<u8>) -> gix::Result<Vec<u8>> {
        self.layers[0].convert(path.as_bytes(), mode, oid, blob)
    }
}

impl OpenLayer {
    fn convert(&mut self, path: &[u8], mode: Mode, oid: &GitOid, blob: Vec<u8>) -> gix::Result<Vec<u8>> {
        match &mut self.conversions {
            Some(conversions) if mode != Mode::Symlink => {
                conversions.convert(blob, path.as_bstr(), oid, self.reader.repository())
            }
            _ => Ok(blob),
        }
    }
}

impl Conversions {
    /// `None` where no path has an attribute, so that nothing can be converted.
    fn new(
        repository: &gix::Repository,
        attribute_files: &[(RepoPath, GitOid)],
        filters: &Filters,
    ) -> io::Result<Option<Self>> {
        if attribute_files.is_empty() {
            return Ok(None);
        }
        let mut collection = MetadataCollection::default();
        let mut buffer = Vec::new();
        // Only what is built into Git (the macro `binary`) comes before the commit's own files.
        let built_in = Search::new_globals(std::iter::empty::<PathBuf>(), &mut buffer, &mut collection)?;
        let state = State::AttributesStack(Attributes::new(built_in, None, Source::IdMapping, collection));
        let files = attribute_files.iter().map(|(path, oid)| (path.as_bytes().into(), oid::to_gix(oid))).collect();
        // The root is never looked at: attributes come from objects alone.
        let attributes = gix::worktree::Stack::new("/", state, gix::glob::pattern::Case::Sensitive, buffer, files);
        let pipeline = gix::filter::plumbing::Pipeline::new(
            Default::default(),
            repository.object_hash(),
            gix::filter::plumbing::pipeline::Options::default(),
        );
        let mut ident = Outcome::default();
        ident.initialize_with_selection(&MetadataCollection::default(), ["ident"]);
        Ok(Some(Self { attributes, pipeline, ident, filters: Arc::clone(filters) }))
    }

    fn convert(
        &mut self,
        mut blob: Vec<u8>,
        path: &BStr,
        oid: &GitOid,
        repository: &gix::Repository,
    ) -> gix::Result<Vec<u8>> {
        let at_path = self.attributes.at_entry(path, None, &repository.objects).map_err(gix::Error::from_error)?;
        if ident::may_hold_keyword(&blob) {
            at_path.matching_attributes(&mut self.ident);
            if self.ident.iter_selected().any(|found| found.assignment.state.is_set()) {
                blob = ident::expand(&blob, oid);
            }
        }
        let options = Options { can_delay: Delay::Forbid, unknown_encoding: UnknownEncoding::Ignore };
        let mut encoding = None;
        let mut look_up = |_: &BStr, found: &mut Outcome| {
            at_path.matching_attributes(found);
            count_filter(found, &self.filters);
            encoding = value(found, "working-tree-encoding").and_then(WideEncoding::of_name);
        };
        let converted = match self.pipeline.convert_to_worktree(&blob, path, &mut look_up, options)? {
            ToWorktreeOutcome::Buffer(converted) => converted.to_vec(),
            // Without drivers there is no process.
            ToWorktreeOutcome::Unchanged(_) | ToWorktreeOutcome::Process(_) => blob,
        };
        Ok(match encoding {
            Some(encoding) => encoding.encode(converted),
            None => converted,
        })
    }
}

fn count_filter(found: &Outcome, filters: &Filters) {
    if let Some(name) = value(found, "filter") {
        *lock(filters).entry(name.to_vec()).or_default() += 1;
    }
}

/// The value of an attribute that has one.
fn value<'a>(found: &'a Outcome, name: &str) -> Option<&'a [u8]> {
    found.iter_selected().map(|found| found.assignment).find_map(|attribute| match attribute.state {
        StateRef::Value(value) if attribute.name.as_str() == name => Some(value.as_bstr().as_bytes()),
        _ => None,
    })
}

fn lock(filters: &Filters) -> MutexGuard<'_, BTreeMap<Vec<u8>, u64>> {
    // A panic elsewhere leaves whole numbers behind.
    filters.lock().unwrap_or_else(PoisonError::into_inner)
}
