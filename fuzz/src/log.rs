//! What says what was logged: checkpoints and proofs, from whoever hands them over.

use isobox_domain::log::TreeHead;
use isobox_store_format::log::{Proof, SignedNote, checkpoint_of, checkpoint_text};

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
