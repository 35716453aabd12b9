//! Proofs that a record is in the log, and that an older checkpoint is of its beginning.

use super::{Ports, known_keys, newest, unusable_log};
use crate::failure::{Failure, FailureKind};
use isobox_domain::content::ContentId;
use isobox_domain::log::Checkpoint;
use isobox_store_format::log::{Older, Proof, SignedNote, checkpoint_of};

/// The proof that `record` is in the log, with one that the `older` checkpoint is of its beginning.
pub(crate) fn prove(ports: &Ports<'_>, record: &ContentId, older: Option<&Checkpoint>) -> Result<Proof, Failure> {
    let (note, checkpoint) = newest(ports, &known_keys(ports, None)?)?;
    let head = checkpoint.head;
    let found = ports.log.find(&head, record).map_err(unusable_log)?.ok_or_else(|| {
        Failure::new(FailureKind::General, format!("{record} is not in the log of {} COMMITs", head.size))
            .with_hint("`isobox audit checkpoint` brings the log up to date")
    })?;
    let older = older.map(|older| consistency(ports, &checkpoint, older)).transpose()?;
    Ok(Proof { leaf: found.leaf, index: found.index, path: found.path, older, note })
}

fn consistency(ports: &Ports<'_>, checkpoint: &Checkpoint, older: &Checkpoint) -> Result<Older, Failure> {
    let (size, head) = (older.head.size, checkpoint.head);
    let refuse = |why: String| {
        Err(Failure::new(FailureKind::General, "the older checkpoint is not of the beginning of this log").because(why))
    };
    if older.origin != checkpoint.origin {
        return refuse("it is of another log".to_owned());
    }
    if !(1..=head.size).contains(&size) {
        return refuse(format!("it is of {size} COMMITs, and the log has {}", head.size));
    }
    if ports.log.head_at(&head, size).map_err(unusable_log)? != older.head {
        return refuse(format!("the first {size} COMMITs of the log have another root"));
    }
    Ok(Older { size, path: ports.log.consistency(&head, size).map_err(unusable_log)? })
}

/// The checkpoint in a note that somebody kept.
pub(crate) fn parse_older(bytes: &[u8]) -> Result<(SignedNote, Checkpoint), Failure> {
    let refuse = |error| Failure::new(FailureKind::Usage, "read the older checkpoint").because(error);
    let note = SignedNote::parse(bytes).map_err(refuse)?;
    let checkpoint = checkpoint_of(&note).map_err(refuse)?;
    Ok((note, checkpoint))
}
