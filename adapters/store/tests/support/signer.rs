//! Who vouches for logs in tests.
#![allow(dead_code, reason = "each test target uses a part of it")]

use isobox_domain::log::TreeHead;
use isobox_ports::{Cause, CheckpointSigner};
use isobox_store_format::log::{SignedNote, SigningKey, Vouched, checkpoint_of};
use std::sync::Mutex;

/// Signs with a key that everybody knows, and remembers the newest checkpoint.
pub(crate) struct TestSigner {
    key: SigningKey,
    pub(crate) newest: Mutex<Option<Vec<u8>>>,
}

impl TestSigner {
    /// The n-th signer.
    pub(crate) fn new(n: u8) -> Self {
        Self { key: SigningKey::from_seed("example.com/log", [n; 32]).unwrap(), newest: Mutex::default() }
    }
}

impl CheckpointSigner for TestSigner {
    fn head_of(&self, note: &[u8]) -> Option<TreeHead> {
        let note = SignedNote::parse(note).ok()?;
        let is_own = note.vouched_by(self.key.verifier()) == Vouched::Yes;
        checkpoint_of(&note).ok().filter(|_| is_own).map(|checkpoint| checkpoint.head)
    }

    fn newest(&self) -> Result<Option<Vec<u8>>, Cause> {
        Ok(self.newest.lock().unwrap().clone())
    }

    fn sign(&self, head: &TreeHead) -> Result<Vec<u8>, Cause> {
        let note = SignedNote::of_checkpoint(head, &self.key).to_string().into_bytes();
        *self.newest.lock().unwrap() = Some(note.clone());
        Ok(note)
    }
}
