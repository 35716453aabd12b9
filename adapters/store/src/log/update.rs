//! Bringing the log up to date, under its lock: tiles first, then the signature, the checkpoint last.

use super::append::Appender;
use super::commits::{NextLeaves, passed};
use super::logged::{LastPlaces, last_leaves};
use super::place::{LogDir, Updating};
use super::tree::{LEVELS, Tree};
use super::{CHECKPOINT, KEPT, LastLeaves};
use crate::error::{damaged, error};
use crate::layout::Layout;
use crate::store::Shared;
use isobox_domain::log::{LeafKind, LogLeaf, TreeHead};
use isobox_ports::{Cause, CheckpointSigner, Extended, Gaps, StoreError, StoreErrorKind};
use isobox_store_format::limits::LANES;
use isobox_store_format::log::{MAX_NOTE, Tile, empty_root};

pub(super) fn extend(shared: &Shared, signer: &dyn CheckpointSigner, gaps: Gaps) -> Result<Extended, StoreError> {
    let layout = &shared.layout;
    let updating = Updating::begin(layout)?;
    let log = &updating.log;
    let base = Base::find(log, signer)?;
    let tree = Tree::open(log, base.head)?;
    base.require_older(&tree)?;
    let last = last_leaves(layout, &tree)?;
    require_lanes(shared, &last)?;
    let mut leaves = NextLeaves::new(shared, last, gaps)?;
    let (mut appender, mut places, mut lost) = (Appender::from_tree(&tree)?, LastPlaces::read(layout), 0);
    while let Some(leaf) = leaves.next()? {
        places.note(leaf.lane, appender.size());
        lost += u64::from(leaf.kind == LeafKind::Lost);
        appender.push(leaf, &mut |path, bytes| log.write(&path, &bytes))?;
    }
    let (added, gaps) = (appender.size() - base.head.size - lost, leaves.gaps().to_vec());
    let note = match (base.note, added + lost) {
        (Some(note), 0) => note,
        (None, 0) => return Err(nothing(layout)),
        _ => {
            appender.finish(|tile| is_known(tile, &tree), &mut |path, bytes| log.write(&path, &bytes))?;
            log.flush()?;
            sign(log, signer, &appender.head())?
        }
    };
    publish(log, &note, appender.size())?;
    remove_narrow_tiles(log, base.head.size, appender.size())?;
    places.keep(layout);
    Ok(Extended { note, head: appender.head(), added, lost, gaps })
}

/// What an update goes on from: the newest tree that was signed.
struct Base {
    head: TreeHead,
    note: Option<Vec<u8>>,
    /// The one that is older, of the log's own newest checkpoint and the one that was kept outside of it.
    older: Option<TreeHead>,
}

impl Base {
    fn find(log: &LogDir, signer: &dyn CheckpointSigner) -> Result<Self, StoreError> {
        let subject = log.shown(CHECKPOINT);
        let vouched = |note: Vec<u8>, why: &str| match signer.head_of(&note) {
            Some(head) => Ok((head, note)),
            None => Err(damaged("go on from the checkpoint", subject.clone(), why)),
        };
        let in_log = log.read(CHECKPOINT, MAX_NOTE)?;
        let in_log = in_log.map(|note| vouched(note, "it is not signed by the key of this store")).transpose()?;
        let kept = signer.newest().map_err(unsigned(log))?;
        let kept =
            kept.map(|note| vouched(note, "the one that was kept with the key is not signed by it")).transpose()?;
        Ok(match (in_log, kept) {
            (None, None) => Self { head: TreeHead { size: 0, root: empty_root() }, note: None, older: None },
            (Some((head, note)), None) | (None, Some((head, note))) => Self { head, note: Some(note), older: None },
            (Some((one, _)), Some((head, note))) if head.size > one.size => {
                Self { head, note: Some(note), older: Some(one) }
            }
            (Some((head, note)), Some((older, _))) => Self { head, note: Some(note), older: Some(older) },
        })
    }

    fn require_older(&self, tree: &Tree<'_>) -> Result<(), StoreError> {
        match self.older {
            Some(older) if tree.head_at(older.size)? != older => {
                let reason = "two checkpoints were signed that contradict each other";
                Err(damaged("go on from the checkpoint", format!("of {} COMMITs", older.size), reason))
            }
            _ => Ok(()),
        }
    }
}

/// Every COMMIT that was logged last must still be the last of its lane, or have the next one after it.
fn require_lanes(shared: &Shared, last: &LastLeaves) -> Result<(), StoreError> {
    let index = shared.fresh_index()?;
    for lane in 0..LANES {
        let Some(leaf) = last[usize::from(lane)] else { continue };
        let end = index.chain_end(lane);
        let is_there = |leaf: LogLeaf| match end {
            Some(end) if end.sequence == leaf.sequence => leaf.kind == LeafKind::Lost || end.id == leaf.commit,
            Some(end) => end.sequence > leaf.sequence,
            None => false,
        };
        if !is_there(leaf) {
            let reason = format!(
                "the log has COMMIT {} of it, and the lane ends {}",
                passed(last, lane),
                end.map_or("before its first".to_owned(), |end| format!("with another COMMIT {}", end.sequence))
            );
            return Err(damaged("log", format!("lane {lane} of {}", shared.layout.root.shown("")), reason));
        }
    }
    Ok(())
}

fn is_known(tile: &Tile, tree: &Tree<'_>) -> bool {
    Tile::of_tree(tile.level, tile.index, tree.size()).is_some_and(|known| known.width == tile.width)
}

fn sign(log: &LogDir, signer: &dyn CheckpointSigner, head: &TreeHead) -> Result<Vec<u8>, StoreError> {
    signer.sign(head).map_err(unsigned(log))
}

fn unsigned(log: &LogDir) -> impl Fn(Cause) -> StoreError {
    let subject = log.shown(CHECKPOINT);
    move |cause| error(StoreErrorKind::Io, "sign", subject.clone(), cause)
}

fn nothing(layout: &Layout) -> StoreError {
    error(StoreErrorKind::Missing, "log what is in", layout.root.shown(""), "nothing was recorded yet")
}

fn publish(log: &LogDir, note: &[u8], size: u64) -> Result<(), StoreError> {
    let kept = format!("{KEPT}/{size}");
    for path in [kept.as_str(), CHECKPOINT] {
        if log.read(path, MAX_NOTE).ok().flatten().as_deref() != Some(note) {
            log.write(path, note)?;
            log.flush()?;
        }
    }
    Ok(())
}

/// Tiles that were the last of their level, and became full, have no use any more: who wants a part of one reads the full one.
fn remove_narrow_tiles(log: &LogDir, before: u64, now: u64) -> Result<(), StoreError> {
    for level in 0..LEVELS {
        let tiles = |size: u64| size.checked_shr(8 * (u32::from(level) + 1)).unwrap_or(0);
        if tiles(now) > tiles(before) {
            let tile = Tile { level, index: tiles(before), width: 256 };
            log.remove_dir(&format!("{}.p", tile.path()))?;
            if level == 0 {
                log.remove_dir(&format!("{}.p", tile.bundle_path()))?;
            }
        }
    }
    Ok(())
}
