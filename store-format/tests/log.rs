//! The log as others read it: its tree against another implementation, its notes and paths against published examples,
//! and what is refused.

mod samples;

use ct_merkle::mem_backed_tree::MemoryBackedTree;
use ct_merkle::{ConsistencyProof, InclusionProof, RootHash};
use isobox_domain::log::{LeafKind, TreeHash, TreeHead};
use isobox_store_format::log::{
    KeyError, NoteError, Proof, SignedNote, SigningKey, Tile, VerifierKey, Vouched, checkpoint_of, decode_bundle,
    decode_leaf, decode_tile, empty_root, encode_bundle, encode_leaf, encode_tile, leaf_hash, verify_consistency,
};
use sha2::Sha256;

/// The example of golang.org/x/mod/sumdb/note, which this form of notes comes from.
const KEY: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const SECRET_KEY: &str = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
const NOTE: &str = "If you think cryptography is the answer to your problem,\n\
    then you don't know what your problem is.\n\
    \n\
    — PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

type Theirs = MemoryBackedTree<Sha256, Vec<u8>>;

fn their_tree(size: u64) -> Theirs {
    let mut tree = Theirs::new();
    samples::leaves(size).iter().for_each(|leaf| tree.push(encode_leaf(leaf).to_vec()));
    tree
}

fn bytes(path: &[TreeHash]) -> Vec<u8> {
    encode_tile(path)
}

/// Sizes around every edge: of powers of two, and of tiles.
fn sizes() -> impl Iterator<Item = u64> {
    (1..=70).chain([127, 128, 129, 255, 256, 257, 300, 511, 512, 513, 700])
}

#[test]
fn roots_are_those_of_another_implementation() {
    assert_eq!(empty_root().0[..], Theirs::new().root().as_bytes()[..]);
    for size in sizes() {
        assert_eq!(samples::head(&samples::leaves(size)).root.0[..], their_tree(size).root().as_bytes()[..], "{size}");
    }
}

#[test]
fn proofs_of_inclusion_are_those_of_another_implementation_and_each_verifies_the_others() {
    for size in sizes() {
        let (leaves, theirs) = (samples::leaves(size), their_tree(size));
        let indices = (0..size).filter(|index| size < 100 || index % 50 == 0 || index + 3 > size);
        for index in indices {
            let proof = samples::proof(&leaves, index, None);
            let their_proof = theirs.prove_inclusion(index as usize);
            assert_eq!(bytes(&proof.path), their_proof.as_bytes(), "{index} of {size}");
            assert_eq!(proof.verify_inclusion(&samples::head(&leaves)), Ok(()));
            let ours = InclusionProof::<Sha256>::try_from_bytes(bytes(&proof.path)).expect("a proof");
            let leaf = encode_leaf(&leaves[index as usize]).to_vec();
            theirs.root().verify_inclusion(&leaf, index, &ours).expect("it holds for them, too");
            let of_another = Proof { index: (index + 1) % size, ..proof };
            assert_eq!(of_another.verify_inclusion(&samples::head(&leaves)).is_ok(), size == 1);
        }
    }
}

#[test]
fn proofs_of_consistency_are_those_of_another_implementation_and_each_verifies_the_others() {
    for new in (2..=40).chain([255, 256, 257, 513]) {
        let (leaves, theirs) = (samples::leaves(new), their_tree(new));
        let head = samples::head(&leaves);
        for old in (1..new).filter(|old| new < 50 || old % 31 == 0 || old % 64 == 0) {
            let proof = samples::proof(&leaves, 0, Some(old));
            let older = samples::head(&leaves[..old as usize]);
            let path = proof.older.as_ref().map(|older| bytes(&older.path)).expect("it was asked for");
            assert_eq!(path, theirs.prove_consistency((new - old) as usize).as_bytes(), "{old} in {new}");
            assert_eq!(proof.verify_consistency(&older, &head), Ok(()));
            let ours = ConsistencyProof::<Sha256>::try_from_bytes(path).expect("a proof");
            let root = RootHash::<Sha256>::new(older.root.0.into(), old);
            theirs.root().verify_consistency(&root, &ours).expect("it holds for them, too");
            let forged = TreeHead { root: TreeHash([7; 32]), ..older };
            assert!(
                proof.verify_consistency(&forged, &head).is_err() && proof.verify_consistency(&older, &forged).is_err()
            );
        }
    }
}

#[test]
fn no_tree_is_consistent_with_nothing_and_every_tree_with_itself() {
    let head = samples::head(&samples::leaves(5));
    assert!(verify_consistency(&head, &head, &[]));
    assert!(!verify_consistency(&head, &head, &[head.root]));
    let nothing = TreeHead { size: 0, root: empty_root() };
    assert!(!verify_consistency(&nothing, &head, &[]) && !verify_consistency(&nothing, &nothing, &[]));
    let longer = TreeHead { size: 6, ..head };
    assert!(!verify_consistency(&longer, &head, &[]) && !verify_consistency(&head, &longer, &[]));
}

// The example of a tree of 70,000 leaves, and that of the index 1234067, from C2SP's tlog-tiles.
#[test]
fn tiles_lie_where_c2sp_says() {
    let tile = |level, index| Tile::of_tree(level, index, 70_000).map(|tile| tile.path());
    assert_eq!(tile(0, 272).as_deref(), Some("tile/0/272"));
    assert_eq!(tile(0, 273).as_deref(), Some("tile/0/273.p/112"));
    assert_eq!((tile(0, 274), tile(1, 2), tile(3, 0)), (None, None, None));
    assert_eq!(tile(1, 1).as_deref(), Some("tile/1/001.p/17"));
    assert_eq!(tile(2, 0).as_deref(), Some("tile/2/000.p/1"));
    let far = Tile { level: 0, index: 1_234_067, width: 256 };
    assert_eq!((far.path(), far.bundle_path()), ("tile/0/x001/x234/067".into(), "tile/entries/x001/x234/067".into()));
    assert_eq!(Tile::of_tree(1, 0, 256), Some(Tile { level: 1, index: 0, width: 1 }));
    assert_eq!((Tile::of_tree(0, u64::MAX, u64::MAX), Tile::of_tree(9, 0, u64::MAX)), (None, None));
}

#[test]
fn notes_of_others_are_read_and_verified() {
    let key: VerifierKey = KEY.parse().expect("a key");
    let note = SignedNote::parse(NOTE.as_bytes()).expect("a note");
    assert_eq!((note.to_string(), note.vouched_by(&key)), (NOTE.to_owned(), Vouched::Yes));
    assert_eq!(checkpoint_of(&note), Err(NoteError::Checkpoint));
    let secret = SigningKey::parse(SECRET_KEY).expect("a key");
    assert_eq!((secret.verifier().to_string(), secret.secret_text()), (KEY.to_owned(), SECRET_KEY.to_owned()));
    assert_eq!(secret.sign(note.text().as_bytes()), note.signatures()[0].bytes);
    assert!(!format!("{secret:?}").contains("AYEK"));
}

#[test]
fn strangers_are_passed_over_and_forgers_are_not() {
    let note = SignedNote::of_checkpoint(&samples::head(&samples::leaves(3)), &samples::signing_key());
    let stranger: VerifierKey = KEY.parse().expect("a key");
    assert_eq!(note.vouched_by(&stranger), Vouched::No);
    let signed = NOTE.split("\n\n").last().expect("a signature");
    let with_stranger = SignedNote::parse(format!("{note}{signed}").as_bytes()).expect("a note");
    assert_eq!(with_stranger.vouched_by(samples::signing_key().verifier()), Vouched::Yes);
    assert_eq!(with_stranger.vouched_by(&stranger), Vouched::Forged, "it signed something else");
    let namesake = SigningKey::from_seed(samples::signing_key().verifier().name(), [7; 32]).expect("a key");
    assert_eq!(note.vouched_by(namesake.verifier()), Vouched::No);
}

#[test]
fn keys_have_one_spelling() {
    let key = samples::signing_key().verifier().to_string();
    assert_eq!(key.parse::<VerifierKey>().map(|key| key.to_string()), Ok(key.clone()));
    assert_eq!(key.replacen("isobox", "isob0x", 1).parse::<VerifierKey>(), Err(KeyError::Hash));
    for form in ["", "a", "a+b", &key[..key.len() - 1], &format!("{key}="), &key.to_uppercase(), &format!("{key}\n")] {
        assert_eq!(form.parse::<VerifierKey>().err(), Some(KeyError::Form), "{form}");
    }
    for name in ["", "a b", "a+b", "a\u{a0}b", "a\nb", "a\0", &"x".repeat(256)] {
        assert_eq!(SigningKey::from_seed(name, [1; 32]).err(), Some(KeyError::Name), "{name}");
    }
}

/// Every text that differs from `text` in one byte, or ends early.
fn spoilt(text: &str) -> impl Iterator<Item = Vec<u8>> {
    let flipped = (0..text.len()).flat_map(|at| {
        [0x01, 0x20, 0x80].map(|bit| {
            let mut bytes = text.as_bytes().to_vec();
            bytes[at] ^= bit;
            bytes
        })
    });
    flipped.chain((0..text.len()).map(|length| text.as_bytes()[..length].to_vec()))
}

#[test]
fn a_note_in_which_a_byte_was_changed_is_vouched_for_by_nobody() {
    let key = samples::signing_key();
    let note = SignedNote::of_checkpoint(&samples::head(&samples::leaves(300)), &key);
    for bytes in spoilt(&note.to_string()) {
        let Ok(parsed) = SignedNote::parse(&bytes) else { continue };
        assert_eq!(parsed.to_string().as_bytes(), bytes);
        assert_ne!(parsed.vouched_by(key.verifier()), Vouched::Yes, "{parsed}");
    }
}

#[test]
fn a_proof_in_which_a_byte_was_changed_shows_nothing() {
    let (leaves, key) = (samples::leaves(300), samples::signing_key());
    let (proof, older) = (samples::proof(&leaves, 257, Some(100)), samples::head(&leaves[..100]));
    let holds = |proof: &Proof| {
        let Ok(checkpoint) = proof.checkpoint() else { return false };
        proof.note.vouched_by(key.verifier()) == Vouched::Yes
            && proof.verify_inclusion(&checkpoint.head).is_ok()
            && proof.verify_consistency(&older, &checkpoint.head).is_ok()
    };
    assert!(holds(&proof));
    for bytes in spoilt(&proof.to_string()) {
        let Ok(parsed) = Proof::parse(&bytes) else { continue };
        assert_eq!(parsed.to_string().as_bytes(), bytes);
        assert!(!holds(&parsed), "{parsed}");
    }
}

#[test]
fn tiles_bundles_and_leaves_of_another_form_are_none() {
    let leaves = samples::leaves(5);
    let (bundle, tile) = (encode_bundle(&leaves), encode_tile(&[leaf_hash(b"")]));
    assert_eq!((decode_bundle(&bundle, 4), decode_bundle(&bundle[1..], 5)), (None, None));
    assert_eq!((decode_tile(&tile, 0), decode_tile(&tile[1..], 1)), (None, None));
    let lost = leaves.iter().find(|leaf| leaf.kind == LeafKind::Lost).expect("one is lost");
    // Each byte that has one meaning: the version, kind, lane, reserved byte; the sequence; the time; a name of what is lost.
    for (leaf, at, value) in
        [(0, 0, 2), (0, 1, 4), (0, 2, 32), (0, 3, 1), (0, 31, 0x80), (4, 4, 1), (4, 8, 1), (4, 40, 1), (4, 95, 1)]
    {
        let mut bytes = encode_leaf(&leaves[leaf]);
        bytes[at] = value;
        assert_eq!(decode_leaf(&bytes), None, "byte {at}");
    }
    let mut first = encode_leaf(lost);
    first[16..24].fill(0);
    assert_eq!((decode_leaf(&first), decode_leaf(&first[1..])), (None, None));
}

#[test]
fn checkpoints_with_further_lines_or_another_spelling_are_none() {
    let key = samples::signing_key();
    let text = SignedNote::of_checkpoint(&samples::head(&samples::leaves(3)), &key).text().to_owned();
    let checkpoint = |text: &str| {
        let note = SignedNote::parse(format!("{text}\n— a AAAAAAA=\n").as_bytes()).expect("a note");
        checkpoint_of(&note)
    };
    assert!(checkpoint(&text).is_ok());
    for other in [
        format!("{text}more\n"),
        format!("\n{text}"),
        text.replace("\n3\n", "\n03\n"),
        text.replace("\n3\n", "\n+3\n"),
        text.replace("\n3\n", "\n18446744073709551616\n"),
        text.replace("=\n", "\n"),
        "a\n3\n".to_owned(),
    ] {
        assert_eq!(checkpoint(&other), Err(NoteError::Checkpoint), "{other}");
    }
}
