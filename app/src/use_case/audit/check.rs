//! Checking a proof with nothing but keys and perhaps an older checkpoint: no store is needed.

use super::vouching;
use isobox_domain::log::Checkpoint;
use isobox_store_format::log::{Proof, SignedNote, VerifierKey};

/// What came of a check.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    /// The proof, if it could be read.
    pub(crate) proof: Option<Proof>,
    /// The key that vouches for its checkpoint.
    pub(crate) key: Option<VerifierKey>,
    /// The size of the older tree that is its beginning.
    pub(crate) older: Option<u64>,
    /// Why it does not hold; `None` where it does.
    pub(crate) refuted: Option<String>,
}

/// Checks `bytes` by `keys`, and against an older checkpoint.
pub(crate) fn check(bytes: &[u8], older: Option<&(SignedNote, Checkpoint)>, keys: &[VerifierKey]) -> Checked {
    let mut checked = Checked { proof: None, key: None, older: None, refuted: None };
    checked.refuted = look(&mut checked, bytes, older, keys).err();
    checked
}

fn look(
    checked: &mut Checked,
    bytes: &[u8],
    older: Option<&(SignedNote, Checkpoint)>,
    keys: &[VerifierKey],
) -> Result<(), String> {
    let proof = Proof::parse(bytes).map_err(|error| format!("it is no proof: {error}"))?;
    let proof = checked.proof.insert(proof);
    let checkpoint = proof.checkpoint().map_err(|error| error.to_string())?;
    let Some(key) = vouching(&proof.note, &checkpoint, keys) else {
        return Err("no key that is known has signed its checkpoint; --key names one".to_owned());
    };
    checked.key = Some(key.clone());
    proof.verify_inclusion(&checkpoint.head).map_err(|error| error.to_string())?;
    let Some((note, older)) = older else { return Ok(()) };
    if vouching(note, older, std::slice::from_ref(key)).is_none() {
        return Err("the older checkpoint is not signed by the same key".to_owned());
    }
    proof.verify_consistency(&older.head, &checkpoint.head).map_err(|error| error.to_string())?;
    checked.older = Some(older.head.size);
    Ok(())
}
