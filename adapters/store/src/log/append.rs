//! A tree that grows leaf by leaf, and hands over every tile and bundle as soon as it is full.

use super::tree::{LEVELS, Tree};
use isobox_domain::log::{LogLeaf, TreeHash, TreeHead};
use isobox_ports::StoreError;
use isobox_store_format::log::{
    TILE_WIDTH, Tile, encode_bundle, encode_leaf, encode_tile, leaf_hash, node_in_tile, root,
};

/// Takes the path of a file below the log, and what is in it.
pub(super) type Sink<'a> = &'a mut dyn FnMut(String, Vec<u8>) -> Result<(), StoreError>;

/// A tree that grows.
pub(super) struct Appender {
    size: u64,
    /// The hashes of the last tile of every level, none if it is full.
    edge: Vec<Vec<TreeHash>>,
    /// The leaves of the last bundle, none if it is full.
    leaves: Vec<LogLeaf>,
}

impl Appender {
    /// Begins with a tree of no leaves.
    pub(super) fn new() -> Self {
        Self { size: 0, edge: vec![Vec::new(); LEVELS.into()], leaves: Vec::new() }
    }

    /// Goes on from `tree`.
    pub(super) fn from_tree(tree: &Tree<'_>) -> Result<Self, StoreError> {
        let edge: Vec<_> = (0..LEVELS).map(|level| tree.edge(level).to_vec()).collect();
        let leaves = if edge[0].is_empty() { Vec::new() } else { tree.bundle(tree.bundles() - 1)? };
        Ok(Self { size: tree.size(), edge, leaves })
    }

    /// How many leaves there are.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Adds a leaf.
    pub(super) fn push(&mut self, leaf: LogLeaf, sink: Sink<'_>) -> Result<(), StoreError> {
        self.leaves.push(leaf);
        self.size += 1;
        if self.leaves.len() as u64 == TILE_WIDTH {
            sink(self.full_tile(0).bundle_path(), encode_bundle(&self.leaves))?;
            self.leaves.clear();
        }
        let mut hash = leaf_hash(&encode_leaf(&leaf));
        for level in 0..LEVELS {
            let hashes = &mut self.edge[usize::from(level)];
            hashes.push(hash);
            if (hashes.len() as u64) < TILE_WIDTH {
                break;
            }
            let full = std::mem::take(hashes);
            // It is full, so this is its root.
            hash = node_in_tile(&full, 8, 0).unwrap_or(hash);
            sink(self.full_tile(level).path(), encode_tile(&full))?;
        }
        Ok(())
    }

    /// Hands over the tiles that are not full, and the bundle; those that `is_known` are left out.
    pub(super) fn finish(&self, is_known: impl Fn(&Tile) -> bool, sink: Sink<'_>) -> Result<(), StoreError> {
        for level in 0..LEVELS {
            let hashes = &self.edge[usize::from(level)];
            let tile = Tile { width: hashes.len() as u64, ..self.next_tile(level) };
            if hashes.is_empty() || is_known(&tile) {
                continue;
            }
            sink(tile.path(), encode_tile(hashes))?;
            if level == 0 {
                sink(tile.bundle_path(), encode_bundle(&self.leaves))?;
            }
        }
        Ok(())
    }

    /// The tree so far.
    pub(super) fn head(&self) -> TreeHead {
        // Where the complete subtree of a bit of the size lies, all larger ones are to the left of it.
        let node = |height: u8, index: u64| {
            let (hashes, within) = (&self.edge[usize::from(height / 8)], height % 8);
            let first = (index << within) % TILE_WIDTH;
            node_in_tile(hashes, within, (first >> within) as usize).ok_or(())
        };
        let root = root(self.size, &mut { node });
        TreeHead { size: self.size, root: root.unwrap_or(TreeHash([0; 32])) }
    }

    /// The tile of a level that the hashes which came last made full.
    fn full_tile(&self, level: u8) -> Tile {
        let next = self.next_tile(level);
        Tile { index: next.index - 1, ..next }
    }

    /// The tile of a level that is not full, as it will be.
    fn next_tile(&self, level: u8) -> Tile {
        Tile { level, index: (self.size >> (8 * level)) / TILE_WIDTH, width: TILE_WIDTH }
    }
}
