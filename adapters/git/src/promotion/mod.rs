//! Performing a Promotion on the trusted repository.

use crate::GixRepository;
use isobox_ports::{Promotion, RepositoryError};

/// Takes the lock on `repository`, after settling what a killed Promotion left.
pub(crate) fn begin(_repository: &GixRepository) -> Result<Box<dyn Promotion + '_>, RepositoryError> {
    Err(RepositoryError::Refused { reason: "promotion is not available in this build".into(), hint: None })
}
