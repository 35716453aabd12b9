//! When output came of which the timeline is still being written.

use isobox_domain::timeline::{ENTRY_BYTES, Entry, HEADER_BYTES, OutputStream, Runs, decode_header};
use isobox_domain::timestamp::Timestamp;
use std::collections::VecDeque;

use super::Piece;

/// Tells the pieces of both outputs when they came. It holds the runs of which nothing came yet: no more than there are in one
/// timeline.
#[derive(Default)]
pub(crate) struct LiveTimes {
    /// What came of the timeline and is no whole entry yet.
    pending: Vec<u8>,
    state: State,
    outputs: [Times; 2],
}

#[derive(Default)]
enum State {
    #[default]
    Beginning,
    Running(Runs),
    /// It has what no timeline has.
    Over,
}

#[derive(Default)]
struct Times {
    /// How many bytes were told.
    told: u64,
    /// How many are in runs that are over.
    known: u64,
    now: Option<Timestamp>,
    /// Where runs begin that come next, and when.
    next: VecDeque<(u64, Timestamp)>,
}

impl LiveTimes {
    /// Takes the next bytes of the timeline.
    pub(crate) fn learn(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        let mut rest = &self.pending[..];
        if let (State::Beginning, Some((header, entries))) = (&self.state, rest.split_first_chunk::<HEADER_BYTES>()) {
            self.state = decode_header(*header).map_or(State::Over, |started_at| State::Running(Runs::new(started_at)));
            rest = entries;
        }
        if let State::Running(runs) = &mut self.state {
            while let Some((entry, entries)) = rest.split_first_chunk::<ENTRY_BYTES>() {
                rest = entries;
                let Some(ended) = Entry::decode(*entry).and_then(|entry| runs.push(entry)) else {
                    self.state = State::Over;
                    break;
                };
                if let Some((ended, length)) = ended.and_then(|run| Some((run, run.length?))) {
                    self.outputs[ended.stream.index()].known += length;
                }
                if let Some(open) = runs.open() {
                    let output = &mut self.outputs[open.stream.index()];
                    output.next.push_back((output.known, open.at));
                }
            }
        }
        let length = if let State::Over = self.state { 0 } else { rest.len() };
        self.pending.drain(..self.pending.len() - length);
    }

    /// Hands `bytes`, which come next of `stream`, to `give` in pieces that have one time each.
    pub(crate) fn tell<E>(
        &mut self,
        stream: OutputStream,
        mut bytes: &[u8],
        mut give: impl FnMut(Piece<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let output = &mut self.outputs[stream.index()];
        while !bytes.is_empty() {
            while let Some((_, at)) = output.next.pop_front_if(|(start, _)| *start <= output.told) {
                output.now = Some(at);
            }
            let left = output.next.front().map_or(u64::MAX, |(start, _)| start - output.told);
            let (now, later) = bytes.split_at(bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX)));
            give(Piece { stream, at: output.now, bytes: now })?;
            output.told += now.len() as u64;
            bytes = later;
        }
        Ok(())
    }

    /// How many bytes of an output were told.
    pub(crate) fn told(&self, stream: OutputStream) -> u64 {
        self.outputs[stream.index()].told
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobox_domain::timeline::{Recorder, encode_header};

    #[test]
    fn output_has_the_time_of_the_newest_run_that_began_before_it() {
        let start = Timestamp::nearest(1_800_000_000_000);
        let (mut recorder, mut timeline) = (Recorder::default(), encode_header(start).to_vec());
        let mut live = LiveTimes::default();
        let mut seen = Vec::new();
        let (mut learnt, mut all) = (0, Vec::new());
        let pieces =
            [(OutputStream::Stdout, "a", 0), (OutputStream::Stderr, "b", 20), (OutputStream::Stdout, "cd", 40)];
        for (stream, text, at_ms) in pieces {
            recorder.piece(stream, text.len() as u64, at_ms, &mut timeline);
            // Byte by byte, as a follower may happen to read it.
            timeline[learnt..].iter().for_each(|byte| live.learn(&[*byte]));
            learnt = timeline.len();
            let told = live.tell(stream, text.as_bytes(), |piece| {
                all.extend_from_slice(piece.bytes);
                seen.push(piece.at.map(|at| at.unix_ms() - start.unix_ms()));
                Ok::<_, ()>(())
            });
            assert_eq!(told, Ok(()));
        }
        assert_eq!((seen, all), (vec![Some(0), Some(20), Some(40)], b"abcd".to_vec()));
    }

    #[test]
    fn output_that_comes_long_after_its_runs_is_taken_apart_by_them() {
        let start = Timestamp::nearest(1_800_000_000_000);
        let (mut recorder, mut timeline) = (Recorder::default(), encode_header(start).to_vec());
        recorder.piece(OutputStream::Stdout, 2, 0, &mut timeline);
        recorder.piece(OutputStream::Stdout, 3, 50, &mut timeline);
        let mut live = LiveTimes::default();
        live.learn(&timeline);
        let mut seen = Vec::new();
        let told = live.tell(OutputStream::Stdout, b"aabbb", |piece| {
            seen.push((piece.at.map(|at| at.unix_ms() - start.unix_ms()), piece.bytes.len()));
            Ok::<_, ()>(())
        });
        assert_eq!((told, seen), (Ok(()), vec![(Some(0), 2), (Some(50), 3)]));
    }

    #[test]
    fn output_beside_what_is_no_timeline_has_no_time() {
        let mut live = LiveTimes::default();
        live.learn(&[7; 100]);
        let told = live.tell(OutputStream::Stderr, b"said", |piece| if piece.at.is_none() { Ok(()) } else { Err(()) });
        assert_eq!((told, live.told(OutputStream::Stderr)), (Ok(()), 4));
    }
}
