use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

const START_MS: u64 = 1_800_000_000_000;

fn stream() -> impl Strategy<Value = OutputStream> {
    prop_oneof![Just(OutputStream::Stdout), Just(OutputStream::Stderr)]
}

/// The bytes of the timeline of `pieces`: stream, length, milliseconds after the start.
fn recorded(pieces: &[(OutputStream, u64, u64)]) -> Vec<u8> {
    let (mut recorder, mut out) = (Recorder::default(), Vec::new());
    for (stream, length, at_ms) in pieces {
        recorder.piece(*stream, *length, *at_ms, &mut out);
    }
    recorder.finish(&mut out);
    out
}

/// Stream, milliseconds after the start and length of every run, the one that goes on at the end included.
fn runs(bytes: &[u8]) -> Vec<(OutputStream, u64, Option<u64>)> {
    let mut runs = Runs::new(Timestamp::nearest(START_MS));
    let entries = bytes.as_chunks::<ENTRY_BYTES>().0.iter().map(|bytes| Entry::decode(*bytes).expect("an entry"));
    let mut all: Vec<Run> = entries.filter_map(|entry| runs.push(entry).expect("in its place")).collect();
    all.extend(runs.open());
    all.into_iter().map(|run| (run.stream, run.at.unix_ms() - START_MS, run.length)).collect()
}

use OutputStream::{Stderr, Stdout};

#[test]
fn pieces_of_a_stream_that_come_together_are_one_run() {
    let pieces = [(Stdout, 1, 0), (Stdout, 2, 9), (Stdout, 3, 10), (Stderr, 4, 11), (Stdout, 5, 12)];
    let expected = vec![(Stdout, 0, Some(3)), (Stdout, 10, Some(3)), (Stderr, 11, Some(4)), (Stdout, 12, Some(5))];
    assert_eq!(runs(&recorded(&pieces)), expected);
}

#[test]
fn a_clock_that_goes_back_stands_still() {
    let pieces = [(Stdout, 1, 5000), (Stderr, 1, 20), (Stdout, 1, 5001)];
    assert_eq!(runs(&recorded(&pieces)), [(Stdout, 5000, Some(1)), (Stderr, 5000, Some(1)), (Stdout, 5001, Some(1))]);
}

#[test]
fn what_was_cut_off_goes_on_in_its_run() {
    let whole = recorded(&[(Stdout, 7, 0), (Stderr, 5, 100), (Stdout, 3, 300)]);
    let cut = |entries: usize| runs(&whole[..entries * ENTRY_BYTES]);
    assert_eq!(cut(1), [(Stdout, 0, None)]);
    assert_eq!(cut(2), [(Stdout, 0, Some(7)), (Stderr, 100, None)]);
    assert_eq!(cut(4), [(Stdout, 0, Some(7)), (Stderr, 100, Some(5)), (Stdout, 300, Some(3))]);
}

#[test]
fn a_flood_makes_no_more_entries_than_fit_a_second() {
    let flood: Vec<_> = (0..200_000).map(|n| (OutputStream::BOTH[n % 2], 1, n as u64 / 100)).collect();
    let bytes = recorded(&flood);
    let entries = bytes.len() / ENTRY_BYTES;
    assert!(entries <= 2 * (MOST_A_SECOND as usize + 2) + 1, "{entries} entries of two seconds");
    let length = |stream| runs(&bytes).iter().filter(|run| run.0 == stream).filter_map(|run| run.2).sum::<u64>();
    assert_eq!((length(Stdout), length(Stderr)), (100_000, 100_000));
}

#[test]
fn a_timeline_ends_where_it_is_full() {
    let pieces: Vec<_> = (0..600_000).map(|n| (Stdout, 1, n * MERGED_MS)).collect();
    let bytes = recorded(&pieces);
    assert_eq!(bytes.len(), MOST_ENTRIES as usize * ENTRY_BYTES);
    let told = runs(&bytes);
    assert_eq!(told.iter().filter_map(|run| run.2).sum::<u64>(), u64::from(MOST_ENTRIES) - 1);
    assert!(told.iter().all(|run| run.2 == Some(1)));
}

#[test]
fn a_run_longer_than_an_entry_can_say_is_several() {
    let long = u64::from(Entry::MOST_BYTES);
    let told = runs(&recorded(&[(Stderr, long, 3), (Stderr, 5, 4), (Stdout, 1, 9)]));
    assert_eq!(told, [(Stderr, 3, Some(long)), (Stderr, 3, Some(5)), (Stdout, 9, Some(1))]);
}

#[test]
fn the_bytes_of_a_timeline_are_pinned() {
    let header = encode_header(Timestamp::nearest(START_MS));
    assert_eq!(header, *b"\xb1isotl\x01\n\x00\x50\x5c\x18\xa3\x01\x00\x00");
    assert_eq!(decode_header(header), Some(Timestamp::nearest(START_MS)));
    let bytes = recorded(&[(Stdout, 7, 0x102), (Stderr, 5, 0x203)]);
    let expected = [[2, 1, 0, 0, 0, 0, 0, 0], [1, 1, 0, 0, 7, 0, 0, 0x40], [0, 0, 0, 0, 5, 0, 0, 0x80]];
    assert_eq!(bytes, expected.concat());
}

#[test]
fn bytes_that_no_timeline_has_are_told() {
    assert_eq!(decode_header(*b"\xb1isotl\x02\n\x00\x50\x5c\x18\xa3\x01\x00\x00"), None);
    assert_eq!(decode_header(*b"\xb1isotl\x01\n\x00\x00\x00\x00\x00\x00\x00\x00"), None);
    assert_eq!(Entry::decode([0, 0, 0, 0, 0, 0, 0, 0xc0]), None);
    let mut runs = Runs::new(Timestamp::nearest(START_MS));
    let entry = |length, next| Entry { after_ms: 0, length, next };
    assert_eq!(runs.clone().push(entry(1, Next::Run(Stdout))), None, "nothing had begun");
    assert_eq!(runs.push(entry(0, Next::Nothing)), Some(None));
    assert_eq!(runs.push(entry(0, Next::Nothing)), None, "it was over");
}

proptest! {
    #[test]
    fn the_runs_of_any_pieces_are_both_streams(
        pieces in vec((stream(), 1_u64..100_000, 0_u64..3), 0..3000),
    ) {
        let mut now = 0;
        let pieces: Vec<_> = pieces.into_iter().map(|(stream, length, after)| {
            now += after;
            (stream, length, now)
        }).collect();
        let told = runs(&recorded(&pieces));
        for stream in OutputStream::BOTH {
            let came: u64 = pieces.iter().filter(|piece| piece.0 == stream).map(|piece| piece.1).sum();
            let length: u64 = told.iter().filter(|run| run.0 == stream).filter_map(|run| run.2).sum();
            prop_assert_eq!(length, came);
        }
        prop_assert!(told.is_sorted_by_key(|run| run.1));
        prop_assert!(told.iter().all(|run| run.2.is_some()));
    }

    #[test]
    fn any_entry_has_bytes_of_its_own(bytes in any::<[u8; ENTRY_BYTES]>()) {
        if let Some(entry) = Entry::decode(bytes) {
            prop_assert_eq!(entry.encode(), bytes);
        }
    }
}
