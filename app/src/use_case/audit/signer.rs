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

#[cfg(test)]
mod tests {
    use super::*;
    use isobox_domain::log::TreeHash;
    use isobox_ports::fake::InMemoryAuditKeys;

    #[test]
    fn what_is_signed_is_kept_with_the_key_and_is_known_again_by_no_other() {
        let keys = InMemoryAuditKeys::default();
        let key = |name, seed| SigningKey::from_seed(name, [seed; 32]).expect("a key");
        let (own, other, namesake) = (key("a", 1), key("b", 1), key("a", 2));
        let signer = |key| StoreSigner { key, keys: &keys, name: "01" };
        let head = TreeHead { size: 3, root: TreeHash([7; 32]) };
        let note = signer(&own).sign(&head).expect("sign");
        assert_eq!(signer(&own).newest().expect("it was kept").as_deref(), Some(&note[..]));
        assert_eq!(signer(&own).head_of(&note), Some(head));
        assert_eq!((signer(&other).head_of(&note), signer(&namesake).head_of(&note)), (None, None));
        assert_eq!(signer(&own).head_of(&note[1..]), None);
    }
}
