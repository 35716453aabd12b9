//! Whether a working tree is as its HEAD says.

use crate::repository::failure;
use isobox_domain::source::{Cleanliness, DirtyEntry, DirtyState};
use isobox_ports::RepositoryError;
use std::collections::BTreeMap;

/// Compares HEAD with the index, and the index with the working tree, as `git status` does; writes nothing.
pub(crate) fn cleanliness(repository: &gix::Repository) -> Result<Cleanliness, RepositoryError> {
    let _ =
        (repository, BTreeMap::<Vec<u8>, DirtyState>::new(), DirtyEntry { path: vec![], state: DirtyState::Staged });
    Err(failure("look", "not yet"))
}
