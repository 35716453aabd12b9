//! The CBOR objects.

use isobox_store_format::change_set::{ChangeSetWriter, decode_chunk, decode_index, encode_index};
use isobox_store_format::event::{decode_event, encode_event};
use isobox_store_format::object::reference_to;
use isobox_store_format::policy::{decode_policy, encode_policy};
use isobox_store_format::record::{children, decode_record, encode_record};

const POLICIES: [&[u8]; 2] = [
    include_bytes!("../../store-format/tests/golden/policy.cbor"),
    include_bytes!("../../store-format/tests/golden/policy-bare.cbor"),
];

// A record is only read with its own policy; most mutations of a golden one still name its.
pub(crate) fn record(bytes: &[u8]) {
    let named = children(bytes).map(|children| children[0].reference);
    for policy in POLICIES {
        let is_named = named.as_ref() == Ok(&reference_to(policy));
        let record = decode_record(bytes, policy);
        assert_eq!(record.is_ok(), is_named);
        if let Ok(record) = record {
            assert_eq!(encode_record(&record).expect("what was read can be written").bytes, bytes);
        }
    }
}

pub(crate) fn policy(bytes: &[u8]) {
    if let Ok(policy) = decode_policy(bytes) {
        assert_eq!(encode_policy(&policy).expect("what was read can be written"), bytes);
    }
}

pub(crate) fn event(bytes: &[u8]) {
    if let Ok(event) = decode_event(bytes) {
        assert_eq!(encode_event(&event).expect("what was read can be written"), bytes);
    }
}

// Order is the business of the whole Change Set: a single chunk may be out of order, and then it is not written again.
pub(crate) fn change_set(bytes: &[u8]) {
    if let Ok(index) = decode_index(bytes) {
        assert_eq!(encode_index(&index).expect("what was read can be written"), bytes);
    }
    if let Ok(lines) = decode_chunk(bytes) {
        let mut writer = ChangeSetWriter::default();
        if lines.iter().all(|line| writer.push(line) == Ok(None)) {
            let finished = writer.finish().expect("what was read can be written").expect("lines");
            assert_eq!(finished.chunk, bytes);
        }
    }
}
