//! The ports of what acts on Tasks that are there.

use super::{Store, clock};
use crate::failure::Failure;
use crate::use_case::{open_tasks, ranked_report, reject, review, select};
use isobox_manifest::Ecosystems;
use isobox_ports::Reviews;

impl Store {
    /// The ports of naming a Task.
    pub(crate) fn select_ports(&self) -> select::Ports<'_> {
        select::Ports { records: self.store(), clock: clock() }
    }

    /// The ports of a look at Tasks that are not over.
    pub(crate) fn open_tasks_ports(&self) -> open_tasks::Ports<'_> {
        open_tasks::Ports { attempts: self.store(), records: self.store(), clock: clock() }
    }

    /// The ports of a report.
    pub(crate) fn report_ports(&self) -> ranked_report::Ports<'_> {
        ranked_report::Ports { objects: self.objects(), manifests: &Ecosystems }
    }

    /// The ports of a rejection.
    pub(crate) fn reject_ports(&self) -> reject::Ports<'_> {
        reject::Ports { records: self.store(), objects: self.store(), views: self.views(), clock: clock() }
    }

    /// What was noted in reviews of its Tasks.
    pub(crate) fn reviews(&self) -> Result<&dyn Reviews, Failure> {
        Ok(self.own("review what is in")?)
    }

    /// The ports of a review.
    pub(crate) fn review_ports(&self) -> Result<review::Ports<'_>, Failure> {
        Ok(review::Ports { objects: self.store(), reviews: self.reviews()? })
    }
}
