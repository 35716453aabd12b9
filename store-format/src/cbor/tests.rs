use super::{Decoder, Encoder};
use crate::object::DecodeError;
use proptest::prelude::*;

// Every way of reading an item, as a value that can be compared.
type Reading = fn(&mut Decoder<'_>) -> Result<String, DecodeError>;

fn reading(read: Reading, bytes: &[u8]) -> Result<String, DecodeError> {
    let mut decoder = Decoder::new(bytes)?;
    let value = read(&mut decoder)?;
    decoder.end()?;
    Ok(value)
}

const UINT: Reading = |d| d.uint().map(|v| v.to_string());
const BYTES: Reading = |d| d.bytes().map(|v| format!("{v:?}"));
const TEXT: Reading = |d| d.text().map(str::to_owned);
const BOOL: Reading = |d| d.bool().map(|v| v.to_string());
const LIST: Reading = |d| d.list(|item| item.uint()).map(|v| format!("{v:?}"));
const TEXT_MAP: Reading = |d| d.text_map().map(|v| format!("{v:?}"));
const MAP: Reading = |d| {
    let mut map = d.map()?;
    let first = map.need(0, "zero")?.uint()?;
    let second = map.find(1)?.map(Decoder::uint).transpose()?;
    map.end()?;
    Ok(format!("{first} {second:?}"))
};

#[track_caller]
fn assert_refused(read: Reading, bytes: &[u8], expected: &'static str, offset: usize) {
    assert_eq!(reading(read, bytes), Err(DecodeError::Malformed { expected, offset }), "{bytes:02x?}");
}

#[test]
fn integers_are_read_in_their_shortest_form_only() {
    for (bytes, value) in [
        (&[0x17][..], "23"),
        (&[0x18, 24], "24"),
        (&[0x19, 1, 0], "256"),
        (&[0x1a, 0, 1, 0, 0], "65536"),
        (&[0x1b, 0, 0, 0, 1, 0, 0, 0, 0], "4294967296"),
        (&[0x1b, 255, 255, 255, 255, 255, 255, 255, 255], "18446744073709551615"),
    ] {
        assert_eq!(reading(UINT, bytes).as_deref(), Ok(value));
    }
    for bytes in [
        &[0x18, 23][..],
        &[0x19, 0, 255],
        &[0x1a, 0, 0, 255, 255],
        &[0x1b, 0, 0, 0, 0, 255, 255, 255, 255],
        &[0x19, 1],
        &[0x1b],
    ] {
        assert_refused(UINT, bytes, "the shortest form", 0);
    }
}

#[test]
fn indefinite_lengths_and_reserved_heads_are_refused() {
    for (read, bytes) in [
        (BYTES, &[0x5f, 0x41, 0, 0xff][..]),
        (TEXT, &[0x7f, 0xff]),
        (LIST, &[0x9f, 0xff]),
        (MAP, &[0xbf, 0, 0, 0xff]),
        (UINT, &[0x1c]),
        (UINT, &[0x1e]),
    ] {
        assert_refused(read, bytes, "a definite length", 0);
    }
}

#[test]
fn floats_tags_negatives_null_and_undefined_are_no_items() {
    for bytes in
        [&[0xf9, 0, 0][..], &[0xfb, 0, 0, 0, 0, 0, 0, 0, 0], &[0xc0, 0], &[0x20], &[0xf6], &[0xf7], &[0xff], &[]]
    {
        assert_refused(UINT, bytes, "an unsigned integer", 0);
        assert_refused(BOOL, bytes, "true or false", 0);
    }
}

#[test]
fn texts_are_utf8_without_nul() {
    assert_refused(TEXT, &[0x61, 0], "UTF-8 without NUL", 1);
    assert_refused(TEXT, &[0x61, 0xff], "UTF-8 without NUL", 1);
    assert_refused(TEXT, &[0x63, 0xed, 0xa0, 0x80], "UTF-8 without NUL", 1);
}

#[test]
fn lengths_beyond_the_end_are_refused_before_anything_is_allocated() {
    assert_refused(BYTES, &[0x5b, 255, 255, 255, 255, 255, 255, 255, 255], "as many bytes as announced", 9);
    assert_refused(TEXT, &[0x62, b'a'], "as many bytes as announced", 1);
    assert_refused(LIST, &[0x9b, 0, 0, 255, 255, 255, 255, 255, 255], "a count that fits what follows", 0);
    assert_refused(TEXT_MAP, &[0xba, 255, 255, 255, 255], "a count that fits what follows", 0);
}

#[test]
fn keys_are_ascending_and_known_and_unique() {
    assert_eq!(reading(MAP, &[0xa2, 0, 5, 1, 6]).as_deref(), Ok("5 Some(6)"));
    assert_refused(MAP, &[0xa2, 0, 5, 0, 6], "no further field", 3);
    assert_refused(MAP, &[0xa2, 1, 6, 0, 5], "zero", 1);
    assert_refused(MAP, &[0xa2, 0, 5, 9, 6], "no further field", 3);
    assert_refused(MAP, &[0xa0], "zero", 1);
    assert_eq!(
        reading(TEXT_MAP, &[0xa2, 0x61, b'b', 0x40, 0x62, b'a', b'a', 0x40]).as_deref(),
        Ok(r#"[("b", []), ("aa", [])]"#)
    );
    assert_refused(TEXT_MAP, &[0xa2, 0x61, b'b', 0x40, 0x61, b'b', 0x40], "a key after the one before it", 4);
    assert_refused(TEXT_MAP, &[0xa2, 0x62, b'a', b'a', 0x40, 0x61, b'b', 0x40], "a key after the one before it", 5);
}

#[test]
fn nothing_may_follow_an_object() {
    assert_refused(UINT, &[0, 0], "the end", 1);
    let limit = 3;
    let error = Decoder::with_limit(&[0; 4], limit).map(|_| ()).unwrap_err();
    assert_eq!(error, DecodeError::TooLarge { length: 4, limit });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn another_implementation_reads_what_is_written(
        number: u64,
        bytes: Vec<u8>,
        text in "[^\0]{0,40}",
        flag: bool,
        entries in proptest::collection::btree_map("[a-z]{0,30}", any::<Vec<u8>>(), 0..6),
    ) {
        let entries: Vec<_> = entries.into_iter().collect();
        let mut encoder = Encoder::default();
        encoder.array(5).uint(number).bytes(&bytes).text(&text).bool(flag).text_map(&entries);
        let value: ciborium::Value = ciborium::from_reader(&*encoder.into_bytes()).expect("CBOR");
        let mut sorted = entries;
        sorted.sort_by_key(|(key, _)| (key.len(), key.clone()));
        let map = sorted.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        let expected = ciborium::Value::Array(vec![
            number.into(), bytes.into(), text.into(), flag.into(), ciborium::Value::Map(map),
        ]);
        prop_assert_eq!(value, expected);
    }
}
