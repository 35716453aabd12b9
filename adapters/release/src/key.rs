//! The keys that releases must be signed with: those of minisign, an Ed25519 key each.

use minisign_verify::{PublicKey, Signature};

/// Keys of which each one's word is enough. More than one is for the time in which a publisher changes keys.
#[derive(Clone, Debug)]
pub struct TrustedKeys(Vec<PublicKey>);

/// Why a text names no keys.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a key of releases is the 56 characters that `minisign -G` prints, and begins with RW; commas stand between several"
)]
pub struct KeyError;

impl TrustedKeys {
    /// Parses keys as minisign writes them, with commas between them.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let key = |word: &str| PublicKey::from_base64(word.trim()).map_err(|_| KeyError);
        text.split(',').map(key).collect::<Result<_, _>>().map(Self)
    }

    /// Whether one of them signed `content`: the problem with `signature`, the text of a file of minisign, if not.
    pub(crate) fn verify(&self, content: &[u8], signature: &[u8]) -> Result<(), String> {
        let text = str::from_utf8(signature).map_err(|_| "its signature is no text".to_owned())?;
        let signature = Signature::decode(text).map_err(|_| "its signature is not one of minisign".to_owned())?;
        // The old kind, over the bytes themselves and not their hash, is not made by any minisign since 2021.
        let is_by = |key: &PublicKey| key.verify(content, &signature, false).is_ok();
        match self.0.iter().any(is_by) {
            true => Ok(()),
            false => Err("no key that is trusted signed it".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use minisign::KeyPair;

    fn sign(pair: &KeyPair, content: &[u8]) -> String {
        minisign::sign(Some(&pair.pk), &pair.sk, content, Some("said"), None).unwrap().into_string()
    }

    fn pairs() -> [KeyPair; 2] {
        [(); 2].map(|()| KeyPair::generate_unencrypted_keypair().unwrap())
    }

    #[test]
    fn only_a_trusted_key_is_believed_and_only_on_what_it_signed() {
        let [own, other] = pairs();
        let keys = TrustedKeys::parse(&own.pk.to_base64()).unwrap();
        let signature = sign(&own, b"content");
        assert_eq!(keys.verify(b"content", signature.as_bytes()), Ok(()));
        assert!(keys.verify(b"Content", signature.as_bytes()).is_err());
        assert!(keys.verify(b"content", sign(&other, b"content").as_bytes()).is_err());
        assert!(keys.verify(b"content", b"").is_err());
        assert!(keys.verify(b"content", signature.replace("said", "sAid").as_bytes()).is_err());
    }

    #[test]
    fn while_keys_are_changed_either_is_believed() {
        let [old, new] = pairs();
        let keys = TrustedKeys::parse(&format!("{}, {}", old.pk.to_base64(), new.pk.to_base64())).unwrap();
        for pair in [&old, &new] {
            assert_eq!(keys.verify(b"x", sign(pair, b"x").as_bytes()), Ok(()));
        }
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for text in ["", "RW", "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3,"] {
            assert_eq!(TrustedKeys::parse(text).unwrap_err(), KeyError, "{text}");
        }
    }
}
