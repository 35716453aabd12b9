//! Signing checkpoints with the key of a log, and keeping the newest one with it.

use super::vouching;
use isobox_domain::log::TreeHead;
use isobox_ports::{AuditKeys, Cause, CheckpointSigner};
use isobox_store_format::log::{SignedNote, SigningKey, checkpoint_of};

/// Vouches for the log called `name`.
pub(super) struct StoreSigner<'a> {
    pub(super) key: &'a SigningKey,
    pub(super) keys: &'a dyn AuditKeys,
    pub(super) name: &'a str,
}

impl CheckpointSigner for StoreSigner<'_> {
    fn head_of(&self, note: &[u8]) -> Option<TreeHead> {
        let note = SignedNote::parse(note).ok()?;
        let checkpoint = checkpoint_of(&note).ok()?;
        let own = std::slice::from_ref(self.key.verifier());
        vouching(&note, &checkpoint, own).map(|_| checkpoint.head)
    }

    fn newest(&self) -> Result<Option<Vec<u8>>, Cause> {
        Ok(self.keys.newest(self.name)?)
    }

    fn sign(&self, head: &TreeHead) -> Result<Vec<u8>, Cause> {
        let note = SignedNote::of_checkpoint(head, self.key).to_string().into_bytes();
        self.keys.keep_newest(self.name, &note)?;
        Ok(note)
    }
}
