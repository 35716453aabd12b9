//! A leaf of the log in bytes: of one length, and in one spelling.

use crate::entry::{le_u32, le_u64};
use crate::limits::{LANES, MAX_SEQUENCE};
use isobox_domain::content::ContentId;
use isobox_domain::log::{LeafKind, LogLeaf};
use isobox_domain::task_id::TaskId;
use isobox_domain::timestamp::Timestamp;

/// Length of a leaf in bytes.
pub const LEAF_LEN: usize = 96;
const VERSION: u8 = 1;

/// The bytes of a leaf.
pub fn encode_leaf(leaf: &LogLeaf) -> [u8; LEAF_LEN] {
    let mut bytes = [0; LEAF_LEN];
    let kind = match leaf.kind {
        LeafKind::Record => 1,
        LeafKind::Event => 2,
        LeafKind::Lost => 3,
    };
    bytes[..3].copy_from_slice(&[VERSION, kind, leaf.lane]);
    bytes[4..8].copy_from_slice(&leaf.attempt.to_le_bytes());
    bytes[8..16].copy_from_slice(leaf.task.as_bytes());
    bytes[16..24].copy_from_slice(&leaf.sequence.to_le_bytes());
    bytes[24..32].copy_from_slice(&leaf.time.unix_ms().to_le_bytes());
    bytes[32..64].copy_from_slice(leaf.record.as_bytes());
    bytes[64..].copy_from_slice(leaf.commit.as_bytes());
    bytes
}

/// The leaf whose bytes these are; `None` for bytes that [`encode_leaf`] does not write.
pub fn decode_leaf(bytes: &[u8]) -> Option<LogLeaf> {
    let bytes: &[u8; LEAF_LEN] = bytes.try_into().ok()?;
    let kind = match bytes[1] {
        1 => LeafKind::Record,
        2 => LeafKind::Event,
        3 => LeafKind::Lost,
        _ => return None,
    };
    let leaf = LogLeaf {
        kind,
        lane: bytes[2],
        sequence: le_u64(bytes, 16),
        task: TaskId::new(bytes[8..16].try_into().ok()?),
        attempt: le_u32(bytes, 4),
        record: ContentId::new(bytes[32..64].try_into().ok()?),
        commit: ContentId::new(bytes[64..].try_into().ok()?),
        time: Timestamp::from_unix_ms(le_u64(bytes, 24))?,
    };
    let is_told = kind != LeafKind::Lost || leaf == LogLeaf::lost(leaf.lane, leaf.sequence, leaf.time);
    let is_in_range = leaf.lane < LANES && (1..=MAX_SEQUENCE).contains(&leaf.sequence);
    (is_in_range && is_told && encode_leaf(&leaf) == *bytes).then_some(leaf)
}
