//! Why something was not imported, and whose fault that is.

use crate::failure::{Failure, one_line};
use isobox_ports::{AppendError, StoreError, V1Error};

/// Why one record, or one directory, was not imported.
pub(crate) enum Stopped {
    /// What it comes from is to blame.
    Refused(String),
    /// The store is, or isobox.
    Failed(Failure),
}

impl From<V1Error> for Stopped {
    fn from(error: V1Error) -> Self {
        Self::Refused(one_line(&error))
    }
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<StoreError> for Stopped {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<AppendError> for Stopped {
    fn from(error: AppendError) -> Self {
        Self::Failed(error.into())
    }
}
