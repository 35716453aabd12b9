//! The bytes of the format never change: objects with every field are pinned, with their ids.

mod samples;

use isobox_domain::policy::WorkspaceKind;
use isobox_store_format::block::{Block, BlockBuilder};
use isobox_store_format::change_set::{ChangeSetWriter, decode_chunk, decode_index};
use isobox_store_format::commit::{Commit, Committed, CommittedChild};
use isobox_store_format::dictionary::{Dictionary, find_dictionary};
use isobox_store_format::entry::{EntryHeader, EntryKind, HEADER_LEN, Place};
use isobox_store_format::event::{decode_event, encode_event};
use isobox_store_format::format_file::{FormatFile, StoreId};
use isobox_store_format::frame::{Compressor, decode_payload, decode_payload_with};
use isobox_store_format::log::{
    Proof, SignedNote, decode_bundle, decode_leaf, decode_tile, encode_bundle, encode_leaf, encode_tile, leaf_hash,
};
use isobox_store_format::object::reference_to;
use isobox_store_format::policy::{decode_policy, encode_policy};
use isobox_store_format::record::{children, decode_record, encode_record};
use isobox_store_format::scan::{Found, Scanner};
use std::fs;
use std::path::Path;

const REGENERATE: &str = "ISOBOX_WRITE_GOLDEN";

/// What the golden file `name` holds, unless it is to be written.
fn earlier(name: &str) -> Option<Vec<u8>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let is_kept = std::env::var_os(REGENERATE).is_none();
    is_kept.then(|| fs::read(file).expect("read a golden file"))
}

/// Compares `bytes` with a golden file, or writes that if asked to; returns what the file holds.
#[track_caller]
fn pinned(name: &str, bytes: &[u8]) -> Vec<u8> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let id_file = file.with_extension("id");
    let id = |bytes: &[u8]| format!("{}\n", reference_to(bytes).id);
    if std::env::var_os(REGENERATE).is_some() {
        fs::write(&file, bytes).expect("write a golden file");
        fs::write(&id_file, id(bytes)).expect("write the id of a golden file");
    }
    let golden = fs::read(&file).expect("read a golden file");
    let hint = format!(
        "{name}: records that exist must stay readable. If the format is meant to change, run \
         `{REGENERATE}=1 cargo test -p isobox-store-format --test golden` and change docs/store-format.md too"
    );
    assert_eq!(id(&golden), fs::read_to_string(&id_file).expect("read the id of a golden file"), "{hint}");
    assert!(golden == bytes, "{hint}\nfound    {}\nexpected {}", hex(bytes), hex(&golden));
    golden
}

fn hex(bytes: &[u8]) -> String {
    isobox_domain::content::hex(bytes)
}

#[test]
fn records_keep_their_bytes() {
    let imported = ("record-imported", samples::imported_record());
    let snapshot = ("record-snapshot", samples::record_with_snapshot());
    let terminal = ("record-terminal", samples::record_with_terminal());
    let probes = ("record-probes", samples::record_with_probes());
    let (whole, bare) = (("record", samples::record()), ("record-bare", samples::bare_record()));
    let exceeded = ("record-exceeded", samples::record_with_exceeded());
    let copies = ("record-host-copies", samples::record_with_host_copies());
    let timeline = ("record-timeline", samples::record_with_timeline());
    let verification = ("record-verification", samples::record_of_verification());
    let later = [exceeded, copies, timeline, verification];
    for (name, record) in [whole, bare, imported, snapshot, terminal, probes].into_iter().chain(later) {
        let encoded = encode_record(&record).expect("encode");
        let policy = encode_policy(&record.policy).expect("encode");
        assert_eq!(encoded.policy_bytes, policy);
        let golden = pinned(&format!("{name}.cbor"), &encoded.bytes);
        assert_eq!(decode_record(&golden, &policy), Ok(record));
    }
}

#[test]
fn policies_keep_their_bytes() {
    let with_workspace = samples::policy().with_workspace(WorkspaceKind::Overlay);
    let policies = [
        ("policy", samples::policy()),
        ("policy-bare", samples::bare_policy()),
        ("policy-workspace", with_workspace),
        ("policy-required", samples::required_policy()),
        ("policy-files", samples::policy_of_files()),
        ("policy-limits", samples::policy_with_limits()),
    ];
    for (name, policy) in policies {
        let golden = pinned(&format!("{name}.cbor"), &encode_policy(&policy).expect("encode"));
        assert_eq!(decode_policy(&golden), Ok(policy));
    }
}

#[test]
fn events_keep_their_bytes() {
    let all = [
        ("event-promoted", samples::events::promoted()),
        ("event-rejected", samples::events::rejected()),
        ("event-pinned", samples::events::pinned()),
        ("event-unpinned", samples::events::unpinned()),
        ("event-pruned", samples::events::pruned()),
        ("event-promoted-part", samples::events::promoted_in_part()),
        ("event-promoted-hunks", samples::events::promoted_in_hunks()),
        ("event-promoted-in-spite", samples::events::promoted_in_spite()),
        ("event-undone", samples::events::undone()),
    ];
    for (name, event) in all {
        let golden = pinned(&format!("{name}.cbor"), &encode_event(&event).expect("encode"));
        assert_eq!(decode_event(&golden), Ok(event));
    }
}

#[test]
fn change_sets_keep_their_bytes() {
    let mut writer = ChangeSetWriter::default();
    for line in samples::change_lines() {
        assert_eq!(writer.push(&line), Ok(None));
    }
    let finished = writer.finish().expect("finish").expect("a change set");
    let chunk = pinned("changes.cbor", &finished.chunk);
    let index = pinned("change_set.cbor", &finished.index);
    assert_eq!(decode_chunk(&chunk), Ok(samples::change_lines()));
    let index = decode_index(&index).expect("decode");
    assert_eq!((index.chunks, index.summary), (vec![reference_to(&chunk)], finished.reference.summary));
}

#[test]
fn commits_keep_their_bytes() {
    let encoded = encode_record(&samples::record()).expect("encode");
    let children = children(&encoded.bytes).expect("children").into_iter();
    let of_record = Commit {
        store: StoreId([0x71; 16]),
        task: samples::TASK,
        attempt: 2,
        committed: Committed::Record,
        record: encoded.reference(),
        time: samples::time(4600),
        lane: 31,
        sequence: 1,
        previous: None,
        span: 12_345,
        packs: vec![samples::id(0x72), samples::id(0x73)],
        children: children.map(|c| CommittedChild { role: c.role.number(), reference: c.reference }).collect(),
    };
    let first = pinned("commit-record.bin", &of_record.encode().expect("encode"));
    let event = reference_to(&encode_event(&samples::events::promoted()).expect("encode"));
    let of_event = Commit {
        attempt: 0,
        committed: Committed::Event { subject: samples::id(0x51) },
        record: event,
        sequence: 2,
        previous: Some(Commit::id(&first)),
        span: 0,
        packs: vec![],
        children: vec![],
        ..of_record.clone()
    };
    let second = pinned("commit-event.bin", &of_event.encode().expect("encode"));
    assert_eq!((Commit::decode(&first), Commit::decode(&second)), (Ok(of_record), Ok(of_event.clone())));
    let of_prune = Commit { committed: Committed::Pruned { subject: samples::id(0x51) }, ..of_event };
    let third = pinned("commit-pruned.bin", &of_prune.encode().expect("encode"));
    assert_eq!(Commit::decode(&third), Ok(of_prune));
}

#[test]
fn blocks_keep_their_bytes() {
    let contents = [&b"one"[..], &[b'2'; 3000], b""];
    let mut builder = BlockBuilder::default();
    contents.iter().for_each(|content| builder.add(EntryKind::Artifact, reference_to(content).id, content));
    let (header, stored) = builder.finish(&mut Compressor::solid().expect("a compressor")).expect("compress");
    // Another version of zstd may make another frame of the same.
    let golden = pinned("block.bin", &earlier("block.bin").unwrap_or([&header.encode()[..], &stored].concat()));
    let (head, stored) = golden.split_first_chunk().expect("a header");
    let header = EntryHeader::decode(head, Place::Pack).expect("a header");
    let block = Block::decode(&header, stored).expect("a block");
    assert!(block.members().map(|(_, raw)| raw.expect("a member")).eq(contents));
}

#[test]
fn the_log_keeps_its_bytes() {
    let leaves = samples::leaves(7);
    let leaf = pinned("log-leaf.bin", &encode_leaf(&leaves[1]));
    assert_eq!(decode_leaf(&leaf), Some(leaves[1]));
    let bundle = pinned("log-bundle.bin", &encode_bundle(&leaves));
    let hashes: Vec<_> = leaves.iter().map(|leaf| leaf_hash(&encode_leaf(leaf))).collect();
    let tile = pinned("log-tile.bin", &encode_tile(&hashes));
    assert_eq!((decode_bundle(&bundle, 7), decode_tile(&tile, 7)), (Some(leaves.clone()), Some(hashes)));
    let note = SignedNote::of_checkpoint(&samples::head(&leaves), &samples::signing_key());
    let golden = pinned("log-checkpoint.txt", note.to_string().as_bytes());
    assert_eq!(SignedNote::parse(&golden), Ok(note));
    for (name, older) in [("log-proof.txt", None), ("log-proof-older.txt", Some(3))] {
        let proof = samples::proof(&leaves, 5, older);
        assert_eq!(Proof::parse(&pinned(name, proof.to_string().as_bytes())), Ok(proof));
    }
}

#[test]
fn the_format_file_keeps_its_bytes() {
    let file = FormatFile {
        write_min: 2,
        incompatible: vec!["a".into()],
        read_compatible: vec!["b".into(), "c-d".into()],
        ..FormatFile::new(StoreId([0x71; 16]))
    };
    let golden = pinned("format.bin", &file.encode().expect("encode"));
    assert_eq!(FormatFile::decode(&golden), Ok(file));
}

#[test]
fn entries_keep_their_bytes() {
    let raw = b"too short to compress\n".to_vec();
    let (header, stored) = Compressor::new().expect("memory").entry(EntryKind::Artifact, &raw).expect("compress");
    assert_eq!(stored, raw, "what does not become shorter is stored as it is");
    let golden = pinned("entry-raw.bin", &[&header.encode()[..], &stored].concat());
    assert_eq!(decode_entry(&golden), (header, raw));
}

#[test]
fn records_that_were_compressed_with_a_dictionary_are_read() {
    let records = [0, 1].map(|n| b"{command: cargo test, path: /home/ana/app} ".repeat(2 + n));
    let made = || {
        let mut compressor = Compressor::new().expect("memory");
        let dictionary = Dictionary::like(&records[0]);
        let entry =
            compressor.entry_with(EntryKind::Record, &records[1], &reference_to(&records[1]), Some(&dictionary));
        let entries = dictionary.entries(&mut compressor).expect("compress").into_iter().chain(entry);
        entries.flat_map(|(header, stored)| [&header.encode()[..], &stored].concat()).collect::<Vec<_>>()
    };
    let golden = pinned("pack-dictionary.bin", &earlier("pack-dictionary.bin").unwrap_or_else(made));
    let length = golden.len() as u64;
    let dictionary = find_dictionary(golden.as_slice(), length).expect("read").expect("a dictionary");
    assert_eq!(dictionary.bytes(), records[0]);
    let mut scanner = Scanner::new(golden.as_slice(), 0, length);
    let mut found = Vec::new();
    while let Some(Found::Entry { offset, header }) = scanner.find_next().expect("read") {
        let start = offset as usize + HEADER_LEN;
        let stored = golden[start..start + header.stored_length as usize].to_vec();
        found.push(decode_payload_with(&header, stored, Some(&dictionary)).expect("decode"));
    }
    assert_eq!(found, [0, 0, 1].map(|n: usize| records[n].clone()));
}

// What zstd makes of some bytes may change with its version. What it once made must still be read.
#[test]
fn compressed_entries_of_earlier_days_are_read() {
    let raw = b"all work and no play\n".repeat(100);
    let entry = || {
        let (header, stored) = Compressor::new().expect("memory").entry(EntryKind::Artifact, &raw).expect("compress");
        [&header.encode()[..], &stored].concat()
    };
    let golden = pinned("entry-zstd.bin", &earlier("entry-zstd.bin").unwrap_or_else(entry));
    assert_eq!(decode_entry(&golden).1, raw);
}

fn decode_entry(bytes: &[u8]) -> (EntryHeader, Vec<u8>) {
    let (header, payload) = bytes.split_first_chunk().expect("a header");
    let header = EntryHeader::decode(header, Place::Pack).expect("decode");
    let raw = decode_payload(&header, payload.to_vec()).expect("decode");
    (header, raw)
}
