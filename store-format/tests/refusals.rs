//! What readers refuse, and what writers therefore never write.

mod samples;

use isobox_domain::repo_path::RepoPathError;
use isobox_store_format::event::{decode_event, encode_event};
use isobox_store_format::object::{DecodeError, EncodeError, MAX_OBJECT_BYTES, reference_to};
use isobox_store_format::policy::encode_policy;
use isobox_store_format::record::{decode_record, encode_record};

/// The encoded event of the samples with its one occurrence of `from` replaced.
fn event_with(from: &[u8], to: &[u8]) -> Vec<u8> {
    replaced(&encode_event(&samples::events::rejected()).expect("encode"), from, to)
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let at: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(from)).collect();
    assert_eq!(at.len(), 1, "{from:02x?} is there once");
    [&bytes[..at[0]], to, &bytes[at[0] + from.len()..]].concat()
}

fn expected(error: Result<impl Sized, DecodeError>) -> &'static str {
    match error.map(|_| ()) {
        Err(DecodeError::Malformed { expected, .. }) => expected,
        other => panic!("expected malformed bytes, found {other:?}"),
    }
}

// Field 5, the time, as the bytes in front of the kind of event.
fn time(ms: u64) -> Vec<u8> {
    [&[5, 0x1b][..], &ms.to_be_bytes(), &[6]].concat()
}

#[test]
fn times_outside_2000_to_2199_are_refused() {
    let written = time(samples::time(8000).unix_ms());
    assert!(decode_event(&event_with(&written, &time(7_258_118_399_999))).is_ok());
    for ms in [7_258_118_400_000, u64::MAX, 946_684_799_999] {
        assert_eq!(expected(decode_event(&event_with(&written, &time(ms)))), "a time between 2000 and 2200");
    }
}

#[test]
fn objects_of_another_kind_or_schema_are_refused() {
    assert_eq!(expected(decode_event(&event_with(b"isobox.event", b"isobox.evict"))), "isobox.event");
    let later = decode_event(&event_with(&[1, 1, 2, 0x48], &[1, 5, 2, 0x48]));
    assert_eq!(later, Err(DecodeError::UnknownSchema { kind: "isobox.event", found: 5 }));
    let policy = encode_policy(&samples::policy()).expect("encode");
    assert_eq!(expected(decode_event(&policy)), "isobox.event");
}

#[test]
fn a_record_has_a_later_schema_with_what_came_later_and_only_then() {
    let schema = |bytes: &[u8], from: u8, to: u8| {
        let kind = b"isobox.record\x01";
        replaced(bytes, &[&kind[..], &[from]].concat(), &[&kind[..], &[to]].concat())
    };
    let later = [
        (samples::record_with_terminal(), 3, 2),
        (samples::record_with_probes(), 3, 2),
        (samples::record_with_exceeded(), 3, 1),
        (samples::record_with_timeline(), 4, 1),
        (samples::record_with_timeline(), 4, 3),
        (samples::record_of_verification(), 4, 2),
    ];
    let earlier = [
        (samples::record(), 1, 2),
        (samples::record(), 1, 3),
        (samples::record(), 1, 4),
        (samples::record_with_snapshot(), 2, 1),
    ];
    for (record, own, other) in later.into_iter().chain(earlier) {
        let encoded = encode_record(&record).expect("encode");
        let again = schema(&encoded.bytes, own, own);
        assert_eq!(decode_record(&again, &encoded.policy_bytes), Ok(record));
        let changed = schema(&encoded.bytes, own, other);
        assert_eq!(expected(decode_record(&changed, &encoded.policy_bytes)), "the deterministic encoding");
        let later = decode_record(&schema(&encoded.bytes, own, 5), &encoded.policy_bytes);
        assert_eq!(later, Err(DecodeError::UnknownSchema { kind: "isobox.record", found: 5 }));
    }
}

#[test]
fn a_record_is_refused_with_a_policy_that_is_not_its_own() {
    let encoded = encode_record(&samples::record()).expect("encode");
    let other = encode_policy(&samples::bare_policy()).expect("encode");
    let refused = decode_record(&encoded.bytes, &other);
    let (expected, found) = (reference_to(&encoded.policy_bytes).id, reference_to(&other).id);
    assert_eq!(refused, Err(DecodeError::WrongObject { expected, found }));
}

#[test]
fn paths_that_could_leave_the_repository_are_refused() {
    let encoded = encode_record(&samples::record()).expect("encode");
    let with_path = |path: &[u8; 7]| decode_record(&replaced(&encoded.bytes, b"src/lib", path), &encoded.policy_bytes);
    assert!(with_path(b"src/dir").is_ok());
    for (path, rule) in [
        (b"../etc/", RepoPathError::DotComponent),
        (b"/etc/lx", RepoPathError::Absolute),
        (b"a//bcde", RepoPathError::EmptyComponent),
        (b"ab/.GIT", RepoPathError::GitDirectory),
        (b"abc\0def", RepoPathError::Nul),
    ] {
        assert!(
            matches!(with_path(path), Err(DecodeError::Path { source, .. }) if source == rule),
            "{path:?} breaks {rule}"
        );
    }
}

#[test]
fn host_paths_are_absolute_and_hold_no_nul() {
    let encoded = encode_record(&samples::record()).expect("encode");
    let with_path = |path: &[u8; 13]| {
        decode_record(&replaced(&encoded.bytes, b"M/home/ana/app", &[b"M", &path[..]].concat()), &encoded.policy_bytes)
    };
    assert_eq!(expected(with_path(b"./home/ana/ap")), "an absolute path");
    assert_eq!(expected(with_path(b"/home/ana/ap\0")), "bytes without NUL");
}

#[test]
fn what_no_reader_would_accept_is_not_written() {
    let mut with_nul = samples::record();
    with_nul.warnings = vec!["a\0b".into()];
    let mut without_program = samples::record();
    without_program.command.clear();
    let mut attempt_zero = samples::record();
    attempt_zero.attempt = 0;
    let mut same_extension_twice = samples::record();
    same_extension_twice.extensions = vec![("x".into(), vec![1]), ("x".into(), vec![2])];
    for record in [with_nul, without_program, attempt_zero, same_extension_twice] {
        assert!(matches!(encode_record(&record), Err(EncodeError::Refused { kind: "isobox.record", .. })));
    }
    for control in [0, 2] {
        // Out of order, and repeated.
        let mut policy = samples::policy();
        policy.controls.push(policy.controls[control].clone());
        assert!(matches!(encode_policy(&policy), Err(EncodeError::Refused { kind: "isobox.policy", .. })));
    }
}

#[test]
fn records_over_1_mib_are_neither_written_nor_read() {
    let mut record = samples::bare_record();
    record.extensions = vec![("bench".into(), vec![7; MAX_OBJECT_BYTES])];
    let length = match encode_record(&record) {
        Err(EncodeError::TooLarge { kind: "isobox.record", length, limit: MAX_OBJECT_BYTES }) => length,
        other => panic!("expected a record that is too large, found {other:?}"),
    };
    record.extensions[0].1.truncate(2 * MAX_OBJECT_BYTES - length);
    let largest = encode_record(&record).expect("the largest record");
    assert_eq!(largest.bytes.len(), MAX_OBJECT_BYTES);
    let oversized = [&largest.bytes[..], &[0]].concat();
    let too_large = DecodeError::TooLarge { length: MAX_OBJECT_BYTES + 1, limit: MAX_OBJECT_BYTES };
    assert_eq!(decode_record(&oversized, &largest.policy_bytes), Err(too_large));
}

#[test]
fn extensions_are_kept_byte_for_byte_in_one_order() {
    let mut record = samples::record();
    record.extensions = vec![("longer".into(), b"\xff\0".to_vec()), ("b".into(), vec![]), ("a".into(), vec![0xa0])];
    let encoded = encode_record(&record).expect("encode");
    record.extensions.reverse();
    assert_eq!(encode_record(&record).as_ref(), Ok(&encoded));
    assert_eq!(decode_record(&encoded.bytes, &encoded.policy_bytes), Ok(record));
}

#[test]
fn nested_bytes_do_not_exhaust_the_stack() {
    let mut bytes = vec![0x81; MAX_OBJECT_BYTES];
    assert_eq!(expected(decode_event(&bytes)), "a map");
    bytes.splice(0..0, event_with(b"rejected", b"rejectee"));
    bytes.truncate(MAX_OBJECT_BYTES);
    assert_eq!(expected(decode_event(&bytes)), "an event of this version");
}

#[test]
fn equal_records_differ_by_their_salt() {
    let mut other = samples::record();
    other.salt[0] ^= 1;
    let [first, second] = [samples::record(), other].map(|record| encode_record(&record).expect("encode").reference());
    assert_ne!(first, second);
}
