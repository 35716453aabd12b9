//! Keys of signed notes, as C2SP's signed-note writes them: Ed25519, with the name of the log that they sign for.

use super::base64;
use isobox_domain::content::{hex, parse_hex};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// What stands before an Ed25519 key: the kind of its signatures.
const ED25519_KIND: u8 = 1;
const SECRET: &str = "PRIVATE+KEY+";
/// Longest name, in bytes.
const LONGEST_NAME: usize = 255;

/// A text is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// It is no name for a key.
    #[error("a name has 1 to {LONGEST_NAME} bytes, without blanks, `+` and control characters")]
    Name,
    /// It is not written as a key is.
    #[error("a verifier key is `NAME+HASH+KEY`, with 8 hex digits and Base64 of an Ed25519 key")]
    Form,
    /// Its hash is another key's.
    #[error("the hash in it is not that of its name and key")]
    Hash,
}

/// What a note is verified with: `NAME+HASH+KEY`.
#[derive(Clone, PartialEq, Eq)]
pub struct VerifierKey {
    name: String,
    public: [u8; 32],
}

impl VerifierKey {
    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The 32 bytes of the Ed25519 key.
    pub const fn public(&self) -> &[u8; 32] {
        &self.public
    }

    /// What stands before its signatures, and in its text as hex digits.
    pub fn id(&self) -> [u8; 4] {
        let hash = Sha256::new()
            .chain_update(&self.name)
            .chain_update([b'\n', ED25519_KIND])
            .chain_update(self.public)
            .finalize();
        [hash[0], hash[1], hash[2], hash[3]]
    }

    /// Whether `signature` is one of this key over `message`.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.public).verify(message, signature).is_ok()
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}+{}", self.name, hex(&self.id()), encode(&self.public))
    }
}

impl fmt::Debug for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for VerifierKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let (name, hash, public) = decode(text)?;
        let key = Self { name, public };
        if hash == key.id() { Ok(key) } else { Err(KeyError::Hash) }
    }
}

/// What a note is signed with: `PRIVATE+KEY+NAME+HASH+SEED`.
pub struct SigningKey {
    seed: [u8; 32],
    pair: Ed25519KeyPair,
    verifier: VerifierKey,
}

impl SigningKey {
    /// The key of `name` that follows from 32 random bytes.
    pub fn from_seed(name: &str, seed: [u8; 32]) -> Result<Self, KeyError> {
        if !is_name(name) {
            return Err(KeyError::Name);
        }
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| KeyError::Form)?;
        let public = pair.public_key().as_ref().try_into().map_err(|_| KeyError::Form)?;
        Ok(Self { seed, pair, verifier: VerifierKey { name: name.to_owned(), public } })
    }

    /// The key from its text, without a line break behind it.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let (name, hash, seed) = decode(text.strip_prefix(SECRET).ok_or(KeyError::Form)?)?;
        let key = Self::from_seed(&name, seed)?;
        if hash == key.verifier.id() { Ok(key) } else { Err(KeyError::Hash) }
    }

    /// The text of the key: a secret.
    pub fn secret_text(&self) -> String {
        let VerifierKey { name, .. } = &self.verifier;
        format!("{SECRET}{name}+{}+{}", hex(&self.verifier.id()), encode(&self.seed))
    }

    /// The key that verifies what this one signs.
    pub const fn verifier(&self) -> &VerifierKey {
        &self.verifier
    }

    /// The signature over `message`.
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.pair.sign(message).as_ref().to_vec()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({}, …)", self.verifier.name)
    }
}

/// Whether a key can have this name.
pub(super) fn is_name(name: &str) -> bool {
    let is_plain = |letter: char| !letter.is_whitespace() && !letter.is_control() && letter != '+';
    (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(is_plain)
}

fn encode(key: &[u8; 32]) -> String {
    base64::encode(&[&[ED25519_KIND], &key[..]].concat())
}

fn decode(text: &str) -> Result<(String, [u8; 4], [u8; 32]), KeyError> {
    // Base64 has plus signs of its own.
    let mut parts = text.splitn(3, '+');
    let (Some(name), Some(hash), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(KeyError::Form);
    };
    if !is_name(name) {
        return Err(KeyError::Name);
    }
    let hash = parse_hex(hash).ok_or(KeyError::Form)?;
    let [kind, key @ ..] = base64::decode_array::<33>(key).ok_or(KeyError::Form)?;
    if kind == ED25519_KIND { Ok((name.to_owned(), hash, key)) } else { Err(KeyError::Form) }
}
