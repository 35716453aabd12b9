//! What a Task Result makes of the dependencies of a project.

use super::patch_reader::PatchReader;
use super::sides::{Sides, patch, sides};
use crate::failure::Failure;
use isobox_domain::change::{Change, ChangeLine};
use isobox_domain::record::TaskRecord;
use isobox_domain::report::{Dependencies, DependencyChanges, Finding, Manifest, RiskCategory};
use isobox_ports::{Manifests, ObjectStore};

/// Compares the manifests of a record, asked for in the order of their paths. The patch is opened for the first of them.
pub(crate) struct Comparison<'a> {
    objects: &'a dyn ObjectStore,
    manifests: &'a dyn Manifests,
    record: &'a TaskRecord,
    patch: Option<PatchReader>,
}

impl<'a> Comparison<'a> {
    pub(crate) const fn new(
        objects: &'a dyn ObjectStore,
        manifests: &'a dyn Manifests,
        record: &'a TaskRecord,
    ) -> Self {
        Self { objects, manifests, record, patch: None }
    }

    /// `findings` of `line`, with what became of its dependencies if it is a manifest.
    pub(crate) fn complete(&mut self, line: &ChangeLine, findings: Vec<Finding>) -> Result<Vec<Finding>, Failure> {
        let ChangeLine::Change(change) = line else { return Ok(findings) };
        let Some(manifest) = Manifest::of(&change.path) else { return Ok(findings) };
        let changes = self.changes(manifest, change)?;
        let complete = |finding: Finding| match finding.category {
            RiskCategory::DependencyManifest => finding.with_dependencies(changes.clone()),
            _ => finding,
        };
        Ok(findings.into_iter().map(complete).collect())
    }

    fn changes(&mut self, manifest: Manifest, change: &Change) -> Result<DependencyChanges, Failure> {
        let patch = match &mut self.patch {
            Some(patch) => patch,
            none => none.insert(patch(self.objects, self.record)?),
        };
        let Some(Sides { before, after, .. }) = sides(self.objects, patch, change)? else {
            return Ok(DependencyChanges::NotThere);
        };
        let named = |content: Option<Vec<u8>>| match content {
            Some(content) => self.manifests.dependencies(manifest, &content),
            None => Some(Dependencies::new()),
        };
        Ok(match (named(before), named(after)) {
            (Some(before), Some(after)) => DependencyChanges::between(&before, &after),
            _ => DependencyChanges::Unreadable,
        })
    }
}
