//! What records are taken over from: stores, Archives, and record directories of version 1.

use super::{FsTaskStore, FsV1Directories, GixRepository, RECORDS};
use crate::failure::{Failure, FailureKind};
use crate::output::text::counted;
use isobox_domain::escape::Escaped;
use isobox_domain::verification::Thoroughness;
use isobox_ports::{ObjectStore, RecordLog, StoreError, V1Directories, Verifier};
use isobox_store::FsArchive;
use std::path::{Path, PathBuf};

/// Something that records are taken over from.
pub(crate) enum Importable {
    /// Record directories of version 1.
    Directories(Box<dyn V1Directories>),
    /// A store, or an Archive, which need not be whole.
    Store(Box<dyn Importing>),
}

/// What a store that records are taken over from is asked.
pub(crate) trait Importing: RecordLog + ObjectStore {
    /// What is wrong with all of it, where that is looked for before.
    fn fault(&self) -> Result<Option<String>, StoreError>;
}

impl Importing for FsTaskStore {
    fn fault(&self) -> Result<Option<String>, StoreError> {
        // Whatever is damaged is told with the records that it touches.
        Ok(None)
    }
}

impl Importing for FsArchive {
    fn fault(&self) -> Result<Option<String>, StoreError> {
        let found = self.verify(Thoroughness::Full, &|_| {})?;
        Ok((!found.is_sound()).then(|| {
            let defects = counted(found.defects.len() as u64 + found.untold, "defect");
            format!("it has {defects}, which `isobox verify` names; what is whole is imported")
        }))
    }
}

/// What records can be taken over from at `host_path`: a store, a records directory or a repository with one, an Archive,
/// record directories of version 1.
pub(crate) fn importable(host_path: &Path) -> Result<Vec<Importable>, Failure> {
    let found = std::fs::metadata(host_path).map_err(|error| {
        Failure::new(FailureKind::General, format!("open {}", Escaped::path(host_path))).because(error)
    })?;
    if !found.is_dir() {
        return Ok(vec![Importable::Store(Box::new(FsArchive::open_incomplete(host_path)?))]);
    }
    if let Some(store) = FsTaskStore::open_untouched(host_path)? {
        return Ok(vec![Importable::Store(Box::new(store))]);
    }
    let store = FsTaskStore::open_untouched_in(&records_of(host_path))?.map(|store| Importable::Store(Box::new(store)));
    let directories = FsV1Directories::open(host_path)
        .map_err(|error| Failure::new(FailureKind::General, "look for record directories").because(error))?;
    Ok(store.into_iter().chain([Importable::Directories(Box::new(directories))]).collect())
}

/// The records directory of the repository whose root, or Git directory, `host_path` is; else `host_path` is one itself.
fn records_of(host_path: &Path) -> PathBuf {
    if ["HEAD", "objects"].iter().all(|name| host_path.join(name).exists()) {
        return host_path.join(RECORDS);
    }
    let is_root = host_path.join(".git").exists();
    let repository = is_root.then(|| GixRepository::discover(host_path).ok()).flatten();
    repository.map_or_else(|| host_path.to_owned(), |repository| repository.common_dir().join(RECORDS))
}
