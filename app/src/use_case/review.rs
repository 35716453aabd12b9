//! A review in the terminal: what a Task changed, what a person decides about it, and what comes of that.
//!
//! [`Review`] is a state that keys change; it neither draws nor reads. What is read for it is read by [`Reading`], what a
//! person decided becomes a selection by [`Deciding`] and a text for whoever made the changes by [`feedback`].

mod accepted;
mod entry;
mod feedback;
mod keys;
mod marking;
mod moves;
mod page;
mod reading;
mod state;
mod subjects;

#[cfg(test)]
mod tests;

pub(crate) use accepted::Deciding;
pub(crate) use entry::{Entry, FileState};
pub(crate) use feedback::{Told, each_told};
pub(crate) use keys::Key;
pub(crate) use page::{LineKind, Page, ShownLine};
pub(crate) use reading::Reading;
pub(crate) use state::{Effect, Focus, Input, Review};

use crate::failure::Failure;
use isobox_domain::record::TaskRecord;
use isobox_ports::{ObjectStore, Reviews};

/// What a review reads and keeps.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) objects: &'a dyn ObjectStore,
    pub(crate) reviews: &'a dyn Reviews,
}

/// Begins a review of what `record` changed, with everything that was noted about the same changes before.
pub(crate) fn begin(ports: &Ports<'_>, record: &TaskRecord) -> Result<Review, Failure> {
    let marks = ports.reviews.load()?;
    let (entries, unlisted) = entry::entries(ports.objects, record)?;
    Ok(Review::new(entries, unlisted, marks))
}
