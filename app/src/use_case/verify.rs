//! Verifies single records of a Task Store.

use crate::failure::{Failure, FailureKind};
use isobox_domain::content::ContentId;
use isobox_domain::verification::Verification;
use isobox_ports::Verifier;

/// Verifies a record with everything that it refers to.
pub(crate) fn record(verifier: &dyn Verifier, record: &ContentId) -> Result<Verification, Failure> {
    verifier.verify_record(record)?.ok_or_else(|| gone(record))
}

/// A record that was there a moment ago.
pub(crate) fn gone(record: &ContentId) -> Failure {
    Failure::new(FailureKind::Store, format!("the record {record} is not there any more"))
        .with_hint("`isobox verify` says whether the store is whole")
}
