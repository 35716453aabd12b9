//! The bytes of the format never change: objects with every field are pinned, with their ids.

mod samples;

use isobox_store_format::change_set::{ChangeSetWriter, decode_chunk, decode_index};
use isobox_store_format::event::{decode_event, encode_event};
use isobox_store_format::object::reference_to;
use isobox_store_format::policy::{decode_policy, encode_policy};
use isobox_store_format::record::{decode_record, encode_record};
use std::fs;
use std::path::Path;

const REGENERATE: &str = "ISOBOX_WRITE_GOLDEN";

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
    for (name, record) in [("record", samples::record()), ("record-bare", samples::bare_record())] {
        let encoded = encode_record(&record).expect("encode");
        let policy = encode_policy(&record.policy).expect("encode");
        assert_eq!(encoded.policy_bytes, policy);
        let golden = pinned(&format!("{name}.cbor"), &encoded.bytes);
        assert_eq!(decode_record(&golden, &policy), Ok(record));
    }
}

#[test]
fn policies_keep_their_bytes() {
    for (name, policy) in [("policy", samples::policy()), ("policy-bare", samples::bare_policy())] {
        let golden = pinned(&format!("{name}.cbor"), &encode_policy(&policy).expect("encode"));
        assert_eq!(decode_policy(&golden), Ok(policy));
    }
}

#[test]
fn events_keep_their_bytes() {
    for (name, event) in [("event-promoted", samples::promoted()), ("event-rejected", samples::rejected())] {
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
