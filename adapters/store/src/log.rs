//! The transparency log: COMMITs of all lanes in a Merkle tree, whose checkpoints a key outside of the store vouches for.

mod append;
mod commits;
mod compare;
mod lanes;
mod leaves;
mod logged;
mod place;
mod places;
mod rebuild;
mod tree;
mod update;

use crate::error::damaged;
use crate::store::{FsTaskStore, Shared};
use isobox_domain::content::{ContentId, hex};
use isobox_domain::log::{LogLeaf, TreeHash, TreeHead};
use isobox_ports::{
    CheckpointSigner, Compared, Extended, Gaps, Inclusion, LogUpdates, Rebuilt, StoreError, TellAdvance,
    TransparencyLog,
};
use isobox_store_format::log::MAX_NOTE;
use place::LogDir;
use tree::Tree;

/// The newest checkpoint in the log.
const CHECKPOINT: &str = "checkpoint";
/// Those that were published, each by its size.
const KEPT: &str = "checkpoints";

impl TransparencyLog for FsTaskStore {
    fn checkpoint(&self) -> Result<Option<Vec<u8>>, StoreError> {
        read_note(&self.shared, CHECKPOINT)
    }

    fn kept_checkpoints(&self) -> Result<Vec<String>, StoreError> {
        let Some(log) = LogDir::find(&self.shared.layout)? else { return Ok(Vec::new()) };
        let mut sizes: Vec<u64> = log.names(KEPT)?.iter().filter_map(|name| name.parse().ok()).collect();
        sizes.sort_unstable();
        Ok(sizes.iter().map(ToString::to_string).collect())
    }

    fn kept_checkpoint(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        read_note(&self.shared, &format!("{KEPT}/{name}"))
    }

    fn find(&self, head: &TreeHead, id: &ContentId) -> Result<Option<Inclusion>, StoreError> {
        let log = require(&self.shared)?;
        let tree = Tree::open(&log, *head)?;
        for bundle in (0..tree.bundles()).rev() {
            let leaves = tree.bundle(bundle)?;
            if let Some(at) = leaves.iter().rposition(|leaf| leaf.record == *id) {
                let index = tree.first_of(bundle) + at as u64;
                return Ok(Some(Inclusion { leaf: leaves[at], index, path: tree.inclusion(index)? }));
            }
        }
        Ok(None)
    }

    fn consistency(&self, head: &TreeHead, size: u64) -> Result<Vec<TreeHash>, StoreError> {
        let log = require(&self.shared)?;
        Tree::open(&log, *head)?.consistency(size)
    }

    fn head_at(&self, head: &TreeHead, size: u64) -> Result<TreeHead, StoreError> {
        let log = require(&self.shared)?;
        Tree::open(&log, *head)?.head_at(size)
    }

    fn compare(&self, head: &TreeHead, tell: TellAdvance<'_>) -> Result<Compared, StoreError> {
        compare::compare(self, head, tell)
    }

    fn commits(&self) -> Result<u64, StoreError> {
        // Sequences that were made up may add up to more than can be counted.
        Ok(self.shared.fresh_index()?.last_sequences().fold(0, u64::saturating_add))
    }
}

impl LogUpdates for FsTaskStore {
    fn extend(&self, signer: &dyn CheckpointSigner, gaps: Gaps) -> Result<Extended, StoreError> {
        update::extend(&self.shared, signer, gaps)
    }

    fn rebuild(&self, head: &TreeHead) -> Result<Rebuilt, StoreError> {
        rebuild::rebuild(&self.shared, head)
    }
}

fn read_note(shared: &Shared, path: &str) -> Result<Option<Vec<u8>>, StoreError> {
    match LogDir::find(&shared.layout)? {
        Some(log) => log.read(path, MAX_NOTE),
        None => Ok(None),
    }
}

fn require(shared: &Shared) -> Result<LogDir, StoreError> {
    let missing = || damaged("read", shared.layout.root.shown("log"), "it is missing");
    LogDir::find(&shared.layout)?.ok_or_else(missing)
}

impl FsTaskStore {
    /// What tells the log of this store from all others: 16 hex digits that follow from the id of the store, and do not tell it.
    pub fn log_name(&self) -> String {
        let name =
            blake3::derive_key("isobox.dev 2026 name of the log of a task store", &self.shared.layout.format.store.0);
        hex(&name[..8])
    }
}

/// The last leaf of every lane.
type LastLeaves = [Option<LogLeaf>; isobox_store_format::limits::LANES as usize];
