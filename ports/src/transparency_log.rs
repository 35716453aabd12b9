//! The transparency log of a Task Store.

use crate::{Cause, StoreError, TellAdvance};
use isobox_domain::content::ContentId;
use isobox_domain::log::{LogLeaf, TreeHash, TreeHead};
use isobox_domain::verification::Defect;

/// Who vouches for a log, with a key that lies outside of the store.
pub trait CheckpointSigner {
    /// The tree that `note` is of, if it is a checkpoint of this signer.
    fn head_of(&self, note: &[u8]) -> Option<TreeHead>;

    /// The newest checkpoint that was signed, as it was kept outside of the store.
    fn newest(&self) -> Result<Option<Vec<u8>>, Cause>;

    /// Signs a checkpoint, and keeps it outside of the store before it returns: what was signed once is never contradicted.
    fn sign(&self, head: &TreeHead) -> Result<Vec<u8>, Cause>;
}

/// What is done where COMMITs of a lane are missing that were not logged yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// The lane is logged up to there.
    Stop,
    /// They are logged as lost, for good.
    LogAsLost,
}

/// COMMITs of a lane that are missing, and because of which what follows them is not logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneGap {
    /// The lane.
    pub lane: u8,
    /// The first that is missing.
    pub first: u64,
    /// The last.
    pub last: u64,
}

/// What an update of a log did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extended {
    /// The newest checkpoint.
    pub note: Vec<u8>,
    /// Its tree.
    pub head: TreeHead,
    /// How many COMMITs were logged.
    pub added: u64,
    /// How many were logged as lost.
    pub lost: u64,
    /// Where a lane was not logged to its end.
    pub gaps: Vec<LaneGap>,
}

/// A leaf and how it leads to the root of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inclusion {
    /// The leaf.
    pub leaf: LogLeaf,
    /// Which leaf of the tree it is, from 0.
    pub index: u64,
    /// The hashes on its way to the root.
    pub path: Vec<TreeHash>,
}

/// What came of comparing a log with the lanes and with older trees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Leaves that were compared with their COMMITs.
    pub leaves: u64,
    /// Whether that was all of them: damage of the log itself leaves some out.
    pub is_whole: bool,
    /// What is wrong.
    pub defects: Vec<Defect>,
    /// How many defects more there are.
    pub untold: u64,
}

/// What a rebuilding wrote anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// Files that were compared with what they should hold.
    pub files: u64,
    /// Files that held something else, or were missing.
    pub written: u64,
}

/// Reads the log. Nothing in it is believed beyond what its hashes show to belong to a tree that the caller names.
///
/// - A leaf, hash or proof that comes out belongs to the tree that was asked for; what does not is damage, named by its file.
/// - Memory does not grow with the log.
pub trait TransparencyLog {
    /// The newest checkpoint in the log, whatever it says.
    fn checkpoint(&self) -> Result<Option<Vec<u8>>, StoreError>;

    /// Every checkpoint that was kept, by the name of its file, whatever they say.
    fn kept_checkpoints(&self) -> Result<Vec<String>, StoreError>;

    /// The kept checkpoint called `name`.
    fn kept_checkpoint(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// The newest leaf in the tree of `head` that names the record or event `id`.
    fn find(&self, head: &TreeHead, id: &ContentId) -> Result<Option<Inclusion>, StoreError>;

    /// The proof that the first `size` leaves of `head` are the tree `size`, from 1 to that of `head`.
    fn consistency(&self, head: &TreeHead, size: u64) -> Result<Vec<TreeHash>, StoreError>;

    /// The tree of the first `size` leaves of `head`.
    fn head_at(&self, head: &TreeHead, size: u64) -> Result<TreeHead, StoreError>;

    /// Compares every leaf of `head` with the COMMIT that it tells of.
    fn compare(&self, head: &TreeHead, tell: TellAdvance<'_>) -> Result<Compared, StoreError>;

    /// How many COMMITs the lanes have had by now.
    fn commits(&self) -> Result<u64, StoreError>;
}

/// Writes the log.
///
/// - What is logged is durable, in its lane and in the log, before a checkpoint of it is signed.
/// - A log whose newest signed tree cannot be shown to be there is not extended: nothing is ever signed that contradicts it.
/// - Whatever is killed, the next update takes up; one that is not ended leaves the checkpoint as it was.
pub trait LogUpdates {
    /// Logs what is not logged yet, and publishes a checkpoint.
    fn extend(&self, signer: &dyn CheckpointSigner, gaps: Gaps) -> Result<Extended, StoreError>;

    /// Writes every file of the tree of `head` anew that is damaged or missing, from what is left and from the lanes.
    /// Nothing is written unless all of it leads to `head`.
    fn rebuild(&self, head: &TreeHead) -> Result<Rebuilt, StoreError>;
}
