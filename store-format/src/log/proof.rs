//! Proofs that carry all that they need: a leaf, its way to the root, and a checkpoint. C2SP's tlog-proof, in one spelling.

use super::base64;
use super::leaf::{LEAF_LEN, decode_leaf, encode_leaf};
use super::note::{MAX_NOTE, NoteError, SignedNote, checkpoint_of, decimal};
use super::tree::{leaf_hash, verify_consistency, verify_inclusion};
use crate::entry::le_u64;
use isobox_domain::log::{Checkpoint, LogLeaf, TreeHash, TreeHead};
use std::fmt;

/// First line.
const HEAD: &str = "c2sp.org/tlog-proof@v1";
/// Most hashes of a path: one a level of a tree of 2⁶⁴ leaves, and one where a proof of consistency starts.
const MAX_PATH: usize = 65;
/// Longest proof that is read, in bytes: two such paths in Base64, a leaf and a note fit.
pub const MAX_PROOF: usize = MAX_NOTE + (8 << 10);

/// Some bytes are no proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// They are too many.
    #[error("it is longer than the {MAX_PROOF} bytes that are read")]
    TooLong,
    /// They are not text in UTF-8.
    #[error("it is no text in UTF-8")]
    Text,
    /// A part of it is missing, or written otherwise than it should be.
    #[error("expected {0}")]
    Malformed(&'static str),
    /// The note in it is none, or not of a checkpoint.
    #[error("its checkpoint cannot be read")]
    Note(#[from] NoteError),
}

/// What a proof, taken by itself, fails to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refuted {
    /// The leaf is not in the tree.
    #[error("its hashes do not lead from the leaf to the root of the checkpoint")]
    Inclusion,
    /// It has no proof of consistency with a tree of that size.
    #[error("it says nothing about an older checkpoint of size {0}")]
    NotAsked(u64),
    /// The older tree is not the beginning of this one.
    #[error("the older checkpoint, of size {0}, is not of the beginning of this log")]
    Consistency(u64),
}

/// That an older tree is the beginning of the one of the checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Older {
    /// The size of the older tree, from 1.
    pub size: u64,
    /// The proof of consistency.
    pub path: Vec<TreeHash>,
}

/// A proof. What is printed is what was parsed, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The leaf.
    pub leaf: LogLeaf,
    /// Which leaf of the tree it is, from 0.
    pub index: u64,
    /// The hashes on its way to the root.
    pub path: Vec<TreeHash>,
    /// That an older tree is a part of it.
    pub older: Option<Older>,
    /// The checkpoint, signed.
    pub note: SignedNote,
}

impl Proof {
    /// Reads a proof. Nothing in it is verified but its form.
    pub fn parse(bytes: &[u8]) -> Result<Self, ProofError> {
        if bytes.len() > MAX_PROOF {
            return Err(ProofError::TooLong);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| ProofError::Text)?;
        let (head, note) = text.split_once("\n\n").ok_or(ProofError::Malformed("a checkpoint behind a blank line"))?;
        let mut lines = head.split('\n');
        if lines.next() != Some(HEAD) {
            return Err(ProofError::Malformed("`c2sp.org/tlog-proof@v1` in the first line"));
        }
        let extra = lines.next().and_then(|line| line.strip_prefix("extra ")).and_then(base64::decode);
        let (leaf, older) = extra.as_deref().and_then(parse_extra).ok_or(ProofError::Malformed("a leaf in `extra`"))?;
        let index = lines.next().and_then(|line| line.strip_prefix("index ")).and_then(decimal);
        let index = index.ok_or(ProofError::Malformed("a number in `index`"))?;
        let path: Option<Vec<_>> = lines.map(|line| base64::decode_array(line).map(TreeHash)).collect();
        let path = path.filter(|path| path.len() <= MAX_PATH).ok_or(ProofError::Malformed("a hash a line"))?;
        let note = SignedNote::parse(note.as_bytes())?;
        checkpoint_of(&note)?;
        Ok(Self { leaf, index, path, older, note })
    }

    /// The checkpoint.
    pub fn checkpoint(&self) -> Result<Checkpoint, NoteError> {
        checkpoint_of(&self.note)
    }

    /// Whether the leaf is in the tree of `head`, which is to be the one of a checkpoint that somebody vouches for.
    pub fn verify_inclusion(&self, head: &TreeHead) -> Result<(), Refuted> {
        let leaf = leaf_hash(&encode_leaf(&self.leaf));
        match verify_inclusion(&leaf, self.index, head, &self.path) {
            true => Ok(()),
            false => Err(Refuted::Inclusion),
        }
    }

    /// Whether `older` is the beginning of the tree of `head`, by what the proof carries.
    pub fn verify_consistency(&self, older: &TreeHead, head: &TreeHead) -> Result<(), Refuted> {
        let carried = self.older.as_ref().filter(|carried| carried.size == older.size);
        match carried {
            None if older == head => Ok(()),
            None if older.size == head.size => Err(Refuted::Consistency(older.size)),
            None => Err(Refuted::NotAsked(older.size)),
            Some(carried) if verify_consistency(older, head, &carried.path) => Ok(()),
            Some(_) => Err(Refuted::Consistency(older.size)),
        }
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut extra = encode_leaf(&self.leaf).to_vec();
        if let Some(Older { size, path }) = &self.older {
            extra.extend(size.to_le_bytes());
            path.iter().for_each(|hash| extra.extend(hash.0));
        }
        writeln!(f, "{HEAD}\nextra {}\nindex {}", base64::encode(&extra), self.index)?;
        self.path.iter().try_for_each(|hash| writeln!(f, "{}", base64::encode(&hash.0)))?;
        write!(f, "\n{}", self.note)
    }
}

fn parse_extra(extra: &[u8]) -> Option<(LogLeaf, Option<Older>)> {
    let (leaf, rest) = extra.split_first_chunk::<LEAF_LEN>()?;
    let leaf = decode_leaf(leaf)?;
    let Some((size, path)) = rest.split_first_chunk::<8>() else { return rest.is_empty().then_some((leaf, None)) };
    let (size, (path, torn)) = (le_u64(size, 0), path.as_chunks::<32>());
    let older = Older { size, path: path.iter().copied().map(TreeHash).collect() };
    (size > 0 && torn.is_empty() && path.len() <= MAX_PATH).then_some((leaf, Some(older)))
}
