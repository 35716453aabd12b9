//! Signed notes, and the checkpoints in them: C2SP's signed-note and tlog-checkpoint, each in one spelling.

use super::base64;
use super::key::{SigningKey, VerifierKey, is_name};
use isobox_domain::log::{Checkpoint, TreeHash, TreeHead};
use std::fmt::{self, Write};

/// Longest note that is read, in bytes.
pub const MAX_NOTE: usize = 64 << 10;
/// Most signatures of a note; C2SP asks for 16 at least.
pub const MAX_SIGNATURES: usize = 32;
/// What starts a line with a signature.
const DASH: &str = "— ";
/// Length of what says which key made a signature, in bytes.
const KEY_ID_LEN: usize = 4;

/// Some bytes are no signed note, or one of no checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// They are too many.
    #[error("it is longer than the {MAX_NOTE} bytes that are read")]
    TooLong,
    /// They are not text in UTF-8, or have control characters.
    #[error("it is no plain text in UTF-8")]
    Text,
    /// The lines with signatures are not as they should be.
    #[error("it does not end in a blank line and 1 to {MAX_SIGNATURES} lines `— NAME SIGNATURE`")]
    Signatures,
    /// Its text is not that of a checkpoint.
    #[error("its text is not a checkpoint: an origin, a size and a root, a line each")]
    Checkpoint,
}

/// One signature of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteSignature {
    /// The name of the key.
    pub name: String,
    /// What tells keys of the same name apart.
    pub key_id: [u8; KEY_ID_LEN],
    /// The signature.
    pub bytes: Vec<u8>,
}

/// Whether a key vouches for a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vouched {
    /// It has signed it.
    Yes,
    /// A signature in its name is none.
    Forged,
    /// It is not among those who signed it.
    No,
}

/// A text and who signed it. What is printed is what was parsed, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedNote {
    text: String,
    signatures: Vec<NoteSignature>,
}

impl SignedNote {
    /// The note of a checkpoint, signed by `key`, whose name is its origin.
    pub fn of_checkpoint(head: &TreeHead, key: &SigningKey) -> Self {
        let origin = key.verifier().name().to_owned();
        let text = checkpoint_text(&Checkpoint { origin: origin.clone(), head: *head });
        let bytes = key.sign(text.as_bytes());
        Self { text, signatures: vec![NoteSignature { name: origin, key_id: key.verifier().id(), bytes }] }
    }

    /// Reads a note.
    pub fn parse(bytes: &[u8]) -> Result<Self, NoteError> {
        if bytes.len() > MAX_NOTE {
            return Err(NoteError::TooLong);
        }
        let note = std::str::from_utf8(bytes).map_err(|_| NoteError::Text)?;
        if note.chars().any(|letter| letter.is_control() && letter != '\n') {
            return Err(NoteError::Text);
        }
        let end = note.rfind("\n\n").ok_or(NoteError::Signatures)?;
        let (text, signed) = (&note[..=end], &note[end + 2..]);
        let lines: Vec<&str> = signed.strip_suffix('\n').ok_or(NoteError::Signatures)?.split('\n').collect();
        if lines.len() > MAX_SIGNATURES {
            return Err(NoteError::Signatures);
        }
        let signatures: Option<_> = lines.into_iter().map(parse_signature).collect();
        Ok(Self { text: text.to_owned(), signatures: signatures.ok_or(NoteError::Signatures)? })
    }

    /// The text that is signed, with its last line break.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Who signed it, verified or not.
    pub fn signatures(&self) -> &[NoteSignature] {
        &self.signatures
    }

    /// Whether `key` vouches for the text. One signature in its name that is none is reason enough to distrust the note.
    pub fn vouched_by(&self, key: &VerifierKey) -> Vouched {
        let is_own = |signature: &&NoteSignature| signature.name == key.name() && signature.key_id == key.id();
        let mut own = self.signatures.iter().filter(is_own).peekable();
        if own.peek().is_none() {
            return Vouched::No;
        }
        match own.all(|signature| key.verifies(self.text.as_bytes(), &signature.bytes)) {
            true => Vouched::Yes,
            false => Vouched::Forged,
        }
    }
}

impl fmt::Display for SignedNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        for NoteSignature { name, key_id, bytes } in &self.signatures {
            writeln!(f, "{DASH}{name} {}", base64::encode(&[key_id, &bytes[..]].concat()))?;
        }
        Ok(())
    }
}

fn parse_signature(line: &str) -> Option<NoteSignature> {
    let (name, signature) = line.strip_prefix(DASH)?.split_once(' ')?;
    let bytes = base64::decode(signature)?;
    let (key_id, bytes) = bytes.split_first_chunk()?;
    (is_name(name) && !bytes.is_empty()).then(|| NoteSignature {
        name: name.to_owned(),
        key_id: *key_id,
        bytes: bytes.to_vec(),
    })
}

/// The text of a checkpoint.
pub fn checkpoint_text(checkpoint: &Checkpoint) -> String {
    let Checkpoint { origin, head: TreeHead { size, root } } = checkpoint;
    let mut text = String::new();
    // Writing to a text cannot fail.
    write!(text, "{origin}\n{size}\n{}\n", base64::encode(&root.0)).ok();
    text
}

/// The checkpoint that `note` is of. One with further lines is none: nobody could check what they say.
pub fn checkpoint_of(note: &SignedNote) -> Result<Checkpoint, NoteError> {
    let read = || {
        let mut lines = note.text().strip_suffix('\n')?.split('\n');
        let (origin, size, root) = (lines.next()?, lines.next()?, lines.next()?);
        let head = TreeHead { size: decimal(size)?, root: TreeHash(base64::decode_array(root)?) };
        (lines.next().is_none() && !origin.is_empty()).then(|| Checkpoint { origin: origin.to_owned(), head })
    };
    read().ok_or(NoteError::Checkpoint)
}

/// A number without leading zeros.
pub(super) fn decimal(digits: &str) -> Option<u64> {
    digits.parse().ok().filter(|number: &u64| number.to_string() == digits)
}
