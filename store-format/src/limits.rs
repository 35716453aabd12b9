//! How long things may be. A reader checks these before it allocates or skips.

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Content of this length and more has a file of its own below `large/`, in bytes.
pub const LARGE_FROM: u64 = MIB;
/// Longest raw length of an entry in a pack, in bytes.
pub const MAX_PACKED_RAW: u64 = MIB;
/// Longest raw length of a block, in bytes.
pub const MAX_BLOCK_RAW: u64 = 4 * MIB;
/// Most members of a block.
pub const MAX_MEMBERS: usize = 1 << 14;
/// Longest payload of a block, in bytes: the longest table, and what zstd gives as its bound for [`MAX_BLOCK_RAW`].
pub const MAX_BLOCK: u64 = 4 + 37 * MAX_MEMBERS as u64 + MAX_BLOCK_RAW + 17 * KIB;
/// Longest dictionary, in bytes.
pub const MAX_DICTIONARY: u64 = 16 * KIB;
/// The dictionary of a pack ends within so many bytes from its beginning.
pub const DICTIONARY_REACH: u64 = 64 * KIB;
/// Longest payload of a COMMIT, in bytes.
pub const MAX_COMMIT: u64 = 64 * KIB;
/// Longest raw length of a large artifact, in bytes.
pub const MAX_LARGE_RAW: u64 = 64 * GIB;
/// Raw bytes of every frame of a large artifact but its last, which has 1 to as many.
pub const FRAME_RAW: u64 = MIB;
/// Longest zstd frame, in bytes: what zstd itself gives as its bound for [`FRAME_RAW`] is below it.
pub const MAX_FRAME: u64 = MIB + 8 * KIB;
/// Largest window of a zstd frame, in bytes.
pub const MAX_WINDOW: u64 = 8 * MIB;
/// A pack is sealed before it would grow over this, in bytes.
pub const MAX_PACK: u64 = 64 * MIB;
/// Most entries of a pack that are read, those in its blocks and stretches of damage included: each takes memory where it
/// has no table. No writer makes more than half as many.
pub const MAX_ENTRIES: u64 = 1 << 18;
/// Greatest number of a COMMIT in its lane, so that the next one can always be counted.
pub const MAX_SEQUENCE: u64 = u64::MAX - 1;
/// Most direct children of a record.
pub const MAX_CHILDREN: usize = 64;
/// Lanes that can be written at the same time.
pub const LANES: u8 = 32;
