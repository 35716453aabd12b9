//! The transparency log of a store on disk, with files that somebody changed.

use super::made_store::{Filling, MadeStore, Signer};
use super::script::Script;
use isobox_domain::content::ContentId;
use isobox_domain::log::{TreeHash, TreeHead};
use isobox_ports::{Compared, Gaps, LogUpdates, StoreError, TransparencyLog};
use isobox_store::FsTaskStore;
use isobox_store_format::log::{
    TILE_WIDTH, Tile, encode_leaf, encode_tile, leaf_hash, node_hash, root, verify_consistency, verify_inclusion,
};
use std::convert::Infallible;
use std::fs;
use std::path::Path;

pub(crate) fn log(bytes: &[u8]) {
    let mut script = Script::new(bytes);
    let made = MadeStore::new();
    if script.flag() {
        made.fill_with_commits(script.short() % 300);
    }
    let Filling { objects, .. } = made.fill(&mut script);
    let store = FsTaskStore::open(made.records()).expect("a store").expect("a store");
    let signer = Signer::new();
    let Ok(extended) = store.extend(&signer, Gaps::LogAsLost) else { return };
    let whole = store.compare(&extended.head, &|_| {}).expect("a log that was just written");
    assert_eq!(defects(&whole), 0, "{whole:?}");
    ask(&store, &extended.head, &objects, &mut script).expect("a log that was just written");
    damage(&made, &mut script);
    // What is told in spite of the damage is true.
    ask(&store, &extended.head, &objects, &mut script).ok();
    store.compare(&extended.head, &|_| {}).ok();
    if script.flag() && store.rebuild(&extended.head).is_ok() {
        let rebuilt = store.compare(&extended.head, &|_| {}).expect("a log that was just rebuilt");
        assert!(rebuilt.is_whole, "{rebuilt:?}");
    }
    store.extend(&signer, Gaps::Stop).ok();
    if let Some(head) = forged(made.records(), &mut script) {
        ask(&store, &head, &objects, &mut script).ok();
        store.rebuild(&head).ok();
        if script.byte() == 0xff {
            store.compare(&head, &|_| {}).ok();
        }
    }
}

fn defects(compared: &Compared) -> u64 {
    compared.defects.len() as u64 + compared.untold
}

/// Asks for what proofs are made of.
fn ask(store: &FsTaskStore, head: &TreeHead, objects: &[ContentId], script: &mut Script<'_>) -> Result<(), StoreError> {
    if !objects.is_empty() {
        let id = objects[script.place(objects.len())];
        if let Some(found) = store.find(head, &id)? {
            assert_eq!(found.leaf.record, id);
            let leaf = leaf_hash(&encode_leaf(&found.leaf));
            assert!(verify_inclusion(&leaf, found.index, head, &found.path));
        }
    }
    let size = script.long() % head.size + 1;
    let (older, path) = (store.head_at(head, size)?, store.consistency(head, size)?);
    assert!(verify_consistency(&older, head, &path));
    store.kept_checkpoints()?.iter().try_for_each(|name| store.kept_checkpoint(name).map(drop))
}

fn damage(made: &MadeStore, script: &mut Script<'_>) {
    for path in made.files(&["log"]) {
        let mut bytes = fs::read(&path).expect("a file");
        match script.byte() {
            0..=7 => fs::remove_file(path).expect("a file that is there"),
            8..=15 => fs::write(path, script.take(100)).expect("a file"),
            16..=63 => {
                script.edit(&mut bytes);
                bytes.truncate(bytes.len().saturating_sub(script.byte().into()));
                fs::write(path, bytes).expect("a file");
            }
            64..=95 => {
                script.edit(&mut bytes);
                fs::write(path, bytes).expect("a file");
            }
            _ => {}
        }
    }
}

/// The head of a tree of any size whose last tiles lead to its root, as somebody may make one up that nobody signed.
fn forged(records: &Path, script: &mut Script<'_>) -> Option<TreeHead> {
    let size = script.long();
    if size == 0 {
        return None;
    }
    let mut nodes = vec![leaf_hash(b"leaf")];
    (0..64).for_each(|height| nodes.push(node_hash(&nodes[height], &nodes[height])));
    for level in 0..8u8 {
        let hashes = size >> (8 * level);
        let tile = Tile { level, index: hashes / TILE_WIDTH, width: hashes % TILE_WIDTH };
        if tile.width > 0 {
            let path = records.join("store/log").join(tile.path());
            let hashes = vec![nodes[8 * usize::from(level)]; tile.width as usize];
            let written = fs::create_dir_all(path.parent().unwrap_or(&path));
            written.and_then(|()| fs::write(path, encode_tile(&hashes))).ok()?;
        }
    }
    let Ok::<TreeHash, Infallible>(root) = root(size, &mut |height, _| Ok(nodes[usize::from(height)]));
    Some(TreeHead { size, root })
}
