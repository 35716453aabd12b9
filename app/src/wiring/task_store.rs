//! The store that a command works with: one on the file system, or an Archive, which is only read.

use super::{FsTaskStore, FsViews, Location, no_store, open_store};
use crate::cli::Place;
use crate::failure::{Failure, FailureKind};
use crate::use_case::{find, repair};
use isobox_domain::escape::Escaped;
use isobox_domain::task_id::TaskSelector;
use isobox_ports::{Archiver, Attempts, Measurer, ObjectStore, OpenAttempts, RecordLog, Turns, Verifier};
use isobox_store::FsArchive;
use std::path::{Path, PathBuf};

/// Everything that keeps records.
pub(super) trait TaskStore:
    Attempts + RecordLog + ObjectStore + OpenAttempts + Turns + Verifier + Archiver
{
}

impl<T: Attempts + RecordLog + ObjectStore + OpenAttempts + Turns + Verifier + Archiver> TaskStore for T {}

/// A Task Store that is there, with its views.
pub(crate) struct Store {
    store: Box<dyn TaskStore>,
    views: FsViews,
    directory: PathBuf,
    /// The same on the file system; an Archive is none.
    own: Option<FsTaskStore>,
}

impl Store {
    /// The store that a command line means: of `--records`, else of the View that names the Task, else of the project.
    pub(crate) fn find(place: &Place, selector: Option<&TaskSelector>) -> Result<Self, Failure> {
        let located = Location::find(place, selector)?;
        Ok(Self::new(open_store(&located.records)?, &located))
    }

    /// The same without a Task; `None` where the project has none yet. One that `--records` names has to be there.
    pub(crate) fn find_if_any(place: &Place) -> Result<Option<Self>, Failure> {
        let located = Location::find(place, None)?;
        match FsTaskStore::open(&located.records)? {
            None if place.records.is_none() => Ok(None),
            None => Err(no_store(&located.records)),
            Some(store) => Ok(Some(Self::new(store, &located))),
        }
    }

    /// The store at a location.
    pub(super) fn new(store: FsTaskStore, location: &Location) -> Self {
        let directory = location.records.clone();
        Self { store: Box::new(store.clone()), views: location.views(), directory, own: Some(store) }
    }

    /// An Archive, to be looked into.
    pub(crate) fn of_archive(host_path: &Path) -> Result<Self, Failure> {
        let archive = FsArchive::open(host_path).map_err(|error| {
            let hint = format!("`isobox verify {}` says what is wrong with it", Escaped::path(host_path));
            // What is said of stores is of no help here.
            Failure { hint: Some(hint), ..Failure::from(error) }
        })?;
        let directory = super::absolute(host_path)?;
        // Nothing has Views there, and nothing writes any: an Archive is never written to.
        Ok(Self { store: Box::new(archive), views: FsViews::new(directory.clone()), directory, own: None })
    }

    /// Whether it is an Archive.
    pub(crate) fn is_archive(&self) -> bool {
        self.own.is_none()
    }

    /// Whether both are the same one.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.directory == other.directory
    }

    /// Fails for an Archive: `what` is to be done to it.
    pub(crate) fn require_writable(&self, what: &str) -> Result<(), Failure> {
        self.own(what).map(drop)
    }

    /// The store on the file system; fails for an Archive, to which `what` is to be done.
    pub(super) fn own(&self, what: &str) -> Result<&FsTaskStore, Failure> {
        if let Some(own) = &self.own {
            return Ok(own);
        }
        let shown = Escaped::path(&self.directory);
        Err(Failure::new(FailureKind::Usage, format!("{what} {shown}: an archive is only looked into"))
            .with_hint(format!("`isobox import {shown}` takes its tasks over into a store")))
    }

    /// Its records and events.
    pub(crate) fn records(&self) -> &dyn RecordLog {
        &*self.store
    }

    /// What verifies it.
    pub(crate) fn verifier(&self) -> &dyn Verifier {
        &*self.store
    }

    /// What measures it.
    pub(crate) fn measurer(&self) -> Result<&dyn Measurer, Failure> {
        Ok(self.own("measure")?)
    }

    /// The ports of a search for Tasks.
    pub(crate) fn find_ports(&self) -> Result<find::Ports<'_>, Failure> {
        let own = self.own("list")?;
        Ok(find::Ports { listings: own, attempts: own, objects: own })
    }

    /// Its objects.
    pub(crate) fn objects(&self) -> &dyn ObjectStore {
        &*self.store
    }

    /// The ports of a repair.
    pub(crate) fn repair_ports(&self) -> Result<repair::Ports<'_>, Failure> {
        let mender = self.own("repair")?;
        Ok(repair::Ports { mender, verifier: self.verifier(), store: self.take_over_ports() })
    }

    pub(super) fn store(&self) -> &dyn TaskStore {
        &*self.store
    }

    pub(super) fn views(&self) -> &FsViews {
        &self.views
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }
}
