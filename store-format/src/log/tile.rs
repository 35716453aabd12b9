//! Tiles: 256 neighbouring hashes of every eighth level of the tree, and the leaves in bundles of 256.

use super::leaf::{LEAF_LEN, decode_leaf, encode_leaf};
use super::tree::node_hash;
use isobox_domain::log::{LogLeaf, TreeHash};

/// Hashes in a full tile, and leaves in a full bundle.
pub const TILE_WIDTH: u64 = 256;
const HASH_LEN: usize = 32;
/// Length of an entry of a bundle: 16 bits of its length, and a leaf.
const ENTRY_LEN: usize = 2 + LEAF_LEN;

/// A tile of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tile {
    /// Which level, from 0: that of the leaves, of every 256 of these, …
    pub level: u8,
    /// Which tile of the level.
    pub index: u64,
    /// How many hashes it has, from 1 to 256.
    pub width: u64,
}

impl Tile {
    /// The tile of the tree of `size` leaves at this place; `None` if there is none.
    pub fn of_tree(level: u8, index: u64, size: u64) -> Option<Self> {
        let hashes = size.checked_shr(8 * u32::from(level)).unwrap_or(0);
        let width = hashes.checked_sub(index.checked_mul(TILE_WIDTH)?)?.min(TILE_WIDTH);
        (width > 0).then_some(Self { level, index, width })
    }

    /// Whether it is as wide as tiles get: then it never changes.
    pub const fn is_full(&self) -> bool {
        self.width == TILE_WIDTH
    }

    /// The same tile when it is full.
    pub const fn full(&self) -> Self {
        Self { width: TILE_WIDTH, ..*self }
    }

    /// Its path below the log: `tile/0/x001/x234/067`, with `.p/5` behind one of width 5.
    pub fn path(&self) -> String {
        format!("tile/{}/{}", self.level, self.place())
    }

    /// The path of the bundle with the leaves of this tile, which is of level 0.
    pub fn bundle_path(&self) -> String {
        format!("tile/entries/{}", self.place())
    }

    fn place(&self) -> String {
        let mut place = format!("{:03}", self.index % 1000);
        let mut rest = self.index / 1000;
        while rest > 0 {
            place = format!("x{:03}/{place}", rest % 1000);
            rest /= 1000;
        }
        if self.is_full() { place } else { format!("{place}.p/{}", self.width) }
    }
}

/// The bytes of a tile.
pub fn encode_tile(hashes: &[TreeHash]) -> Vec<u8> {
    hashes.iter().flat_map(|hash| hash.0).collect()
}

/// The hashes of a tile of `width`; `None` for bytes of another length.
pub fn decode_tile(bytes: &[u8], width: u64) -> Option<Vec<TreeHash>> {
    let (hashes, rest) = bytes.as_chunks::<HASH_LEN>();
    (rest.is_empty() && hashes.len() as u64 == width).then(|| hashes.iter().copied().map(TreeHash).collect())
}

/// The bytes of a bundle.
pub fn encode_bundle(leaves: &[LogLeaf]) -> Vec<u8> {
    let entry = |leaf| [&(LEAF_LEN as u16).to_be_bytes()[..], &encode_leaf(leaf)].concat();
    leaves.iter().flat_map(entry).collect()
}

/// The leaves of a bundle of `width`; `None` for bytes that are none.
pub fn decode_bundle(bytes: &[u8], width: u64) -> Option<Vec<LogLeaf>> {
    let (entries, rest) = bytes.as_chunks::<ENTRY_LEN>();
    if !rest.is_empty() || entries.len() as u64 != width {
        return None;
    }
    let leaf = |entry: &[u8; ENTRY_LEN]| {
        let (length, leaf) = entry.split_at(2);
        (length == (LEAF_LEN as u16).to_be_bytes()).then(|| decode_leaf(leaf)).flatten()
    };
    entries.iter().map(leaf).collect()
}

/// The hash of the `index`-th complete subtree of height `height` above the hashes of a tile; `None` if it is not in it.
pub fn node_in_tile(hashes: &[TreeHash], height: u8, index: usize) -> Option<TreeHash> {
    let width = 1usize.checked_shl(height.into())?;
    let start = index.checked_mul(width)?;
    let mut level = hashes.get(start..start.checked_add(width)?)?.to_vec();
    while level.len() > 1 {
        level = level.as_chunks::<2>().0.iter().map(|[left, right]| node_hash(left, right)).collect();
    }
    level.first().copied()
}
