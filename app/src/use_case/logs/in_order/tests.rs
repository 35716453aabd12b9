use super::*;
use OutputStream::{Stderr, Stdout};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::timeline::{Recorder, encode_header};
use isobox_ports::{ChangeLines, ObjectStore, StoreError};
use proptest::collection::vec;
use proptest::prelude::*;
use std::io::Cursor;

const START_MS: u64 = 1_800_000_000_000;

/// Of which stream, milliseconds after the start, and the bytes.
type Told = (OutputStream, Option<u64>, Vec<u8>);

/// Objects by number: both outputs and their timeline.
struct Objects([Vec<u8>; 3]);

impl ObjectStore for Objects {
    fn open(&self, id: &ContentId) -> Result<Option<Content>, StoreError> {
        Ok(self.0.get(usize::from(id.as_bytes()[0])).map(|bytes| Box::new(Cursor::new(bytes.clone())) as Content))
    }

    fn changes(&self, _: &isobox_domain::change::ChangeSetRef) -> Result<ChangeLines<'_>, StoreError> {
        Ok(Box::new(std::iter::empty()))
    }
}

impl Objects {
    /// Of pieces: stream, text, milliseconds after the start.
    fn of(pieces: &[(OutputStream, Vec<u8>, u64)]) -> Self {
        let mut all = Self([Vec::new(), Vec::new(), encode_header(Timestamp::nearest(START_MS)).to_vec()]);
        let mut recorder = Recorder::default();
        for (stream, bytes, at_ms) in pieces {
            recorder.piece(*stream, bytes.len() as u64, *at_ms, &mut all.0[2]);
            all.0[stream.index()].extend_from_slice(bytes);
        }
        recorder.finish(&mut all.0[2]);
        all
    }

    fn artifacts(&self) -> TaskArtifacts {
        let artifact = |n: u8| {
            let length = self.0[usize::from(n)].len() as u64;
            (length > 0).then_some(ContentRef { id: ContentId::new([n; 32]), length })
        };
        let (stdout, stderr, timeline) = (artifact(0), artifact(1), artifact(2));
        TaskArtifacts { stdout, stderr, timeline, ..TaskArtifacts::default() }
    }

    /// Everything that is handed over, neighbours of the same stream and time together; and how much of it has no time.
    fn told(&self, order: Order) -> (Vec<Told>, u64) {
        let ports = Ports { objects: self };
        let (replay, unreadable) = Replay::open(&ports, &self.artifacts(), |_| true, order).expect("opened");
        assert!(unreadable.is_none());
        let mut told: Vec<Told> = Vec::new();
        let timeless = replay.hand_over(&mut |piece| {
            // A damaged timeline may begin before that.
            let at = piece.at.map(|at| at.unix_ms().wrapping_sub(START_MS));
            match told.last_mut() {
                Some(last) if (last.0, last.1) == (piece.stream, at) => last.2.extend_from_slice(piece.bytes),
                _ => told.push((piece.stream, at, piece.bytes.to_vec())),
            }
            Ok(())
        });
        (told, timeless.expect("handed over"))
    }

    fn bytes_of(told: &[Told], stream: OutputStream) -> Vec<u8> {
        told.iter().filter(|piece| piece.0 == stream).flat_map(|piece| piece.2.clone()).collect()
    }
}

fn piece(stream: OutputStream, text: &str, at_ms: u64) -> (OutputStream, Vec<u8>, u64) {
    (stream, text.as_bytes().to_vec(), at_ms)
}

#[test]
fn pieces_are_handed_over_as_they_came() {
    let pieces = [piece(Stdout, "a", 0), piece(Stderr, "b\n", 5), piece(Stdout, "c\n", 30)];
    let expected = pieces.iter().cloned().map(|(stream, bytes, at_ms)| (stream, Some(at_ms), bytes)).collect();
    assert_eq!(Objects::of(&pieces).told(Order::Exact), (expected, 0));
}

#[test]
fn by_line_a_line_is_whole_before_the_other_output_goes_on() {
    let pieces = [
        piece(Stdout, "a", 0),
        piece(Stderr, "e\n", 5),
        piece(Stdout, "b\nnext", 30),
        piece(Stderr, "f", 50),
        piece(Stdout, " line\n", 70),
    ];
    let expected = vec![
        (Stdout, Some(0), b"ab\n".to_vec()),
        (Stderr, Some(5), b"e\n".to_vec()),
        (Stdout, Some(30), b"next line\n".to_vec()),
        (Stderr, Some(50), b"f".to_vec()),
    ];
    assert_eq!(Objects::of(&pieces).told(Order::ByLine), (expected, 0));
}

#[test]
fn what_a_timeline_that_was_cut_off_or_is_none_does_not_tell_of_is_handed_over_without_times() {
    let mut objects = Objects::of(&[piece(Stdout, "a\n", 0), piece(Stderr, "b\n", 30), piece(Stdout, "c\n", 60)]);
    objects.0[2].truncate(16 + 8 + 3);
    let cut = vec![(Stdout, Some(0), b"a\nc\n".to_vec()), (Stderr, None, b"b\n".to_vec())];
    assert_eq!(objects.told(Order::Exact), (cut, 2));
    objects.0[2] = b"no timeline at all, but as long as one".to_vec();
    let none = vec![(Stdout, None, b"a\nc\n".to_vec()), (Stderr, None, b"b\n".to_vec())];
    assert_eq!(objects.told(Order::ByLine), (none, 6));
}

#[test]
fn what_was_told_before_is_left_out() {
    let objects = Objects::of(&[piece(Stdout, "abc\n", 0), piece(Stderr, "e\n", 30), piece(Stdout, "d\n", 60)]);
    let ports = Ports { objects: &objects };
    let (mut replay, _) = Replay::open(&ports, &objects.artifacts(), |_| true, Order::Exact).expect("opened");
    replay.skip(Stdout, 5).expect("skipped");
    let mut told = Vec::new();
    let timeless = replay.hand_over(&mut |piece| {
        told.extend_from_slice(piece.bytes);
        Ok(())
    });
    assert_eq!((told, timeless.expect("handed over")), (b"e\n\n".to_vec(), 0));
}

fn any_pieces() -> impl Strategy<Value = Vec<(OutputStream, Vec<u8>, u64)>> {
    let stream = prop_oneof![Just(Stdout), Just(Stderr)];
    let bytes = vec(prop_oneof![Just(b'\n'), any::<u8>()], 1..40);
    vec((stream, bytes, 0_u64..40), 0..60).prop_map(|pieces| {
        let mut now = 0;
        let later = |(stream, bytes, after)| {
            now += after;
            (stream, bytes, now)
        };
        pieces.into_iter().map(later).collect()
    })
}

proptest! {
    #[test]
    fn whatever_was_written_comes_back_byte_for_byte_of_each_output(
        pieces in any_pieces(),
        by_line in any::<bool>(),
        lost in proptest::option::of(0_usize..600),
        damage in proptest::option::of((0_usize..600, any::<u8>())),
    ) {
        let mut objects = Objects::of(&pieces);
        if let Some(lost) = lost {
            objects.0[2].truncate(lost);
        }
        if let Some((at, byte)) = damage && let Some(spot) = objects.0[2].get_mut(at) {
            *spot = byte;
        }
        let (told, timeless) = objects.told(if by_line { Order::ByLine } else { Order::Exact });
        for stream in OutputStream::BOTH {
            prop_assert_eq!(Objects::bytes_of(&told, stream), &objects.0[stream.index()][..]);
        }
        if lost.is_none() && damage.is_none() {
            prop_assert_eq!(timeless, 0);
        }
        if lost.is_none() && damage.is_none() && !by_line {
            let in_order: Vec<u8> = told.into_iter().flat_map(|piece| piece.2).collect();
            let came: Vec<u8> = pieces.into_iter().flat_map(|piece| piece.1).collect();
            prop_assert_eq!(in_order, came);
        }
    }
}
