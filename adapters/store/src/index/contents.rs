//! What one pack or lane holds, in memory: found by a scan of its headers.

use super::by_id::Listed;
use super::{ChainEnd, Damage, Location, Pack, Row};
use crate::lane_tail::end_to_read;
use crate::pack_scan::{PackScan, Step};
use isobox_domain::content::ContentId;
use isobox_domain::record::RecordEntry;
use isobox_store_format::commit::{Commit, Committed};
use isobox_store_format::entry::EntryKind;
use isobox_store_format::format_file::StoreId;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;

/// How an entry was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) kind: EntryKind,
    /// Whether it was reached by lengths alone.
    pub(super) is_certain: bool,
    /// Whether no COMMIT of its own file follows it.
    pub(super) is_loose: bool,
    /// Whether it is a member of the block that stands there.
    pub(super) is_member: bool,
}

/// So many stretches of damage in one file are told apart.
const MOST_DAMAGE: usize = 4096;

/// What was met, where, and how.
type Met = (ContentId, u64, Found);

/// What one put appended to a lane, from its first entry to the end of its COMMIT.
#[derive(Debug)]
pub(crate) struct Appended {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// What each entry names, and where it stands.
    pub(crate) entries: Vec<(ContentId, u64, EntryKind)>,
    /// The digest of the COMMIT's payload.
    pub(crate) id: ContentId,
    pub(crate) commit: Commit,
}

/// The contents of a file of entries, up to an offset.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contents {
    /// Entries by what they name and where they stand.
    pub(super) entries: BTreeMap<(ContentId, u64), Found>,
    /// Records in the order of their COMMITs: within a lane, of their times.
    pub(super) rows: Vec<Row>,
    /// Events by subject.
    pub(super) events: BTreeSet<(ContentId, ContentId)>,
    /// Records that were pruned.
    pub(super) pruned: BTreeSet<ContentId>,
    pub(super) chain_ends: BTreeMap<u8, ChainEnd>,
    /// Packs whose loose entries belong to COMMITs here.
    pub(super) named: BTreeSet<ContentId>,
    pub(super) damage: Vec<Damage>,
    /// The end of the last COMMIT, up to which all of this is settled.
    pub(super) end: u64,
    /// The digest of the payload of that COMMIT.
    pub(super) last: Option<ContentId>,
}

impl Contents {
    /// Goes on from `end` to `length`. What no COMMIT follows is left for the next time in a lane, and kept as loose in
    /// a sealed pack.
    pub(super) fn scan(&mut self, store: StoreId, pack: Pack, file: &File, length: u64) -> io::Result<()> {
        let start = self.end;
        let length = match pack {
            Pack::Lane(_) => end_to_read(file, store, start..length)?,
            Pack::Sealed(_) => length,
        };
        // The tail of a lane is scanned again until a COMMIT follows it, so its damage is not settled either.
        self.damage.retain(|damage| damage.end <= start);
        let known = self.entries.len() + self.rows.len() + self.events.len() + self.damage.len();
        let mut scan = PackScan::new(store, pack, file, start, length).after(known);
        let mut loose = Vec::new();
        while let Some(step) = scan.find_next()? {
            match step {
                Step::Entry(id, Location { offset, kind, is_certain, is_member, .. }) => {
                    loose.push((id, offset, Found { kind, is_certain, is_loose: false, is_member }));
                }
                // Only compaction writes blocks, of what was committed before.
                Step::Block { offset, members, is_certain, .. } => {
                    for member in members {
                        let found = Found { kind: member.kind, is_certain, is_loose: false, is_member: true };
                        self.entries.insert((member.id, offset), found);
                    }
                }
                Step::Commit { id, commit, end, .. } => {
                    self.admit(&mut loose, |found| found);
                    self.admit_commit(id, &commit);
                    (self.end, self.last) = (end, Some(id));
                }
                Step::Damage { offset, end } => {
                    let record = self.rescue(&mut loose);
                    self.note_damage(Damage { pack, offset, end, record });
                }
            }
        }
        if matches!(pack, Pack::Sealed(_)) {
            self.admit(&mut loose, |found| Found { is_loose: true, ..found });
        }
        Ok(())
    }

    /// Goes on from `end` by a put that starts there: as a scan would find it.
    pub(super) fn take_put(&mut self, put: &Appended) {
        for (id, offset, kind) in &put.entries {
            let found = Found { kind: *kind, is_certain: true, is_loose: false, is_member: false };
            self.entries.insert((*id, *offset), found);
        }
        self.admit_commit(put.id, &put.commit);
        (self.end, self.last) = (put.end, Some(put.id));
    }

    /// These, and what was found after them in the same file.
    pub(super) fn followed_by(mut self, later: Self) -> Self {
        self.entries.extend(later.entries);
        self.rows.extend(later.rows);
        self.events.extend(later.events);
        self.pruned.extend(later.pruned);
        self.chain_ends.extend(later.chain_ends);
        self.named.extend(later.named);
        self.damage.extend(later.damage);
        Self { end: later.end, last: later.last, ..self }
    }

    /// How many entries there are.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// How many entries stand for themselves, outside of blocks.
    pub(super) fn alone(&self) -> usize {
        self.entries.values().filter(|found| !found.is_member).count()
    }

    /// All entries, in the order of what they name.
    pub(super) fn listed(&self) -> Vec<Listed> {
        self.entries.iter().map(|((id, offset), found)| (*id, *offset, *found)).collect()
    }

    /// All records, oldest first.
    pub(super) fn into_rows(mut self) -> Vec<Row> {
        self.rows.sort_by_key(Row::order);
        self.rows
    }

    /// Where `id` stands.
    pub(super) fn locations(&self, pack: Pack, id: &ContentId, is_named: bool) -> Vec<Location> {
        let all = self.entries.range((*id, 0)..=(*id, u64::MAX));
        let visible = all.filter(|(_, found)| is_named || !found.is_loose);
        visible.map(|((_, offset), found)| location(pack, *offset, *found)).collect()
    }

    /// The events about `subject`.
    pub(super) fn events(&self, subject: &ContentId) -> Vec<ContentId> {
        let (least, most) = (ContentId::new([0; 32]), ContentId::new([0xff; 32]));
        self.events.range((*subject, least)..=(*subject, most)).map(|(_, event)| *event).collect()
    }

    /// Each is told by whoever lists. Of more than a disk ever has, which somebody made, it is told where they begin and end.
    fn note_damage(&mut self, damage: Damage) {
        let are_many = self.damage.len() >= MOST_DAMAGE;
        match self.damage.last_mut().filter(|_| are_many) {
            Some(last) => last.end = damage.end,
            None => self.damage.push(damage),
        }
    }

    fn admit(&mut self, entries: &mut Vec<Met>, settle: impl Fn(Found) -> Found) {
        for (id, offset, found) in entries.drain(..) {
            self.entries.insert((id, offset), settle(found));
        }
    }

    // What stands before damage may have been committed there. It is read, but never taken for stored already.
    fn rescue(&mut self, loose: &mut Vec<Met>) -> Option<ContentId> {
        let record = loose.iter().rfind(|(.., found)| found.kind == EntryKind::Record).map(|(id, ..)| *id);
        self.admit(loose, |found| Found { is_certain: false, ..found });
        record
    }

    fn admit_commit(&mut self, id: ContentId, commit: &Commit) {
        let end = ChainEnd { id, sequence: commit.sequence, time: commit.time };
        // A pack that was made of others may hold the COMMITs of a lane in another order.
        self.chain_ends.entry(commit.lane).and_modify(|last| *last = later(*last, end)).or_insert(end);
        self.named.extend(&commit.packs);
        let record = commit.record.id;
        match commit.committed {
            Committed::Event { subject } => {
                self.events.insert((subject, record));
            }
            Committed::Pruned { subject } => {
                self.events.insert((subject, record));
                self.pruned.insert(subject);
            }
            Committed::Record => {
                let (task, attempt, committed_at) = (commit.task, commit.attempt, commit.time);
                let entry = RecordEntry { task, attempt, record, committed_at };
                self.rows.push(Row { entry, lane: commit.lane, sequence: commit.sequence });
            }
        }
    }
}

fn later(one: ChainEnd, other: ChainEnd) -> ChainEnd {
    if other.sequence > one.sequence { other } else { one }
}

/// The place of an entry.
pub(super) fn location(pack: Pack, offset: u64, found: Found) -> Location {
    let Found { kind, is_certain, is_member, .. } = found;
    Location { pack, offset, kind, is_certain, is_member }
}
