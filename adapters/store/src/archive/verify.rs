//! Verifying an Archive: every byte, and that it holds what its records refer to and nothing else.

use super::FsArchive;
use crate::verify::told::Told;
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::verification::{Affected, Defect, DefectKind, Thoroughness, Verification};
use isobox_ports::{Advance, Cause, RecordLog, StoreError, StoreErrorKind, TellAdvance, Verifier};
use isobox_store_format::archive::{ArchiveError, Row, Section};
use isobox_store_format::below::{BelowError, each_below};
use isobox_store_format::change_set::ReadError;

impl Verifier for FsArchive {
    fn verify(&self, how: Thoroughness, tell: TellAdvance<'_>) -> Result<Verification, StoreError> {
        let head = *self.archive.head();
        let counts = Verification { records: head.records, events: head.events, ..Verification::default() };
        let mut found = Verification { entries: head.rows(), ..counts };
        if let Err(why) = self.archive.require_length(self.length) {
            found.add(self.damage(0, why.to_string(), None));
        }
        let mut marks = Marks::new(head.rows());
        if how != Thoroughness::Quick {
            self.contents(&mut marks, &mut found, tell)?;
        }
        let mut told = Told::new(&mut found);
        let mut is_all = true;
        for at in head.rows_of(Section::Records) {
            is_all &= self.record(at, &mut marks, &mut told)?;
        }
        // What a damaged record or Change Set refers to is not known.
        if is_all {
            for at in head.rows_of(Section::Artifacts).filter(|at| !marks.needed.has(*at)) {
                let row = self.row(at)?;
                let reason = "no record in the archive refers to it".to_owned();
                told.add(self.damage(row.offset, reason, Some(row.id)).kind, None);
            }
        }
        Ok(found)
    }

    fn verify_record(&self, record: &ContentId) -> Result<Option<Verification>, StoreError> {
        let Some((at, _)) = self.record_row(record)? else { return Ok(None) };
        let mut found = Verification { records: 1, ..Verification::default() };
        let mut marks = Marks::new(self.archive.head().rows());
        let mut told = Told::new(&mut found);
        self.record(at, &mut marks, &mut told)?;
        for at in self.archive.head().rows_of(Section::Artifacts).filter(|at| marks.needed.has(*at)) {
            let row = self.row(at)?;
            told.found.read += 1;
            told.found.read_bytes += row.length;
            if let Err(why) = self.archive.content(&row) {
                marks.wrong.set(at);
                told.add(self.damage(row.offset, why.to_string(), Some(row.id)).kind, None);
            }
        }
        // Once more, to name the record that this touches.
        self.record(at, &mut marks, &mut told)?;
        Ok(Some(found))
    }
}

/// One bit for each row of the table.
struct Bits(Vec<u64>);

impl Bits {
    fn new(rows: u64) -> Self {
        Self(vec![0; rows.div_ceil(64) as usize])
    }

    fn set(&mut self, at: u64) {
        self.0[(at / 64) as usize] |= 1 << (at % 64);
    }

    fn has(&self, at: u64) -> bool {
        self.0[(at / 64) as usize] & 1 << (at % 64) != 0
    }
}

/// What is known of each row.
struct Marks {
    /// Its content is another one.
    wrong: Bits,
    /// A record refers to it.
    needed: Bits,
}

impl Marks {
    fn new(rows: u64) -> Self {
        Self { wrong: Bits::new(rows), needed: Bits::new(rows) }
    }
}

impl FsArchive {
    /// Reads everything once.
    fn contents(&self, marks: &mut Marks, found: &mut Verification, tell: TellAdvance<'_>) -> Result<(), StoreError> {
        let all_bytes = self.archive.head().length;
        let mut wrong = Vec::new();
        let checked = self.archive.check(|at, row, is_right| {
            found.read += 1;
            found.read_bytes += row.length;
            tell(Advance { done_bytes: row.offset + row.length, all_bytes });
            if !is_right {
                marks.wrong.set(at);
                wrong.push(*row);
                // So many are told, all others are counted.
                wrong.truncate(Verification::TOLD + 1);
            }
        });
        for row in wrong {
            found.add(self.damage(row.offset, "its content is another one".to_owned(), Some(row.id)));
        }
        match checked {
            // What is cut off was told of.
            Err(ArchiveError::Digest) if self.archive.require_length(self.length).is_err() => Ok(()),
            Err(why @ ArchiveError::Digest) if found.is_sound() => {
                found.add(self.damage(self.archive.head().digest_at(), why.to_string(), None));
                Ok(())
            }
            Err(ArchiveError::Digest) | Ok(()) => Ok(()),
            Err(why) => Err(self.refused("read archive")(why)),
        }
    }

    /// Marks what the record in row `at` refers to; whether that is all known.
    fn record(&self, at: u64, marks: &mut Marks, told: &mut Told<'_>) -> Result<bool, StoreError> {
        let row = self.row(at)?;
        let bytes = match self.small(&row) {
            Ok(bytes) => bytes,
            Err(error) => return self.lost(error, &row, told),
        };
        let who = match self.entry(at) {
            Ok(entry) => Affected { task: entry.task, attempt: entry.attempt, record: row.id },
            Err(error) => return self.lost(error, &row, told),
        };
        let mut fetch = |part: &ContentRef| self.part(part);
        let below = each_below(&bytes, &mut fetch, &mut |object| self.object(object, who, marks, told));
        let is_all = below.is_ok();
        match below {
            // The part was told of.
            Ok(()) | Err(BelowError::ChangeSet(ReadError::Fetch { .. })) => {}
            Err(why) => told.add(self.damage(row.offset, crate::error::chain(&why), Some(row.id)).kind, Some(who)),
        }
        match self.events(&row.id) {
            Err(error) if error.kind == StoreErrorKind::Damaged => {
                let reason = format!("an event about it: {}", error.source);
                told.add(self.damage(row.offset, reason, Some(row.id)).kind, Some(who));
            }
            events => drop(events?),
        }
        Ok(is_all)
    }

    fn object(&self, object: &ContentRef, who: Affected, marks: &mut Marks, told: &mut Told<'_>) -> Result<(), Cause> {
        match self.archive.find(Section::Artifacts, &object.id)? {
            Some((at, row)) => {
                marks.needed.set(at);
                if row.length != object.length {
                    let reason = format!("it has {} bytes, the record says {}", row.length, object.length);
                    told.add(self.damage(row.offset, reason, Some(row.id)).kind, Some(who));
                } else if marks.wrong.has(at) {
                    told.add(
                        self.damage(row.offset, "its content is another one".into(), Some(row.id)).kind,
                        Some(who),
                    );
                }
            }
            None => told.add(DefectKind::Missing { object: object.id }, Some(who)),
        }
        Ok(())
    }

    /// Tells that a record cannot be read: of which Task it is, nothing else says.
    fn lost(&self, error: StoreError, row: &Row, told: &mut Told<'_>) -> Result<bool, StoreError> {
        if error.kind != StoreErrorKind::Damaged {
            return Err(error);
        }
        told.add(self.damage(row.offset, error.source.to_string(), Some(row.id)).kind, None);
        Ok(false)
    }

    fn damage(&self, offset: u64, reason: String, object: Option<ContentId>) -> Defect {
        Defect::new(DefectKind::Damaged { file: self.shown.clone(), offset, reason, object }, Vec::new())
    }
}
