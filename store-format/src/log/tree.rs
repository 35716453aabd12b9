//! The Merkle tree of RFC 6962, section 2.1: roots, proofs, and what verifies them.

use isobox_domain::log::{TreeHash, TreeHead};
use sha2::{Digest, Sha256};

/// The hash of the leaf with the bytes `entry`.
pub fn leaf_hash(entry: &[u8]) -> TreeHash {
    TreeHash(Sha256::new().chain_update([0]).chain_update(entry).finalize().into())
}

/// The hash of a node.
pub fn node_hash(left: &TreeHash, right: &TreeHash) -> TreeHash {
    TreeHash(Sha256::new().chain_update([1]).chain_update(left.0).chain_update(right.0).finalize().into())
}

/// The root of the tree without leaves.
pub fn empty_root() -> TreeHash {
    TreeHash(Sha256::digest([]).into())
}

/// The root of the tree of `size` leaves. `node` knows the hash of every complete subtree: of height `h`, the `i`-th one
/// has the leaves from `i << h` on.
pub fn root<E>(size: u64, node: &mut impl FnMut(u8, u64) -> Result<TreeHash, E>) -> Result<TreeHash, E> {
    if size == 0 { Ok(empty_root()) } else { range(0, size, node) }
}

/// The hashes by which the leaf `index` leads to the root of the tree of `size` leaves, from the leaf upwards. There must
/// be such a leaf.
pub fn inclusion_path<E>(
    index: u64,
    size: u64,
    node: &mut impl FnMut(u8, u64) -> Result<TreeHash, E>,
) -> Result<Vec<TreeHash>, E> {
    let (mut start, mut length, mut path) = (0, size, Vec::new());
    while length > 1 {
        let left = left_part(length);
        if index - start < left {
            path.push(range(start + left, length - left, node)?);
            length = left;
        } else {
            path.push(range(start, left, node)?);
            (start, length) = (start + left, length - left);
        }
    }
    path.reverse();
    Ok(path)
}

/// The hashes that show the tree of `old` leaves to be the beginning of the one of `new`. `old` is from 1 to `new`.
pub fn consistency_path<E>(
    old: u64,
    new: u64,
    node: &mut impl FnMut(u8, u64) -> Result<TreeHash, E>,
) -> Result<Vec<TreeHash>, E> {
    let (mut start, mut length, mut left_over, mut path) = (0, new, old, Vec::new());
    while left_over < length {
        let left = left_part(length);
        if left_over <= left {
            path.push(range(start + left, length - left, node)?);
            length = left;
        } else {
            path.push(range(start, left, node)?);
            (start, length, left_over) = (start + left, length - left, left_over - left);
        }
    }
    // The old root itself is known to whoever verifies.
    if start > 0 {
        path.push(range(start, length, node)?);
    }
    path.reverse();
    Ok(path)
}

/// Whether `path` leads from `leaf`, the hash of the leaf `index`, to `head`. See RFC 9162, section 2.1.3.2.
pub fn verify_inclusion(leaf: &TreeHash, index: u64, head: &TreeHead, path: &[TreeHash]) -> bool {
    if index >= head.size {
        return false;
    }
    let (mut node, mut last, mut hash) = (index, head.size - 1, *leaf);
    for sibling in path {
        if last == 0 {
            return false;
        }
        if node & 1 == 1 || node == last {
            hash = node_hash(sibling, &hash);
            ascend_to_right_child(&mut node, &mut last);
        } else {
            hash = node_hash(&hash, sibling);
        }
        (node, last) = (node >> 1, last >> 1);
    }
    last == 0 && hash == head.root
}

/// Whether `path` shows `old` to be the beginning of `new`. See RFC 9162, section 2.1.4.2.
pub fn verify_consistency(old: &TreeHead, new: &TreeHead, path: &[TreeHash]) -> bool {
    if old.size == 0 || old.size >= new.size {
        return old == new && path.is_empty() && old.size > 0;
    }
    let (mut node, mut last) = (old.size - 1, new.size - 1);
    while node & 1 == 1 {
        (node, last) = (node >> 1, last >> 1);
    }
    // Where the old tree is complete, its root is where the proof starts.
    let (first, rest) = match path.split_first() {
        _ if old.size.is_power_of_two() => (old.root, path),
        Some((first, rest)) => (*first, rest),
        None => return false,
    };
    let (mut old_hash, mut new_hash) = (first, first);
    for sibling in rest {
        if last == 0 {
            return false;
        }
        if node & 1 == 1 || node == last {
            (old_hash, new_hash) = (node_hash(sibling, &old_hash), node_hash(sibling, &new_hash));
            ascend_to_right_child(&mut node, &mut last);
        } else {
            new_hash = node_hash(&new_hash, sibling);
        }
        (node, last) = (node >> 1, last >> 1);
    }
    last == 0 && old_hash == old.root && new_hash == new.root
}

fn ascend_to_right_child(node: &mut u64, last: &mut u64) {
    while *node & 1 == 0 && *node != 0 {
        (*node, *last) = (*node >> 1, *last >> 1);
    }
}

/// The largest power of two below `length`, which is over 1.
const fn left_part(length: u64) -> u64 {
    1 << (length - 1).ilog2()
}

/// The hash over the leaves from `start` on. `start` is a multiple of the power of two from `length` on.
fn range<E>(start: u64, length: u64, node: &mut impl FnMut(u8, u64) -> Result<TreeHash, E>) -> Result<TreeHash, E> {
    if length.is_power_of_two() {
        let height = length.ilog2();
        // A height is below 64.
        return node(height as u8, start >> height);
    }
    let left = left_part(length);
    let (one, other) = (range(start, left, node)?, range(start + left, length - left, node)?);
    Ok(node_hash(&one, &other))
}
