//! Stages everything below one record, compared with what the record says of it.

use super::{Source, Stopped};
use crate::failure::{Failure, FailureKind, one_line};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_ports::{Attempt, CaptureSink, Cause, Content, ObjectStore};
use isobox_store_format::below::{BelowError, each_below};
use isobox_store_format::object::MAX_OBJECT_BYTES;
use std::collections::HashSet;
use std::io::{self, Read};

/// So many objects are remembered so that equal ones are read once.
const REMEMBERED: usize = 1 << 16;

/// Stages what is below the record `record` of `source`.
pub(super) fn stage(attempt: &dyn Attempt, source: &Source<'_>, record: &ContentId) -> Result<(), Stopped> {
    let refused = |reason: String| Stopped::Refused(reason);
    let bytes = source.records.bytes(record).map_err(|error| refused(one_line(&error)))?;
    let bytes = bytes.ok_or_else(|| refused("its record is missing".to_owned()))?;
    let mut sink = attempt.capture_sink()?;
    let (mut staged, mut stopped) = (HashSet::new(), None);
    let mut fetch = |part: &ContentRef| self::part(source.objects, part);
    let below = each_below(&bytes, &mut fetch, &mut |object| {
        if staged.contains(object) {
            return Ok(());
        }
        if staged.len() < REMEMBERED {
            staged.insert(*object);
        }
        one(&mut *sink, source, object).map_err(|why| {
            stopped = Some(why);
            Cause::from("it was not staged")
        })
    });
    match (below, stopped) {
        (Ok(()), _) => Ok(()),
        (Err(BelowError::Taken(_)), Some(stopped)) => Err(stopped),
        (Err(error), _) => Err(refused(one_line(&error))),
    }
}

fn one(sink: &mut dyn CaptureSink, source: &Source<'_>, object: &ContentRef) -> Result<(), Stopped> {
    let opened = source.objects.open(&object.id).map_err(|error| Stopped::Refused(one_line(&error)))?;
    let content = opened.ok_or_else(|| Stopped::Refused(format!("{} is missing", object.id)))?;
    let mut watched = Watched { content, failed: None };
    match (sink.content(&mut watched), watched.failed) {
        (_, Some(error)) => Err(Stopped::Refused(format!("{} could not be read: {error}", object.id))),
        (Ok(found), None) if found == *object => Ok(()),
        (Ok(_), None) => Err(Stopped::Refused(format!("{} is not as long as its record says", object.id))),
        (Err(cause), None) => {
            let failure = Failure::new(FailureKind::Store, "write to the task store").because(cause);
            Err(failure.with_hint("free some space on the disk of the task store, then import again").into())
        }
    }
}

/// A part of a Change Set, or a policy: what is small enough to be held in memory.
pub(crate) fn part(objects: &dyn ObjectStore, part: &ContentRef) -> Result<Vec<u8>, Cause> {
    let content = objects.open(&part.id)?.ok_or_else(|| format!("{} is missing", part.id))?;
    let mut bytes = Vec::new();
    content.take(MAX_OBJECT_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Tells a failure to read from one to write: the one is the source's, the other the store's.
struct Watched {
    content: Content,
    failed: Option<String>,
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.content.read(buffer).inspect_err(|error| {
            if error.kind() != io::ErrorKind::Interrupted {
                self.failed = Some(error.to_string());
            }
        })
    }
}
