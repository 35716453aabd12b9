//! The ports of what acts on Tasks that are there.

use super::{Store, clock};
use crate::use_case::{open_tasks, ranked_report, reject, select};
use isobox_manifest::Ecosystems;

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
}
