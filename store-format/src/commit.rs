//! COMMIT entries: what makes a record or an event durable and visible, chained per lane.

use crate::entry::{le_u32, le_u64};
use crate::format_file::StoreId;
use crate::limits::{LANES, MAX_CHILDREN, MAX_COMMIT, MAX_SEQUENCE};
use crate::object::reference_to;
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::task_id::TaskId;
use isobox_domain::timestamp::Timestamp;

/// The last bytes of a COMMIT's payload, after its length: so that the last COMMIT of a file is found from its end.
pub const TRAILER_MAGIC: [u8; 4] = *b"TIMC";
/// Length of what ends a COMMIT's payload, in bytes: its own length as a 32-bit integer, and [`TRAILER_MAGIC`].
pub const TRAILER_LEN: usize = 8;
const FIXED_LEN: usize = 162;
const CHILD_LEN: usize = 41;

/// What a COMMIT makes visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Committed {
    /// A Task Record.
    Record,
    /// An Event about the record with this digest.
    Event {
        /// The record.
        subject: ContentId,
    },
    /// The Event that says that the record with this digest was pruned: told apart, so that whoever lists records need
    /// not read events.
    Pruned {
        /// The record.
        subject: ContentId,
    },
}

/// A direct child of a record, stored with it or before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommittedChild {
    /// What it is to the record: a number of [`ChildRole`](crate::record::ChildRole).
    pub role: u8,
    /// Which object.
    pub reference: ContentRef,
}

/// The payload of a COMMIT entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The store that it was written in.
    pub store: StoreId,
    /// The Task.
    pub task: TaskId,
    /// Which attempt, from 1; 0 for an event.
    pub attempt: u32,
    /// Record or event.
    pub committed: Committed,
    /// The record or event.
    pub record: ContentRef,
    /// When it was committed; within a lane never before the COMMIT before.
    pub time: Timestamp,
    /// The lane.
    pub lane: u8,
    /// How many COMMITs the lane has, this one included; goes on across sealing.
    pub sequence: u64,
    /// The digest of the payload of the lane's previous COMMIT; `None` exactly when `sequence` is 1.
    pub previous: Option<ContentId>,
    /// How many bytes before this entry, in the same file, belong to it.
    pub span: u64,
    /// Packs that hold further entries of it, after their own last COMMIT; each by the BLAKE3 of the file.
    pub packs: Vec<ContentId>,
    /// The direct children, those included that were already stored.
    pub children: Vec<CommittedChild>,
}

/// Some bytes are no COMMIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the payload is no commit: {0}")]
pub struct CommitError(&'static str);

impl Commit {
    /// The payload.
    pub fn encode(&self) -> Result<Vec<u8>, CommitError> {
        let length = FIXED_LEN + 32 * self.packs.len() + CHILD_LEN * self.children.len() + TRAILER_LEN;
        if self.children.len() > MAX_CHILDREN || length as u64 > MAX_COMMIT {
            return Err(CommitError("it has too many children or packs"));
        }
        if self.sequence > MAX_SEQUENCE {
            return Err(CommitError("no other can follow it in its lane"));
        }
        let mut bytes = Vec::with_capacity(length);
        self.encode_fixed(&mut bytes);
        self.packs.iter().for_each(|pack| bytes.extend(pack.as_bytes()));
        for child in &self.children {
            bytes.push(child.role);
            bytes.extend(child.reference.id.as_bytes());
            bytes.extend(child.reference.length.to_le_bytes());
        }
        bytes.extend((length as u32).to_le_bytes());
        bytes.extend(TRAILER_MAGIC);
        Ok(bytes)
    }

    fn encode_fixed(&self, bytes: &mut Vec<u8>) {
        let none = ContentId::new([0; 32]);
        let (kind, subject) = match self.committed {
            Committed::Record => (1, none),
            Committed::Event { subject } => (2, subject),
            Committed::Pruned { subject } => (3, subject),
        };
        bytes.extend(self.store.0);
        bytes.extend(self.task.as_bytes());
        bytes.extend(self.attempt.to_le_bytes());
        // At most MAX_CHILDREN, checked by the caller.
        bytes.extend([kind, self.lane, self.children.len() as u8, 0]);
        bytes.extend(self.record.id.as_bytes());
        bytes.extend(self.record.length.to_le_bytes());
        bytes.extend(self.time.unix_ms().to_le_bytes());
        bytes.extend(self.sequence.to_le_bytes());
        bytes.extend(self.span.to_le_bytes());
        bytes.extend(self.previous.unwrap_or(none).as_bytes());
        bytes.extend(subject.as_bytes());
        bytes.extend((self.packs.len() as u16).to_le_bytes());
    }

    /// Reads a payload. Only what [`encode`](Self::encode) writes is accepted.
    pub fn decode(bytes: &[u8]) -> Result<Self, CommitError> {
        if bytes.len() < FIXED_LEN + TRAILER_LEN || bytes.len() as u64 > MAX_COMMIT {
            return Err(CommitError("its length is wrong"));
        }
        let commit = decode_unchecked(bytes).ok_or(CommitError("a field is out of range"))?;
        if commit.encode().as_deref() != Ok(bytes) {
            return Err(CommitError("it is not encoded as it should be"));
        }
        Ok(commit)
    }

    /// The digest of the payload: what the lane's next COMMIT names as its previous one.
    pub fn id(payload: &[u8]) -> ContentId {
        reference_to(payload).id
    }
}

/// How long the payload is that ends in these bytes, if a COMMIT ends there.
pub fn payload_length(trailer: &[u8; TRAILER_LEN]) -> Option<u64> {
    let length = u64::from(le_u32(trailer, 0));
    (trailer[4..] == TRAILER_MAGIC && length <= MAX_COMMIT && length >= (FIXED_LEN + TRAILER_LEN) as u64)
        .then_some(length)
}

fn decode_unchecked(bytes: &[u8]) -> Option<Commit> {
    let (kind, lane, child_count) = (bytes[28], bytes[29], usize::from(bytes[30]));
    let sequence = le_u64(bytes, 80);
    let pack_count = usize::from(u16::from_le_bytes(array(bytes, 160)?));
    let children_at = FIXED_LEN + 32 * pack_count;
    if lane >= LANES || !(1..=MAX_SEQUENCE).contains(&sequence) {
        return None;
    }
    Some(Commit {
        store: StoreId(array(bytes, 0)?),
        task: TaskId::new(array(bytes, 16)?),
        attempt: le_u32(bytes, 24),
        committed: match kind {
            1 => Committed::Record,
            2 => Committed::Event { subject: id(bytes, 128)? },
            3 => Committed::Pruned { subject: id(bytes, 128)? },
            _ => return None,
        },
        record: ContentRef { id: id(bytes, 32)?, length: le_u64(bytes, 64) },
        time: Timestamp::from_unix_ms(le_u64(bytes, 72))?,
        lane,
        sequence,
        previous: if sequence == 1 { None } else { Some(id(bytes, 96)?) },
        span: le_u64(bytes, 88),
        packs: (0..pack_count).map(|n| id(bytes, FIXED_LEN + 32 * n)).collect::<Option<_>>()?,
        children: (0..child_count).map(|n| child(bytes, children_at + CHILD_LEN * n)).collect::<Option<_>>()?,
    })
}

fn child(bytes: &[u8], at: usize) -> Option<CommittedChild> {
    let length = bytes.get(at + 33..at + CHILD_LEN).map(|field| le_u64(field, 0))?;
    Some(CommittedChild { role: bytes[at], reference: ContentRef { id: id(bytes, at + 1)?, length } })
}

fn id(bytes: &[u8], at: usize) -> Option<ContentId> {
    array(bytes, at).map(ContentId::new)
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit() -> Commit {
        let reference = |n| ContentRef { id: ContentId::new([n; 32]), length: u64::from(n) };
        Commit {
            store: StoreId([1; 16]),
            task: TaskId::new([2; 8]),
            attempt: 3,
            committed: Committed::Record,
            record: reference(4),
            time: Timestamp::nearest(1_800_000_000_000),
            lane: 5,
            sequence: 6,
            previous: Some(ContentId::new([7; 32])),
            span: 8,
            packs: vec![ContentId::new([9; 32])],
            children: vec![CommittedChild { role: 1, reference: reference(10) }],
        }
    }

    #[test]
    fn records_and_events_read_back_and_their_end_says_how_long_they_are() {
        let event = Commit {
            committed: Committed::Event { subject: ContentId::new([11; 32]) },
            attempt: 0,
            sequence: 1,
            previous: None,
            packs: Vec::new(),
            children: Vec::new(),
            ..commit()
        };
        for commit in [commit(), event] {
            let bytes = commit.encode().unwrap();
            assert_eq!(Commit::decode(&bytes), Ok(commit));
            assert_eq!(payload_length(bytes.last_chunk().unwrap()), Some(bytes.len() as u64));
        }
    }

    #[test]
    fn what_no_writer_writes_is_refused() {
        let bytes = commit().encode().unwrap();
        for length in 0..bytes.len() {
            assert!(Commit::decode(&bytes[..length]).is_err());
        }
        assert!(Commit::decode(&[bytes.as_slice(), b"x"].concat()).is_err());
        for (at, value) in [(28, 4), (29, LANES), (30, 2), (31, 1), (72, 255), (160, 9), (bytes.len() - 1, 0)] {
            let mut changed = bytes.clone();
            changed[at..].iter_mut().take(if at == 72 { 8 } else { 1 }).for_each(|byte| *byte = value);
            assert!(Commit::decode(&changed).is_err(), "byte {at}");
        }
        let numbered = |sequence| Commit { sequence, ..commit() }.encode();
        assert!(numbered(MAX_SEQUENCE).is_ok_and(|bytes| Commit::decode(&bytes).is_ok()));
        assert!(numbered(MAX_SEQUENCE + 1).is_err(), "no other could follow it");
        let mut record_with_subject = bytes.clone();
        record_with_subject[130] = 1;
        assert!(Commit::decode(&record_with_subject).is_err());
    }

    #[test]
    fn more_children_than_a_record_may_have_are_not_written() {
        let child = commit().children[0];
        let many = Commit { children: vec![child; MAX_CHILDREN + 1], ..commit() };
        assert!(many.encode().is_err());
    }
}
