//! The ports of Import and Export.

use super::{Directories, FsExports, FsV1Directories, Location, RandomTaskIds, Store, V1Json, clock, masked};
use crate::cli::Place;
use crate::failure::Failure;
use crate::use_case::{export, import};
use isobox_ports::V1Directories;
use std::path::Path;

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
            attempts: &self.store,
            records: &self.store,
            clock: clock(),
            task_ids: &RandomTaskIds,
            mask: &|arguments| masked(&directories, arguments),
        })
    }

    /// Hands the ports of an Export into `destination` to `act`.
    pub(crate) fn with_export_ports<T>(&self, destination: &Path, act: impl FnOnce(&export::Ports<'_>) -> T) -> T {
        let exports = FsExports::new(destination);
        act(&export::Ports { records: &self.store, objects: &self.store, format: &V1Json, exports: &exports })
    }
}

/// The record directories in a place.
pub(crate) fn v1_directories(host_path: &Path) -> Result<impl V1Directories, isobox_ports::V1Error> {
    FsV1Directories::open(host_path)
}
