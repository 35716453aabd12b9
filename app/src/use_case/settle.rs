//! Records a Promotion that a killed isobox had finished but not written down.

use crate::failure::{Failure, FailureKind};
use isobox_domain::event::Event;
use isobox_ports::{AppendError, Promotion, RecordLog, RepositoryError, TrustedRepository};
use isobox_store_format::event::{decode_event, encode_event};

/// Opens the records of the store with these records directory bytes.
pub(crate) type OpenRecords<'a> = &'a dyn Fn(&[u8]) -> Result<Box<dyn RecordLog>, Failure>;

/// What it touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) repository: &'a dyn TrustedRepository,
    pub(crate) open_records: OpenRecords<'a>,
}

/// Takes the lock for a moment: a Promotion that was killed is rolled back, or finished and recorded.
///
/// One that is in progress settles itself and is left alone.
pub(crate) fn settle(ports: &Ports<'_>) -> Result<(), Failure> {
    match ports.repository.begin_promotion() {
        Ok(mut promotion) => record_unfinished(&mut *promotion, ports.open_records),
        Err(RepositoryError::Locked { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Appends the event of the Promotion that was found finished when the lock was taken, if there was one.
pub(super) fn record_unfinished(promotion: &mut dyn Promotion, open_records: OpenRecords<'_>) -> Result<(), Failure> {
    let Some(unfinished) = promotion.unfinished().cloned() else { return Ok(()) };
    let receipt = Receipt::decode(&unfinished.receipt).ok_or_else(|| {
        Failure::new(FailureKind::General, "an interrupted promotion was finished, but its receipt cannot be read")
    })?;
    let records = open_records(&receipt.records_directory)?;
    append_once(&*records, receipt.event)?;
    Ok(promotion.finish()?)
}

// The event may be there already: the kill can have come right after it was appended.
fn append_once(records: &dyn RecordLog, mut event: Event) -> Result<(), Failure> {
    loop {
        let stored = records.events(&event.subject)?;
        if stored.iter().any(|stored| stored.event == event) {
            return Ok(());
        }
        event.previous = stored.last().map(|newest| newest.id);
        match records.append(&event) {
            Ok(_) => return Ok(()),
            Err(AppendError::Stale { .. }) => {}
            Err(error @ AppendError::Store(_)) => return Err(error.into()),
        }
    }
}

/// What a Promotion's journal keeps for whoever finishes it: which event belongs into which store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Receipt {
    /// Absolute host path of the store's records directory, any bytes.
    pub(super) records_directory: Vec<u8>,
    pub(super) event: Event,
}

impl Receipt {
    /// The length of the path in four bytes, the path, the event.
    pub(super) fn encode(&self) -> Result<Vec<u8>, Failure> {
        let failed = |cause: isobox_ports::Cause| {
            Failure::new(FailureKind::General, "encode the promotion's event; nothing was changed").because(cause)
        };
        let event = encode_event(&self.event).map_err(|error| failed(error.into()))?;
        let length = u32::try_from(self.records_directory.len()).map_err(|error| failed(error.into()))?;
        Ok([&length.to_le_bytes()[..], &self.records_directory, &event].concat())
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let (records_directory, event) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        Some(Self { records_directory: records_directory.to_vec(), event: decode_event(event).ok()? })
    }
}
