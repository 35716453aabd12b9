//! The ports of Import and Export.

use super::{Directories, FsExportFile, FsExports, Location, RECORDS, RandomTaskIds, Store, V1Json, clock, masked};
use crate::cli::Place;
use crate::failure::Failure;
use crate::use_case::{archive, export, import, take_over};
use isobox_git::GixResultCommits;
use isobox_ports::{ExportFiles, ResultCommits, StoreError, Verifier};
use isobox_store::FsArchive;
use std::path::{Path, PathBuf};

impl Store {
    /// The store that a command line means, made if it is not there.
    pub(crate) fn create(place: &Place) -> Result<Self, Failure> {
        Location::find(place, None)?.create_store()
    }

    /// Hands the ports of an Import to `act`.
    pub(crate) fn with_import_ports<T>(&self, act: impl FnOnce(&import::Ports<'_>) -> T) -> T {
        let directories = Directories::from_environment();
        act(&import::Ports {
            format: &V1Json,
            attempts: self.store(),
            records: self.store(),
            clock: clock(),
            task_ids: &RandomTaskIds,
            mask: &|arguments| masked(&directories, arguments),
        })
    }

    /// The ports of taking over records of another store.
    pub(crate) fn take_over_ports(&self) -> take_over::Ports<'_> {
        take_over::Ports { attempts: self.store(), records: self.store(), objects: self.store() }
    }

    /// It, as what records are taken over from.
    pub(crate) fn take_over_source(&self) -> take_over::Source<'_> {
        take_over::Source { records: self.store(), objects: self.store() }
    }

    /// Hands the ports of an Export into `destination` to `act`.
    pub(crate) fn with_export_ports<T>(&self, destination: &Path, act: impl FnOnce(&export::Ports<'_>) -> T) -> T {
        let exports = FsExports::new(destination);
        act(&export::Ports { records: self.store(), objects: self.store(), format: &V1Json, exports: &exports })
    }
}

impl Store {
    /// The ports of an Export as an Archive.
    pub(crate) fn archive_ports(&self) -> archive::Ports<'_> {
        archive::Ports { records: self.store(), objects: self.store(), archiver: self.store() }
    }
}

impl Store {
    /// What makes commits in the repository that results are of: the one that was named, else the one whose own store this
    /// is, else the one around the current directory.
    pub(crate) fn result_commits(&self, place: &Place) -> Result<Box<dyn ResultCommits>, Failure> {
        let own = self.directory().parent().filter(|_| self.directory().ends_with(RECORDS));
        let own = own.filter(|_| place.source.is_none()).and_then(|git_dir| GixResultCommits::in_git_dir(git_dir).ok());
        match own {
            Some(own) => Ok(Box::new(own)),
            None => result_commits_around(place.source.as_deref().unwrap_or(Path::new("."))),
        }
    }
}

/// The repository that Git fetches into.
pub(crate) struct FetchingRepository {
    commits: GixResultCommits,
}

impl FetchingRepository {
    /// The one whose Git directory, or that of one of its working trees, is `git_dir`.
    pub(crate) fn open(git_dir: &Path) -> Result<Self, Failure> {
        Ok(Self { commits: GixResultCommits::in_git_dir(git_dir)? })
    }

    /// Where its own records lie.
    pub(crate) fn records(&self) -> PathBuf {
        self.commits.common_dir().join(RECORDS)
    }

    /// What makes commits in it.
    pub(crate) fn commits(&self) -> &dyn ResultCommits {
        &self.commits
    }
}

/// What makes commits in the repository around a directory.
pub(crate) fn result_commits_around(directory: &Path) -> Result<Box<dyn ResultCommits>, Failure> {
    Ok(Box::new(GixResultCommits::around(directory)?))
}

/// What verifies an Archive, which need not be whole.
pub(crate) fn damaged_archive(host_path: &Path) -> Result<impl Verifier, StoreError> {
    FsArchive::open_incomplete(host_path)
}

/// The place of one exported file.
pub(crate) fn export_file(host_path: &Path) -> impl ExportFiles {
    FsExportFile::new(host_path)
}
