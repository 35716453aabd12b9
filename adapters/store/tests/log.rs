//! The transparency log: it takes up what is durable, in one order, whatever was killed; and what is not as it was logged
//! is found and named.

#[path = "support/signer.rs"]
mod signer;
mod support;
#[path = "support/synthetic.rs"]
mod synthetic;

use ct_merkle::mem_backed_tree::MemoryBackedTree;
use isobox_domain::content::ContentId;
use isobox_domain::log::{LeafKind, LogLeaf, TreeHead};
use isobox_domain::verification::DefectKind;
use isobox_ports::contract::sample::{draft, record, rejected};
use isobox_ports::{
    Attempts, Compared, Extended, Gaps, LaneGap, LogUpdates, RecordLog, StoreErrorKind, TransparencyLog,
};
use isobox_store::FsTaskStore;
use isobox_store_format::entry::EntryKind;
use isobox_store_format::log::{Tile, decode_bundle, encode_leaf, leaf_hash, verify_consistency, verify_inclusion};
use sha2::Sha256;
use signer::TestSigner;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use support::{entries, flip};
use synthetic::Synthesis;
use tempfile::TempDir;

fn publish(store: &FsTaskStore, n: u64) -> ContentId {
    store.publish(store.begin(&draft(n)).unwrap(), &record(n)).unwrap()
}

fn open(records: &Path) -> FsTaskStore {
    FsTaskStore::open(records).unwrap().expect("a store")
}

fn extend(records: &Path, signer: &TestSigner) -> Extended {
    open(records).extend(signer, Gaps::Stop).unwrap()
}

fn refused(records: &Path, signer: &TestSigner) -> String {
    let error = open(records).extend(signer, Gaps::Stop).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Damaged, "{error} {}", error.source);
    format!("{error}: {}", error.source)
}

fn compare(records: &Path, head: &TreeHead) -> Compared {
    open(records).compare(head, &|_| {}).unwrap()
}

/// A store with `count` records in three lanes.
fn synthetic(count: u64) -> TempDir {
    let records = tempfile::tempdir().unwrap();
    FsTaskStore::create(records.path()).unwrap();
    let mut synthesis = Synthesis::new(records.path());
    let third = count / 3;
    for range in [0..third, third..2 * third, 2 * third..count] {
        synthesis.pack(range, 0);
    }
    records
}

/// Every file of the log, by its path below it.
fn files(records: &Path) -> BTreeMap<String, PathBuf> {
    support::files_below(&records.join("store/log"))
}

/// The leaves as they stand in the bundles.
fn leaves(records: &Path, size: u64) -> Vec<LogLeaf> {
    let tiles = (0..).map_while(|index| Tile::of_tree(0, index, size));
    let read = tiles.flat_map(|tile| {
        let bytes = fs::read(records.join("store/log").join(tile.bundle_path())).unwrap();
        decode_bundle(&bytes, tile.width).unwrap()
    });
    read.collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() { copy(&path, &target) } else { fs::copy(&path, &target).map(drop).unwrap() }
    }
}

#[test]
fn records_and_events_are_logged_once_and_proved() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let signer = TestSigner::new(1);
    let first = publish(&store, 1);
    let one = extend(records.path(), &signer);
    let rejection = store.append(&rejected(1, first, None)).unwrap();
    let second = publish(&store, 2);
    let two = extend(records.path(), &signer);
    assert_eq!((one.added, two.added, two.head.size, store.commits().unwrap()), (1, 2, 3, 3));
    assert_eq!(extend(records.path(), &signer), Extended { added: 0, ..two.clone() });
    for (id, kind) in [(first, LeafKind::Record), (rejection, LeafKind::Event), (second, LeafKind::Record)] {
        let found = store.find(&two.head, &id).unwrap().expect("it was logged");
        assert_eq!((found.leaf.kind, found.leaf.record), (kind, id));
        let hash = leaf_hash(&encode_leaf(&found.leaf));
        assert!(verify_inclusion(&hash, found.index, &two.head, &found.path));
    }
    assert_eq!(store.find(&one.head, &second).unwrap(), None, "it was logged later");
    assert!(verify_consistency(&one.head, &two.head, &store.consistency(&two.head, 1).unwrap()));
    assert_eq!(store.head_at(&two.head, 1).unwrap(), one.head);
    assert_eq!(store.checkpoint().unwrap(), Some(two.note));
    assert_eq!(store.kept_checkpoints().unwrap(), ["1", "3"]);
    assert_eq!(store.kept_checkpoint("1").unwrap(), Some(one.note));
    let compared = compare(records.path(), &two.head);
    assert_eq!((compared.leaves, compared.is_whole, compared.defects), (3, true, vec![]));
}

#[test]
fn the_tree_is_the_one_that_others_build_of_the_same_leaves_in_the_order_of_time() {
    let records = synthetic(900);
    let extended = extend(records.path(), &TestSigner::new(1));
    let leaves = leaves(records.path(), 900);
    let mut theirs = MemoryBackedTree::<Sha256, Vec<u8>>::new();
    leaves.iter().for_each(|leaf| theirs.push(encode_leaf(leaf).to_vec()));
    assert_eq!(extended.head.root.0[..], theirs.root().as_bytes()[..]);
    assert!(leaves.is_sorted_by_key(|leaf| (leaf.time, leaf.lane, leaf.sequence)));
    let found = open(records.path()).find(&extended.head, &leaves[700].record).unwrap().unwrap();
    assert_eq!(found.path.iter().flat_map(|hash| hash.0).collect::<Vec<_>>(), theirs.prove_inclusion(700).as_bytes());
}

#[test]
fn a_log_that_grew_in_steps_is_the_log_that_grew_at_once_and_narrow_tiles_go() {
    let (steps, signer) = (tempfile::tempdir().unwrap(), TestSigner::new(1));
    FsTaskStore::create(steps.path()).unwrap();
    let mut synthesis = Synthesis::new(steps.path());
    for range in [0..1, 1..200, 200..256, 256..257, 257..600] {
        synthesis.pack(range, 0);
        extend(steps.path(), &signer);
    }
    let head = extend(steps.path(), &signer).head;
    let names: Vec<_> = files(steps.path()).into_keys().filter(|name| !name.contains("checkpoint")).collect();
    let expected = [
        "tile/0/000",
        "tile/0/001",
        "tile/0/002.p/88",
        "tile/1/000.p/1",
        "tile/1/000.p/2",
        "tile/entries/000",
        "tile/entries/001",
        "tile/entries/002.p/88",
    ];
    assert_eq!(names, expected);
    fs::remove_dir_all(steps.path().join("store/log")).unwrap();
    let at_once = extend(steps.path(), &TestSigner::new(1));
    assert_eq!((at_once.head, at_once.added), (head, 600), "every pack is of a lane and a time of its own");
}

#[test]
fn what_a_killed_update_left_is_taken_up() {
    let (records, signer) = (synthetic(300), TestSigner::new(1));
    let before = extend(records.path(), &signer);
    let store = open(records.path());
    for n in 1000..1300 {
        publish(&store, n);
    }
    copy(&records.path().join("store"), &records.path().join("earlier"));
    let after = extend(records.path(), &signer);
    let left = files(records.path());
    // Killed at any point: some files are there, one is torn, and the names of those that were written are not.
    for torn in left.keys() {
        fs::remove_dir_all(records.path().join("store")).unwrap();
        copy(&records.path().join("earlier"), &records.path().join("store"));
        let signed_already = torn.starts_with("checkpoint");
        *signer.newest.lock().unwrap() = Some(if signed_already { after.note.clone() } else { before.note.clone() });
        if signed_already {
            extend_tiles(records.path(), &signer, &before.note);
        } else {
            let log = records.path().join("store/log");
            let place = log.join(torn);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            if !records.path().join("earlier/log").join(torn).exists() {
                fs::write(place, "torn").unwrap();
            }
            fs::write(log.join("new-0123"), "half").unwrap();
        }
        let again = extend(records.path(), &signer);
        assert_eq!((again.head, again.note), (after.head, after.note.clone()), "{torn}");
        assert!(!files(records.path()).contains_key("new-0123"));
        assert!(compare(records.path(), &again.head).defects.is_empty());
    }
}

/// Extends the tiles, as an update does that is killed before it published its checkpoint.
fn extend_tiles(records: &Path, signer: &TestSigner, before: &[u8]) {
    let newest = signer.newest.lock().unwrap().replace(before.to_vec());
    let checkpoint = fs::read(records.join("store/log/checkpoint")).unwrap();
    extend(records, signer);
    fs::write(records.join("store/log/checkpoint"), checkpoint).unwrap();
    *signer.newest.lock().unwrap() = newest;
}

#[test]
fn every_byte_of_the_log_that_is_changed_or_cut_off_is_found_and_named_and_written_anew() {
    let (records, signer) = (synthetic(300), TestSigner::new(1));
    let head = extend(records.path(), &signer).head;
    let all = files(records.path());
    let tiles = all.iter().filter(|(name, _)| name.starts_with("tile/"));
    for (name, path) in tiles {
        let sound = fs::read(path).unwrap();
        let places = (0..sound.len()).step_by(sound.len() / 23).chain([sound.len() - 1]);
        let mut spoilt: Vec<Vec<u8>> = places
            .map(|at| {
                let mut bytes = sound.clone();
                bytes[at] ^= 1;
                bytes
            })
            .collect();
        spoilt.extend([0, 1, sound.len() / 2, sound.len() - 1].map(|length| sound[..length].to_vec()));
        spoilt.push([&sound[..], b"x"].concat());
        for bytes in spoilt {
            fs::write(path, &bytes).unwrap();
            let compared = compare(records.path(), &head);
            assert!(!compared.is_whole && !compared.defects.is_empty(), "{name}");
            let DefectKind::Damaged { file, .. } = &compared.defects[0].kind else { panic!("{compared:?}") };
            // Which of the last tiles it is, the root alone does not say.
            let is_edge = name.contains(".p/") && !name.contains("entries");
            assert!(file.ends_with(name) || (is_edge && file.ends_with("log/tile")), "{name}: {file}");
            let rebuilt = open(records.path()).rebuild(&head).unwrap();
            assert_eq!((rebuilt.written, fs::read(path).unwrap() == sound), (1, true), "{name}");
        }
        fs::remove_file(path).unwrap();
        assert!(!compare(records.path(), &head).is_whole, "{name}");
        assert_eq!(open(records.path()).rebuild(&head).unwrap().written, 1);
    }
    assert_eq!(compare(records.path(), &head).defects, []);
    all.values()
        .filter(|path| path.to_str().unwrap().contains("/tile/"))
        .for_each(|path| fs::remove_file(path).unwrap());
    assert_eq!(open(records.path()).rebuild(&head).unwrap().written, 5, "from the lanes alone");
    assert_eq!(compare(records.path(), &head).defects, []);
}

#[test]
fn a_log_that_is_not_the_one_that_was_signed_is_not_gone_on_with() {
    let (records, signer) = (synthetic(300), TestSigner::new(1));
    let first = extend(records.path(), &signer);
    copy(&records.path().join("store/log"), &records.path().join("older"));
    publish(&open(records.path()), 1000);
    extend(records.path(), &signer);
    let rolled_back = || {
        fs::remove_dir_all(records.path().join("store/log")).unwrap();
        copy(&records.path().join("older"), &records.path().join("store/log"));
    };
    rolled_back();
    assert!(refused(records.path(), &signer).contains("it is missing"), "the newest tree was signed, and is not there");
    *signer.newest.lock().unwrap() = Some(first.note);
    assert_eq!(extend(records.path(), &signer).added, 1);
    assert!(refused(records.path(), &TestSigner::new(2)).contains("not signed by the key"));
    let checkpoint = records.path().join("store/log/checkpoint");
    flip(&checkpoint, fs::read(&checkpoint).unwrap().len() - 9);
    assert!(refused(records.path(), &signer).contains("not signed by the key"));
}

#[test]
fn a_lane_that_was_cut_short_is_found_by_the_log_and_not_logged_over() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let signer = TestSigner::new(1);
    publish(&store, 1);
    let lane = records.path().join("store/lanes/lane-00.pack");
    let shorter = fs::read(&lane).unwrap();
    let cut = publish(&store, 2);
    let head = extend(records.path(), &signer).head;
    fs::write(&lane, &shorter).unwrap();
    let compared = compare(records.path(), &head);
    let expected = DefectKind::History { reason: "COMMIT 2 of lane 0 was logged, and is missing".into() };
    assert_eq!(compared.defects.iter().map(|defect| &defect.kind).collect::<Vec<_>>(), [&expected]);
    assert_eq!(compared.defects[0].records[0].record, cut);
    assert!(
        refused(records.path(), &signer)
            .contains("the log has COMMIT 2 of it, and the lane ends with another COMMIT 1")
    );
    // Whoever cut it goes on with it.
    publish(&open(records.path()), 3);
    assert!(refused(records.path(), &signer).contains("ends with another COMMIT 2"));
    publish(&open(records.path()), 4);
    assert!(refused(records.path(), &signer).contains("COMMIT 3 does not follow the one that is in the log before it"));
    let reason = "COMMIT 2 of lane 0 is not the one that was logged".into();
    assert_eq!(compare(records.path(), &head).defects[0].kind, DefectKind::History { reason });
}

#[test]
fn a_lane_is_logged_up_to_a_commit_that_is_damaged_unless_that_is_logged_as_lost() {
    let records = tempfile::tempdir().unwrap();
    let store = FsTaskStore::create(records.path()).unwrap();
    let signer = TestSigner::new(1);
    let lane = records.path().join("store/lanes/lane-00.pack");
    for n in 1..5 {
        publish(&store, n);
    }
    let bytes = fs::read(&lane).unwrap();
    let commits: Vec<_> =
        entries(&bytes).into_iter().filter(|(_, header)| header.kind == EntryKind::Commit).map(|(at, _)| at).collect();
    flip(&lane, commits[1] + 100);
    let stopped = extend(records.path(), &signer);
    assert_eq!((stopped.added, stopped.gaps), (1, vec![LaneGap { lane: 0, first: 2, last: 2 }]));
    let over = open(records.path()).extend(&signer, Gaps::LogAsLost).unwrap();
    assert_eq!((over.added, over.lost, over.gaps.as_slice(), over.head.size), (2, 1, &[][..], 4));
    let kinds: Vec<_> = leaves(records.path(), 4).iter().map(|leaf| leaf.kind).collect();
    assert_eq!(kinds, [LeafKind::Record, LeafKind::Lost, LeafKind::Record, LeafKind::Record]);
    assert_eq!(extend(records.path(), &signer).head, over.head);
    assert_eq!(compare(records.path(), &over.head).defects, []);
}

#[test]
fn the_places_of_the_last_leaves_are_only_a_hint() {
    let (records, signer) = (synthetic(300), TestSigner::new(1));
    extend(records.path(), &signer);
    let hint = records.path().join("store/cache/log-last");
    let sound = fs::read(&hint).unwrap();
    for wrong in [vec![], vec![0; 256], vec![0xff; 256], sound.iter().map(|byte| byte ^ 1).collect(), vec![7; 300]] {
        fs::write(&hint, wrong).unwrap();
        publish(
            &open(records.path()),
            1000 + fs::read_dir(records.path().join("store/log/checkpoints")).unwrap().count() as u64,
        );
        assert_eq!(extend(records.path(), &signer).added, 1);
        assert!(fs::read(&hint).unwrap().len() == 256);
    }
}

#[test]
fn processes_that_extend_a_log_at_once_log_everything_once() {
    let (records, signer) = (tempfile::tempdir().unwrap(), TestSigner::new(1));
    FsTaskStore::create(records.path()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (records, signer) = (records.path(), &signer);
            scope.spawn(move || {
                for n in 0..20 {
                    publish(&open(records), 100 * thread + n);
                    extend(records, signer);
                }
            });
        }
    });
    let head = extend(records.path(), &signer).head;
    assert_eq!((head.size, compare(records.path(), &head).defects.len()), (80, 0));
}

#[test]
fn commits_of_many_lanes_in_one_pack_are_logged_and_compared_as_those_of_packs_of_their_own() {
    let (records, signer) = (tempfile::tempdir().unwrap(), TestSigner::new(1));
    FsTaskStore::create(records.path()).unwrap();
    let mut synthesis = Synthesis::new(records.path());
    (0..65).for_each(|pack| synthesis.pack(5 * pack..5 * pack + 5, 0));
    let before = extend(records.path(), &signer);
    assert_eq!((before.added, before.gaps.len()), (325, 0));
    // Every other pack, of which lanes 0 and 1 have the first and the last: what is between stays where it is.
    let packs = support::packs(records.path());
    let together: Vec<u8> = packs.iter().step_by(2).rev().flat_map(|pack| fs::read(pack).unwrap()).collect();
    packs.iter().step_by(2).for_each(|pack| fs::remove_file(pack).unwrap());
    let name = blake3::hash(&together).to_hex();
    fs::write(records.path().join(format!("store/packs/{name}.pack")), together).unwrap();
    assert_eq!(compare(records.path(), &before.head).defects, []);
    let again = extend(records.path(), &signer);
    assert_eq!((again.head, again.added), (before.head, 0));
    fs::remove_dir_all(records.path().join("store/log")).unwrap();
    let anew = extend(records.path(), &TestSigner::new(2));
    assert_eq!((anew.head, anew.added, anew.gaps.len()), (before.head, 325, 0));
}

#[test]
fn a_checkpoint_that_speaks_of_more_than_can_be_counted_is_soon_found_out() {
    let records = synthetic(3);
    extend(records.path(), &TestSigner::new(1));
    let root = leaf_hash(b"made up");
    let tile = Tile { level: 5, index: 0, width: 1 };
    let place = records.path().join("store/log").join(tile.path());
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::write(place, root.0).unwrap();
    let head = TreeHead { size: 1 << 40, root };
    let compared = compare(records.path(), &head);
    assert_eq!((compared.leaves, compared.is_whole), (0, false));
    assert!(!compared.defects.is_empty());
    let refused = open(records.path()).rebuild(&head).unwrap_err();
    assert_eq!(refused.kind, StoreErrorKind::Damaged);
    assert!(open(records.path()).find(&head, &ContentId::new([1; 32])).is_err());
}
