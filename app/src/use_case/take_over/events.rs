//! Brings the events about a record together: the longer list goes on where the shorter one ends.

use super::{Ports, Source, Stopped};
use crate::failure::one_line;
use isobox_domain::event::EventKind;
use isobox_domain::record::RecordEntry;
use isobox_ports::{AppendError, StoreErrorKind};

/// Appends the events of `source` that come after those that are here; how many, or why they do not.
///
/// What was pruned elsewhere stays here: whoever hands a record over does not decide what this store drops.
/// No event says that a record was imported: the lists of two stores must be able to go on from each other.
pub(super) fn merge(
    ports: &Ports<'_>,
    source: &Source<'_>,
    entry: &RecordEntry,
) -> Result<Result<usize, String>, Stopped> {
    let theirs = match source.records.events(&entry.record) {
        Ok(theirs) => theirs,
        Err(error) => return Ok(Err(format!("the events about it: {}", one_line(&error)))),
    };
    let here = match ports.records.events(&entry.record) {
        Err(error) if error.kind == StoreErrorKind::Damaged => {
            return Ok(Err(format!("the events about it that are here: {}", one_line(&error))));
        }
        here => here?,
    };
    let common = here.iter().zip(&theirs).take_while(|(a, b)| a.id == b.id).count();
    if common == theirs.len() {
        return Ok(Ok(0));
    }
    if common < here.len() {
        return Ok(Err(refused(&theirs[common].id)));
    }
    for stored in &theirs[common..] {
        if stored.event.task != entry.task {
            return Ok(Err(format!("the event {} is about another task", stored.id)));
        }
        if matches!(stored.event.kind, EventKind::Pruned { .. }) {
            return Ok(Err(format!("the event {} says that it was pruned elsewhere, and here it stays", stored.id)));
        }
        match ports.records.append(&stored.event) {
            Ok(_) => {}
            Err(AppendError::Stale { .. }) => return Ok(Err(refused(&stored.id))),
            Err(error @ AppendError::Store(_)) => return Err(error.into()),
        }
    }
    Ok(Ok(theirs.len() - common))
}

fn refused(event: &isobox_domain::content::ContentId) -> String {
    format!("the event {event} does not follow the newest one that is here")
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobox_domain::content::ContentId;
    use isobox_ports::contract::sample::{draft, pruned, record, rejected};
    use isobox_ports::fake::InMemoryStore;
    use isobox_ports::{Attempts, RecordLog};

    fn store() -> (InMemoryStore, ContentId) {
        let store = InMemoryStore::default();
        let attempt = store.begin(&draft(1)).expect("the fake begins");
        let id = store.publish(attempt, &record(1)).expect("the fake publishes");
        (store, id)
    }

    #[test]
    fn a_prune_elsewhere_drops_nothing_here() {
        let ((theirs, id), (here, _)) = (store(), store());
        let entry = theirs.list().expect("the fake lists").next().expect("a record").expect("whole");
        let first = theirs.append(&rejected(1, id, None)).expect("it is the first");
        theirs.append(&pruned(1, id, Some(first))).expect("it follows");
        let ports = Ports { attempts: &here, records: &here, objects: &here };
        let source = Source { records: &theirs, objects: &theirs };
        let Ok(merged) = merge(&ports, &source, &entry) else { panic!("the fake does not fail") };
        assert!(merged.is_err_and(|reason| reason.contains("pruned elsewhere")));
        let left: Vec<_> = here.list().expect("the fake lists").map(|entry| entry.expect("whole").record).collect();
        assert_eq!(left, [id]);
        let events: Vec<_> = here.events(&id).expect("events").iter().map(|stored| stored.id).collect();
        assert_eq!(events, [first], "what was said before is taken over");
    }
}
