//! The transparency log: a Merkle tree in the tlog-tiles layout of C2SP, its signed checkpoints and its proofs.
//!
//! `docs/store-format.md`, section 10, says the same in prose.

mod base64;
mod key;
mod leaf;
mod note;
mod proof;
mod tile;
mod tree;

pub use key::{KeyError, SigningKey, VerifierKey};
pub use leaf::{LEAF_LEN, decode_leaf, encode_leaf};
pub use note::{
    MAX_NOTE, MAX_SIGNATURES, NoteError, NoteSignature, SignedNote, Vouched, checkpoint_of, checkpoint_text,
};
pub use proof::{MAX_PROOF, Older, Proof, ProofError, Refuted};
pub use tile::{TILE_WIDTH, Tile, decode_bundle, decode_tile, encode_bundle, encode_tile, node_in_tile};
pub use tree::{
    consistency_path, empty_root, inclusion_path, leaf_hash, node_hash, root, verify_consistency, verify_inclusion,
};
