//! What says what was logged: checkpoints and proofs, from whoever hands them over.

use super::script::Script;
use isobox_domain::log::{TreeHash, TreeHead};
use isobox_store_format::log::{
    LEAF_LEN, Proof, SignedNote, SigningKey, TILE_WIDTH, Tile, VerifierKey, Vouched, checkpoint_of, checkpoint_text,
    consistency_path, decode_bundle, decode_leaf, decode_tile, encode_bundle, encode_leaf, encode_tile, inclusion_path,
    leaf_hash, node_hash, node_in_tile, root, verify_consistency, verify_inclusion,
};
use std::convert::Infallible;

pub(crate) fn checkpoint_note(bytes: &[u8]) {
    let Ok(note) = SignedNote::parse(bytes) else { return };
    assert_eq!(note.to_string().as_bytes(), bytes);
    let Ok(checkpoint) = checkpoint_of(&note) else { return };
    assert_eq!(checkpoint_text(&checkpoint), note.text());
}

// The root of a proof that was made up can be made to fit, but not for two trees at once.
pub(crate) fn log_proof(bytes: &[u8]) {
    let Ok(proof) = Proof::parse(bytes) else { return };
    assert_eq!(proof.to_string().as_bytes(), bytes);
    let head = proof.checkpoint().expect("it was parsed with its checkpoint").head;
    let mut other = TreeHead { size: head.size, root: head.root };
    other.root.0[0] ^= 1;
    assert!(!(proof.verify_inclusion(&head).is_ok() && proof.verify_inclusion(&other).is_ok()));
    if let Some(older) = &proof.older {
        let older = TreeHead { size: older.size, root: head.root };
        assert!(!(proof.verify_consistency(&older, &head).is_ok() && proof.verify_consistency(&older, &other).is_ok()));
    }
}

// One width for what a tile or a bundle of so many bytes may have.
pub(crate) fn log_tile(bytes: &[u8]) {
    if let Some(leaf) = decode_leaf(bytes) {
        assert_eq!(encode_leaf(&leaf)[..], *bytes);
    }
    let width = |of: usize| (bytes.len() / of) as u64;
    if let Some(leaves) = decode_bundle(bytes, width(2 + LEAF_LEN)) {
        assert_eq!(encode_bundle(&leaves), bytes);
        assert_eq!(decode_bundle(bytes, width(2 + LEAF_LEN) + 1), None);
    }
    if let Some(hashes) = decode_tile(bytes, width(32)) {
        assert_eq!(encode_tile(&hashes), bytes);
        check_nodes(&hashes);
    }
    check_tree(&mut Script::new(bytes));
}

fn check_nodes(hashes: &[TreeHash]) {
    for height in 0..=8 {
        let nodes = hashes.len() >> height;
        for index in [0, nodes.saturating_sub(1)] {
            let first = index << height;
            let part = hashes.get(first..first + (1 << height));
            let expected = part.map(|part| {
                let Ok(root) = root(part.len() as u64, &mut |height, index| node_of(part, height, index));
                root
            });
            assert_eq!(node_in_tile(hashes, height, index), expected);
        }
        assert_eq!(node_in_tile(hashes, height, nodes), None);
    }
}

fn node_of(hashes: &[TreeHash], height: u8, index: u64) -> Result<TreeHash, Infallible> {
    let at = (index as usize) << height;
    match height {
        0 => Ok(hashes[at]),
        _ => {
            let (left, right) = (node_of(hashes, height - 1, 2 * index)?, node_of(hashes, height - 1, 2 * index + 1)?);
            Ok(node_hash(&left, &right))
        }
    }
}

// In a tree whose leaves are all alike, the height of a node says its hash: so it may be of any size.
fn check_tree(script: &mut Script<'_>) {
    let (size, older, index) = (script.long(), script.long(), script.long());
    let (level, wrong) = (script.byte(), script.byte());
    if let Some(tile) = Tile::of_tree(level, index, size) {
        assert!((1..=TILE_WIDTH).contains(&tile.width));
        assert_eq!(tile.path().ends_with(&format!(".p/{}", tile.width)), !tile.is_full());
    }
    if size == 0 || index >= size || older == 0 || older > size {
        return;
    }
    let mut nodes = vec![leaf_hash(b"leaf")];
    (0..64).for_each(|height| nodes.push(node_hash(&nodes[height], &nodes[height])));
    let mut node = |height: u8, _| Ok::<_, Infallible>(nodes[usize::from(height)]);
    let (Ok(root_now), Ok(root_then)) = (root(size, &mut node), root(older, &mut node));
    let Ok(mut path) = inclusion_path(index, size, &mut node);
    let leaf = leaf_hash(b"leaf");
    let (now, then) = (TreeHead { size, root: root_now }, TreeHead { size: older, root: root_then });
    assert!(verify_inclusion(&leaf, index, &now, &path));
    let Ok(consistency) = consistency_path(older, size, &mut node);
    assert!(verify_consistency(&then, &now, &consistency));
    if !path.is_empty() {
        let at = usize::from(wrong) % path.len();
        path[at].0[usize::from(wrong) % 32] ^= 1;
        assert!(!verify_inclusion(&leaf, index, &now, &path));
    }
}

// A key in text has one spelling, and what one signs the other verifies.
pub(crate) fn log_key(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        check_key(text);
    }
    let mut script = Script::new(bytes);
    let seed = script.array();
    let rest = script.take(bytes.len());
    let Ok(name) = std::str::from_utf8(rest) else { return };
    let Ok(key) = SigningKey::from_seed(name, seed) else { return };
    check_key(&key.secret_text());
    check_key(&key.verifier().to_string());
    let head = TreeHead { size: 1, root: TreeHash(seed) };
    let note = SignedNote::of_checkpoint(&head, &key);
    let parsed = SignedNote::parse(note.to_string().as_bytes());
    assert_eq!(parsed.map(|note| note.vouched_by(key.verifier()) == Vouched::Yes), Ok(true));
}

fn check_key(text: &str) {
    if let Ok(key) = text.parse::<VerifierKey>() {
        assert_eq!(key.to_string(), text);
    }
    if let Ok(key) = SigningKey::parse(text) {
        assert_eq!(key.secret_text(), text);
        assert_eq!(key.verifier().to_string().parse().as_ref(), Ok(key.verifier()));
    }
}
