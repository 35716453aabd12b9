//! Change Sets of many chunks, and what is refused of them.

mod samples;

use isobox_domain::change::{After, Change, ChangeLine, ChangeSetRef, Mode, NotCaptured, NotCapturedReason};
use isobox_domain::content::ContentRef;
use isobox_store_format::change_set::{
    ChangeSetIndex, ChangeSetWriter, ReadError, WriteError, decode_chunk, decode_index, encode_index, read_change_set,
};
use isobox_store_format::object::{DecodeError, EncodeError, MAX_OBJECT_BYTES, reference_to};
use std::collections::HashMap;

type Objects = HashMap<ContentRef, Vec<u8>>;

fn write(lines: impl IntoIterator<Item = ChangeLine>) -> (ChangeSetRef, Objects) {
    let mut writer = ChangeSetWriter::default();
    let mut objects = Objects::new();
    let mut keep = |bytes: Vec<u8>| objects.insert(reference_to(&bytes), bytes);
    for line in lines {
        writer.push(&line).expect("in order").map(&mut keep);
    }
    let finished = writer.finish().expect("finish").expect("lines");
    keep(finished.chunk);
    keep(finished.index);
    (finished.reference, objects)
}

fn read(reference: &ChangeSetRef, objects: &Objects) -> Result<Vec<ChangeLine>, ReadError> {
    let fetch = |part: &ContentRef| objects.get(part).cloned().ok_or_else(|| "absent".into());
    read_change_set(reference, fetch)?.collect()
}

fn added(path: &[u8]) -> ChangeLine {
    let ChangeLine::Change(change) = samples::change_lines().swap_remove(0) else { unreachable!("a change") };
    ChangeLine::Change(Change { path: samples::path(path), ..change })
}

fn left_out(path: &[u8], reason: NotCapturedReason) -> ChangeLine {
    ChangeLine::NotCaptured(NotCaptured { workspace_path: path.to_vec(), reason })
}

fn many() -> impl Iterator<Item = ChangeLine> {
    (0..8_000).map(|number| added(format!("{number:0300}").as_bytes()))
}

/// The index of `objects` with `change` made to it, and the reference to it.
fn with_index(objects: &mut Objects, of: &ChangeSetRef, change: impl FnOnce(&mut ChangeSetIndex)) -> ChangeSetRef {
    let mut index = decode_index(&objects[&ContentRef { id: of.id, length: of.length }]).expect("decode");
    change(&mut index);
    let bytes = encode_index(&index).expect("encode");
    let ContentRef { id, length } = reference_to(&bytes);
    objects.insert(reference_to(&bytes), bytes);
    ChangeSetRef { id, length, summary: of.summary }
}

#[test]
fn many_lines_are_cut_into_chunks_of_at_most_1_mib() {
    let (reference, objects) = write(many());
    assert_eq!(reference.summary.added, 8_000);
    assert!(objects.len() > 3, "some chunks and an index");
    assert!(objects.keys().all(|object| object.length <= MAX_OBJECT_BYTES as u64));
    let total: u64 = objects.keys().map(|object| object.length).sum();
    assert!(total > (objects.len() as u64 - 2) * (MAX_OBJECT_BYTES as u64 - 4096), "chunks are filled");
    assert!(read(&reference, &objects).expect("read").into_iter().eq(many()));
}

#[test]
fn one_chunk_at_a_time_is_fetched() {
    let (reference, objects) = write(many());
    let mut fetched = 0;
    let fetch = |part: &ContentRef| {
        fetched += 1;
        Ok(objects[part].clone())
    };
    let mut reader = read_change_set(&reference, fetch).expect("open");
    assert_eq!(reader.next().transpose().expect("read"), many().next());
    drop(reader);
    assert_eq!(fetched, 2);
}

#[test]
fn lines_out_of_order_and_second_changes_of_a_path_are_refused() {
    let mut writer = ChangeSetWriter::default();
    let bits = || left_out(b"b", NotCapturedReason::SpecialModeBits(0o2000));
    for line in [added(b"b"), bits(), bits()] {
        assert_eq!(writer.push(&line), Ok(None));
    }
    for line in [added(b"b"), added(b"a/z"), left_out(b"", NotCapturedReason::Fifo)] {
        assert_eq!(writer.push(&line), Err(WriteError::OutOfOrder));
    }
    assert_eq!(writer.push(&added(b"b/c")), Ok(None));
    let finished = writer.finish().expect("finish").expect("lines");
    assert_eq!(decode_chunk(&finished.chunk).map(|lines| lines.len()), Ok(4));
}

#[test]
fn chunks_in_another_order_are_refused() {
    let (reference, mut objects) = write(many());
    let swapped = with_index(&mut objects, &reference, |index| index.chunks.swap(0, 1));
    assert!(matches!(read(&swapped, &objects), Err(ReadError::OutOfOrder { .. })));
    let repeated = with_index(&mut objects, &reference, |index| index.chunks.insert(0, index.chunks[0]));
    assert!(matches!(read(&repeated, &objects), Err(ReadError::OutOfOrder { .. })));
}

#[test]
fn totals_that_do_not_add_up_are_refused() {
    let (reference, mut objects) = write(many());
    let short = with_index(&mut objects, &reference, |index| index.chunks.truncate(1));
    assert!(matches!(read(&short, &objects), Err(ReadError::WrongTotals { .. })));
    let mut other = reference;
    other.summary.deleted += 1;
    assert!(matches!(read(&other, &objects), Err(ReadError::WrongTotals { .. })));
}

#[test]
fn a_damaged_or_missing_part_ends_the_reading() {
    let (reference, objects) = write(many());
    for part in objects.keys() {
        let mut damaged = objects.clone();
        if let Some(byte) = damaged.get_mut(part).and_then(|bytes| bytes.last_mut()) {
            *byte ^= 1;
        }
        let error = read(&reference, &damaged).expect_err("damage");
        assert!(
            matches!(error, ReadError::Decode { part: found, source: DecodeError::WrongObject { .. } } if found == part.id)
        );
        damaged.remove(part);
        let error = read(&reference, &damaged).expect_err("a missing part");
        assert!(matches!(error, ReadError::Fetch { part: found, .. } if found == part.id));
    }
}

#[test]
fn an_object_that_claims_to_be_huge_is_never_fetched() {
    let (reference, objects) = write([added(b"a")]);
    let huge = ChangeSetRef { length: u64::MAX, ..reference };
    assert!(matches!(read(&huge, &objects), Err(ReadError::Decode { source: DecodeError::TooLarge { .. }, .. })));
}

#[test]
fn reading_goes_no_further_after_an_error() {
    let (reference, mut objects) = write(many());
    let swapped = with_index(&mut objects, &reference, |index| index.chunks.swap(0, 1));
    let reader = read_change_set(&swapped, |part| Ok(objects[part].clone())).expect("open");
    let results: Vec<bool> = reader.map(|line| line.is_ok()).take(10_000).collect();
    assert_eq!(results.iter().position(|is_ok| !is_ok), Some(results.len() - 1));
}

#[test]
fn nothing_is_written_for_a_change_set_without_lines() {
    assert_eq!(ChangeSetWriter::default().finish(), Ok(None));
    let empty = ChangeSetIndex { summary: Default::default(), chunks: vec![] };
    assert!(matches!(encode_index(&empty), Err(EncodeError::Refused { .. })));
}

#[test]
fn changes_that_contradict_themselves_are_not_written() {
    let sample = |at: usize| match samples::change_lines().swap_remove(at) {
        ChangeLine::Change(change) => change,
        ChangeLine::NotCaptured(_) => unreachable!("a change"),
    };
    let (add, delete, modify, submodule) = (sample(0), sample(1), sample(2), sample(6));
    let after_of_before = modify.before.as_ref().and_then(|before| {
        let after = modify.after.as_ref()?;
        Some(After { mode: before.mode, content: before.content?, ..after.clone() })
    });
    let contradictions = [
        Change { after: None, ..add.clone() },
        Change { after: after_of_before, ..modify },
        Change { renamed_from: Some(samples::path(b"x")), ..delete },
        Change { path: samples::path(b"elsewhere"), ..submodule },
        Change { after: add.after.clone().map(|after| After { mode: Mode::Submodule, ..after }), ..add.clone() },
    ];
    for change in contradictions {
        let mut writer = ChangeSetWriter::default();
        let refused = writer.push(&ChangeLine::Change(change.clone()));
        assert!(matches!(refused, Err(WriteError::Encode(EncodeError::Refused { .. }))), "{change:?}");
        assert_eq!(writer.push(&ChangeLine::Change(add.clone())), Ok(None), "the writer goes on");
    }
}

#[test]
fn a_line_that_fills_a_chunk_is_written_and_a_larger_one_refused() {
    let line = |length| left_out(&vec![b'x'; length], NotCapturedReason::Fifo);
    let largest = (MAX_OBJECT_BYTES - 100..MAX_OBJECT_BYTES)
        .rev()
        .find(|&length| ChangeSetWriter::default().push(&line(length)).is_ok())
        .expect("a length that fits");
    let (reference, objects) = write([line(1), line(largest)]);
    assert_eq!(objects.len(), 3);
    assert_eq!(read(&reference, &objects).expect("read"), [line(1), line(largest)]);
    let refused = ChangeSetWriter::default().push(&line(largest + 1));
    assert!(matches!(refused, Err(WriteError::Encode(EncodeError::TooLarge { kind: "isobox.changes", .. }))));
}
