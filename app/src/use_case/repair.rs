//! Repairs a Task Store: what is damaged is brought back from whole copies, here or elsewhere; the rest is told.

mod anywhere;

use crate::failure::Failure;
use crate::use_case::import::Verdict;
use crate::use_case::take_over::{self, Source, take_over_one};
use anywhere::Anywhere;
use isobox_domain::content::ContentId;
use isobox_domain::record::RecordEntry;
use isobox_domain::timestamp::Timestamp;
use isobox_domain::verification::{Affected, Thoroughness, Verification};
use isobox_ports::{Content, MendMode, MendedFile, Mender, TellAdvance, Verifier};
use std::collections::BTreeSet;
use std::io::Cursor;

/// What it touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) mender: &'a dyn Mender,
    pub(crate) verifier: &'a dyn Verifier,
    pub(crate) store: take_over::Ports<'a>,
}

/// What came of a repair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Repaired {
    /// Damaged files of which something was restored or is lost.
    pub(crate) files: Vec<MendedFile>,
    /// Records that were put into the store once more with what was missing of them.
    pub(crate) records: u64,
    /// What was wrong before.
    pub(crate) before: Verification,
    /// What is still wrong.
    pub(crate) after: Verification,
}

/// Repairs the store by what it has itself and what `sources` have.
pub(crate) fn repair(
    ports: &Ports<'_>,
    sources: &[Source<'_>],
    mode: MendMode,
    tell: TellAdvance<'_>,
) -> Result<Repaired, Failure> {
    let before = ports.verifier.verify(Thoroughness::Deep, tell)?;
    if before.is_sound() {
        if mode == MendMode::Mend {
            ports.mender.rebuild_tables()?;
        }
        return Ok(Repaired { before, ..Repaired::default() });
    }
    let files = ports.mender.mend(&|id| find(sources, id), mode)?;
    if mode == MendMode::Look {
        return Ok(Repaired { files, after: before.clone(), before, records: 0 });
    }
    ports.mender.rebuild_tables()?;
    let mut after = ports.verifier.verify(Thoroughness::Deep, tell)?;
    let records = put_again(ports, sources, &after)?;
    if records > 0 {
        after = ports.verifier.verify(Thoroughness::Deep, tell)?;
    }
    Ok(Repaired { files, records, before, after })
}

fn find(sources: &[Source<'_>], id: &ContentId) -> Option<Content> {
    // Where it is damaged, too, the next one may have it.
    let artifact = sources.iter().find_map(|source| source.objects.open(id).ok().flatten());
    let record = || sources.iter().find_map(|source| source.records.bytes(id).ok().flatten());
    artifact.or_else(|| record().map(|bytes| Box::new(Cursor::new(bytes)) as Content))
}

/// Puts the records that are not whole once more, with everything below them; how many.
fn put_again(ports: &Ports<'_>, sources: &[Source<'_>], found: &Verification) -> Result<u64, Failure> {
    let affected: BTreeSet<Affected> = found.defects.iter().flat_map(|defect| &defect.records).copied().collect();
    let own = Source { records: ports.store.records, objects: ports.store.objects };
    let anywhere = Anywhere { all: [own].iter().chain(sources).copied().collect() };
    let anywhere = Source { records: &anywhere, objects: &anywhere };
    let mut count = 0;
    for Affected { task, attempt, record } in affected {
        let entry = RecordEntry { task, attempt, record, committed_at: Timestamp::nearest(0) };
        // What cannot be put is told by the verification that follows.
        if matches!(take_over_one(&ports.store, &anywhere, &entry), Ok(Verdict::Imported { .. })) {
            count += 1;
        }
    }
    Ok(count)
}
