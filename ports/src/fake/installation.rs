//! An installed program in memory.

use crate::{FetchRelease, Installation, UpdateError};
use isobox_domain::release::{Build, Identity, ReleaseFile, Version};
use isobox_domain::update_target::UpdateTarget;
use std::cell::{Cell, RefCell};

/// A program, and perhaps the one before. Its Release Files have a version in them as text, and nothing else.
#[derive(Debug)]
pub struct InMemoryInstallation {
    installed: RefCell<Identity>,
    kept: RefCell<Option<Identity>>,
    is_busy: Cell<bool>,
}

impl InMemoryInstallation {
    /// A program of this version that was built so.
    pub fn new(version: Version, build: Build) -> Self {
        Self { installed: Identity { version, build }.into(), kept: RefCell::default(), is_busy: Cell::new(false) }
    }

    /// What is installed.
    pub fn installed(&self) -> Version {
        self.installed.borrow().version.clone()
    }

    /// Whether the program before is kept.
    pub fn has_kept(&self) -> bool {
        self.kept.borrow().is_some()
    }
}

impl Installation for InMemoryInstallation {
    fn identify(&self, _target: &UpdateTarget) -> Result<Identity, UpdateError> {
        Ok(self.installed.borrow().clone())
    }

    fn replace(
        &self,
        target: &UpdateTarget,
        release: &ReleaseFile,
        fetch: &FetchRelease<'_>,
    ) -> Result<String, UpdateError> {
        if self.is_busy.replace(true) {
            return Err(UpdateError::Contended { program: shown(target) });
        }
        let mut content = Vec::new();
        let fetched = fetch(&mut content);
        self.is_busy.set(false);
        fetched?;
        let found = str::from_utf8(&content).ok().and_then(|text| text.parse::<Version>().ok());
        let new = found.filter(|found| *found == release.version).ok_or_else(|| UpdateError::Unusable {
            program: release.name.clone(),
            problem: format!("version {} expected", release.version),
        })?;
        let before = self.installed.replace(Identity { version: new, build: Build::Release });
        self.kept.replace(Some(before));
        Ok(kept(target))
    }

    fn roll_back(&self, target: &UpdateTarget) -> Result<Version, UpdateError> {
        let before = self.kept.take().ok_or_else(|| UpdateError::NothingKept { kept: kept(target) })?;
        let version = before.version.clone();
        self.kept.replace(Some(self.installed.replace(before)));
        Ok(version)
    }
}

fn shown(target: &UpdateTarget) -> String {
    String::from_utf8_lossy(&target.file).into_owned()
}

fn kept(target: &UpdateTarget) -> String {
    format!("{}.old", shown(target))
}
