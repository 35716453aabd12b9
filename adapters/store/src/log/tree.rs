//! The tree of one head, read from tiles of which none is believed before it leads to the root.

use super::place::LogDir;
use crate::error::damaged;
use isobox_domain::log::{LogLeaf, TreeHash, TreeHead};
use isobox_ports::StoreError;
use isobox_store_format::log::{
    LEAF_LEN, TILE_WIDTH, Tile, consistency_path, decode_bundle, decode_tile, encode_leaf, inclusion_path, leaf_hash,
    node_in_tile, root,
};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Longest tile and longest bundle, in bytes.
const MAX_TILE: usize = 32 * TILE_WIDTH as usize;
const MAX_BUNDLE: usize = (2 + LEAF_LEN) * TILE_WIDTH as usize;
/// Levels of tiles: 256⁸ leaves are more than can be counted.
pub(super) const LEVELS: u8 = 8;

/// The hashes of a tile.
type Hashes = Rc<Vec<TreeHash>>;

/// A tree whose right edge leads to its root. Everything else is checked against that when it is read.
pub(super) struct Tree<'a> {
    log: &'a LogDir,
    head: TreeHead,
    /// The last tile of every level where it is not full; empty where it is.
    edge: Vec<Hashes>,
    /// Of every level the tile that was read last.
    recent: RefCell<HashMap<u8, (u64, Hashes)>>,
}

impl<'a> Tree<'a> {
    /// Reads the edge of the tree of `head`.
    pub(super) fn open(log: &'a LogDir, head: TreeHead) -> Result<Self, StoreError> {
        let mut edge = Vec::new();
        for level in 0..LEVELS {
            let hashes = head.size >> (8 * level);
            let (index, width) = (hashes / TILE_WIDTH, hashes % TILE_WIDTH);
            let is_there = width > 0;
            edge.push(Rc::new(if is_there { read(log, Tile { level, index, width })? } else { Vec::new() }));
        }
        let tree = Self { log, head, edge, recent: RefCell::default() };
        if root(head.size, &mut |height, index| tree.node(height, index))? == head.root {
            return Ok(tree);
        }
        Err(damaged(
            "read",
            log.shown("tile"),
            format!("its last tiles do not lead to the root of {} COMMITs", head.size),
        ))
    }

    /// The hashes of the last tile of `level`, none if that is full.
    pub(super) fn edge(&self, level: u8) -> &[TreeHash] {
        self.edge.get(usize::from(level)).map_or(&[], |hashes| hashes)
    }

    /// How many leaves there are.
    pub(super) fn size(&self) -> u64 {
        self.head.size
    }

    /// How many bundles there are.
    pub(super) fn bundles(&self) -> u64 {
        self.head.size.div_ceil(TILE_WIDTH)
    }

    /// The first leaf in a bundle.
    pub(super) fn first_of(&self, bundle: u64) -> u64 {
        bundle * TILE_WIDTH
    }

    /// The leaves in a bundle.
    pub(super) fn bundle(&self, index: u64) -> Result<Vec<LogLeaf>, StoreError> {
        let hashes = self.tile(0, index)?;
        let tile = Tile { level: 0, index, width: hashes.len() as u64 };
        let leaves = read_bundle(self.log, tile)?;
        let is_hashed = leaves.iter().zip(&*hashes).all(|(leaf, hash)| leaf_hash(&encode_leaf(leaf)) == *hash);
        match is_hashed {
            true => Ok(leaves),
            false => Err(damaged(
                "read",
                self.log.shown(&tile.bundle_path()),
                "its leaves do not have the hashes in the tree",
            )),
        }
    }

    /// One leaf.
    pub(super) fn leaf(&self, index: u64) -> Result<Option<LogLeaf>, StoreError> {
        if index >= self.head.size {
            return Ok(None);
        }
        // Less than the width of a tile.
        Ok(self.bundle(index / TILE_WIDTH)?.get((index % TILE_WIDTH) as usize).copied())
    }

    /// The tree of the first `size` leaves.
    pub(super) fn head_at(&self, size: u64) -> Result<TreeHead, StoreError> {
        self.require(size)?;
        Ok(TreeHead { size, root: root(size, &mut |height, index| self.node(height, index))? })
    }

    /// How a leaf leads to the root.
    pub(super) fn inclusion(&self, index: u64) -> Result<Vec<TreeHash>, StoreError> {
        inclusion_path(index, self.head.size, &mut |height, index| self.node(height, index))
    }

    /// How the tree of the first `size` leaves is a part of this one.
    pub(super) fn consistency(&self, size: u64) -> Result<Vec<TreeHash>, StoreError> {
        self.require(size)?;
        consistency_path(size, self.head.size, &mut |height, index| self.node(height, index))
    }

    fn require(&self, size: u64) -> Result<(), StoreError> {
        if (1..=self.head.size).contains(&size) {
            return Ok(());
        }
        let reason = format!("it holds {} COMMITs, and a tree of {size} was asked for", self.head.size);
        Err(damaged("read", self.log.shown("tile"), reason))
    }

    /// The hash of a complete subtree of the tree.
    fn node(&self, height: u8, index: u64) -> Result<TreeHash, StoreError> {
        let (level, within) = (height / 8, height % 8);
        let first = index << within;
        let hashes = self.tile(level, first / TILE_WIDTH)?;
        // Less than the width of a tile.
        let node = node_in_tile(&hashes, within, ((first % TILE_WIDTH) >> within) as usize);
        node.ok_or_else(|| damaged("read", self.log.shown("tile"), "a hash beyond the tree was asked for"))
    }

    /// The hashes of a tile, each of which leads to the root.
    fn tile(&self, level: u8, index: u64) -> Result<Hashes, StoreError> {
        let missing = || damaged("read", self.log.shown("tile"), "a tile beyond the tree was asked for");
        let tile = Tile::of_tree(level, index, self.head.size).ok_or_else(missing)?;
        if !tile.is_full() {
            return Ok(Rc::clone(&self.edge[usize::from(level)]));
        }
        if let Some((known, hashes)) = self.recent.borrow().get(&level)
            && *known == index
        {
            return Ok(Rc::clone(hashes));
        }
        let above = self.tile(level + 1, index / TILE_WIDTH)?;
        let hashes = read(self.log, tile)?;
        // Less than the width of a tile.
        if node_in_tile(&hashes, 8, 0) != above.get((index % TILE_WIDTH) as usize).copied() {
            return Err(damaged(
                "read",
                self.log.shown(&tile.path()),
                "its hashes do not lead to the root of the tree",
            ));
        }
        let hashes = Rc::new(hashes);
        self.recent.borrow_mut().insert(level, (index, Rc::clone(&hashes)));
        Ok(hashes)
    }
}

fn read(log: &LogDir, tile: Tile) -> Result<Vec<TreeHash>, StoreError> {
    read_piece(log, tile, Tile::path, MAX_TILE, decode_tile)
}

/// The leaves in the file of a bundle, whatever their hashes.
pub(super) fn read_bundle(log: &LogDir, tile: Tile) -> Result<Vec<LogLeaf>, StoreError> {
    read_piece(log, tile, Tile::bundle_path, MAX_BUNDLE, decode_bundle)
}

/// The hashes in the file of a tile, wherever they lead.
pub(super) fn read_tile(log: &LogDir, tile: Tile) -> Result<Vec<TreeHash>, StoreError> {
    read(log, tile)
}

/// What a file holds, or the beginning of what the full one does that came after it.
fn read_piece<T>(
    log: &LogDir,
    tile: Tile,
    path: impl Fn(&Tile) -> String,
    limit: usize,
    decode: impl Fn(&[u8], u64) -> Option<Vec<T>>,
) -> Result<Vec<T>, StoreError> {
    for found in [tile, tile.full()] {
        let Some(bytes) = log.read(&path(&found), limit)? else { continue };
        let Some(mut pieces) = decode(&bytes, found.width) else {
            return Err(damaged("read", log.shown(&path(&found)), "it is not of the form that it should have"));
        };
        // At most the width of a tile.
        pieces.truncate(tile.width as usize);
        return Ok(pieces);
    }
    Err(damaged("read", log.shown(&path(&tile)), "it is missing"))
}
