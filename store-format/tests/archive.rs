//! Archives: their bytes are pinned, what is accepted re-encodes to itself, and nothing that was changed is accepted.

mod samples;

use isobox_domain::content::ContentRef;
use isobox_store_format::archive::{Archive, ArchiveError, ArchiveWriter, HEAD_LEN, Head, ROW_LEN, Row, Section};
use isobox_store_format::below::each_below;
use isobox_store_format::change_set::ChangeSetWriter;
use isobox_store_format::event::encode_event;
use isobox_store_format::object::reference_to;
use isobox_store_format::record::encode_record;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

/// What an Archive is made of: records with their events, and artifacts.
type Objects = (Vec<(Vec<u8>, Vec<Vec<u8>>)>, Vec<Vec<u8>>);

fn encode((records, artifacts): &Objects) -> Vec<u8> {
    let records: BTreeMap<ContentRef, _> = records.iter().map(|record| (reference_to(&record.0), record)).collect();
    let artifacts: BTreeMap<ContentRef, _> = artifacts.iter().map(|bytes| (reference_to(bytes), bytes)).collect();
    let events: Vec<&Vec<u8>> = records.values().flat_map(|(_, events)| events).collect();
    let contents: Vec<&Vec<u8>> =
        records.values().map(|(record, _)| record).chain(events).chain(artifacts.values().copied()).collect();
    let counts = [records.len(), contents.len() - records.len() - artifacts.len(), artifacts.len()];
    let [records_count, events_count, artifacts_count] = counts.map(|count| count as u64);
    let length = contents.iter().map(|content| content.len() as u64).sum();
    let head = Head::of(records_count, events_count, artifacts_count, length).expect("within the limits");
    let mut writer = ArchiveWriter::begin(Vec::new(), head).expect("begin");
    let mut until = records.values().scan(0, |until, (_, events)| {
        *until += events.len() as u64;
        Some(*until)
    });
    for content in &contents {
        writer.row(&reference_to(content), until.next().unwrap_or(0)).expect("a row");
    }
    writer.end_table().expect("a table");
    for content in contents {
        writer.object(&reference_to(content), &mut content.as_slice()).expect("an object");
    }
    writer.finish().expect("finish")
}

/// What an Archive holds, if it is sound from its first byte to its last.
fn decode(bytes: &[u8]) -> Result<Objects, ArchiveError> {
    let archive = Archive::open(bytes)?;
    archive.require_length(bytes.len() as u64)?;
    let mut damaged = None;
    archive.check(|_, row, is_right| damaged = damaged.or((!is_right).then_some(row.id)))?;
    if let Some(expected) = damaged {
        return Err(ArchiveError::Content { expected });
    }
    let head = *archive.head();
    let mut records = Vec::new();
    for at in head.rows_of(Section::Records) {
        let events = archive.events_of(at)?.map(|event| whole(&archive, event)).collect::<Result<_, _>>()?;
        records.push((whole(&archive, at)?, events));
    }
    let artifacts = head.rows_of(Section::Artifacts).map(|at| whole(&archive, at)).collect::<Result<_, _>>()?;
    Ok((records, artifacts))
}

fn whole(archive: &Archive<&[u8]>, at: u64) -> Result<Vec<u8>, ArchiveError> {
    let mut bytes = Vec::new();
    archive.content(&archive.row(at)?)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A record with everything below it, and two events about it.
fn sample() -> Objects {
    let mut writer = ChangeSetWriter::default();
    let content = reference_to(b"left by the task\n");
    for line in samples::lines_about(content) {
        assert_eq!(writer.push(&line), Ok(None));
    }
    let set = writer.finish().expect("finish").expect("lines");
    let mut record = samples::bare_record();
    record.artifacts.stdout = Some(reference_to(b"said\n"));
    record.artifacts.change_set = Some(set.reference);
    let record = encode_record(&record).expect("encode");
    let event = |event| encode_event(&event).expect("encode");
    let first = samples::events::rejected();
    let first = event(isobox_domain::event::Event { subject: record.reference().id, previous: None, ..first });
    let second = isobox_domain::event::Event {
        subject: record.reference().id,
        previous: Some(reference_to(&first).id),
        ..samples::events::promoted()
    };
    let artifacts = [b"said\n".to_vec(), b"left by the task\n".to_vec(), set.chunk, set.index, record.policy_bytes];
    (vec![(record.bytes, vec![first, event(second)])], artifacts.to_vec())
}

fn large() -> Objects {
    let (records, mut artifacts) = sample();
    artifacts.extend([vec![7; (3 << 20) + 5], vec![8; 1 << 20], Vec::new()]);
    (records, artifacts)
}

#[test]
fn archives_keep_their_bytes() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/archive.isobox");
    let bytes = encode(&sample());
    if std::env::var_os("ISOBOX_WRITE_GOLDEN").is_some() {
        std::fs::write(&file, &bytes).expect("write the golden archive");
    }
    assert!(std::fs::read(&file).expect("read the golden archive") == bytes, "archives that exist must stay readable");
}

#[test]
fn an_archive_gives_back_what_was_put_into_it() {
    for objects in [sample(), large()] {
        let bytes = encode(&objects);
        assert!(encode(&decode(&bytes).expect("decode")) == bytes);
    }
}

#[test]
fn everything_below_a_record_is_found() {
    let (records, artifacts) = sample();
    let mut found = BTreeSet::new();
    let mut fetch = |part: &ContentRef| {
        let bytes = artifacts.iter().find(|bytes| reference_to(bytes) == *part);
        bytes.cloned().ok_or_else(|| "missing".into())
    };
    each_below(&records[0].0, &mut fetch, &mut |object| {
        found.insert(*object);
        Ok(())
    })
    .expect("everything");
    assert_eq!(found, artifacts.iter().map(|bytes| reference_to(bytes)).collect());
}

#[test]
fn no_flipped_byte_is_accepted() {
    let bytes = encode(&sample());
    for at in 0..bytes.len() {
        for bit in [0, 7] {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            assert!(decode(&flipped).is_err(), "byte {at}");
        }
    }
}

#[test]
fn a_file_that_was_cut_or_goes_on_is_not_accepted() {
    let bytes = encode(&sample());
    for length in 0..bytes.len() {
        assert!(decode(&bytes[..length]).is_err(), "{length} bytes");
    }
    assert!(decode(&[bytes.as_slice(), b"\0"].concat()).is_err());
}

/// The Archive with something else written into its head or table, under a right digest.
fn forged(change: impl FnOnce(&mut [u8])) -> Result<Objects, ArchiveError> {
    let mut bytes = encode(&sample());
    let head = *Archive::open(bytes.as_slice()).expect("open").head();
    change(&mut bytes);
    let end = head.contents_at() as usize - 32;
    let digest = *blake3::hash(&bytes[..end]).as_bytes();
    bytes[end..end + 32].copy_from_slice(&digest);
    let (body, last) = bytes.split_at_mut(head.digest_at() as usize);
    last.copy_from_slice(blake3::hash(body).as_bytes());
    decode(&bytes)
}

/// What is written over a head and a table.
type Lie = Box<dyn FnOnce(&mut [u8])>;

#[test]
fn lies_under_a_right_digest_are_refused() {
    let number =
        |at: usize, value: u64| move |bytes: &mut [u8]| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    let row = |row: usize, field: usize| HEAD_LEN as usize + row * ROW_LEN as usize + field;
    let cases: Vec<(&str, Lie)> = vec![
        ("another version", Box::new(|bytes: &mut [u8]| bytes[8] = 2)),
        ("reserved bytes", Box::new(|bytes: &mut [u8]| bytes[12] = 1)),
        ("no record", Box::new(number(16, 0))),
        ("more records than are accepted", Box::new(number(16, u64::MAX))),
        ("more artifacts than are accepted", Box::new(number(32, u64::MAX))),
        ("a length of everything", Box::new(number(40, u64::MAX))),
        ("a length of nothing", Box::new(number(40, 0))),
        ("a length of a record", Box::new(number(row(0, 32), (1 << 20) + 1))),
        ("a length of an artifact", Box::new(number(row(3, 32), u64::MAX))),
        ("an offset", Box::new(number(row(1, 40), 0))),
        ("the events of a record", Box::new(number(row(0, 48), 1))),
        ("more events than there are", Box::new(number(row(0, 48), u64::MAX))),
        ("the events of an event", Box::new(number(row(1, 48), 1))),
        ("the order of artifacts", Box::new(move |bytes: &mut [u8]| bytes[row(3, 0)..row(3, 32)].fill(0xff))),
        ("an artifact twice", Box::new(move |bytes: &mut [u8]| bytes.copy_within(row(3, 0)..row(3, 32), row(4, 0)))),
    ];
    for (what, change) in cases {
        assert!(forged(change).is_err(), "{what}");
    }
    assert!(forged(|_| ()).is_ok());
}

#[test]
fn a_writer_writes_nothing_that_its_rows_do_not_say() {
    let object = reference_to(b"a record");
    let head = Head::of(1, 0, 0, 8).expect("a head");
    for content in [&b"a recor"[..], b"a record!", b"another1"] {
        let mut writer = ArchiveWriter::begin(Vec::new(), head).expect("begin");
        writer.row(&object, 0).expect("a row");
        writer.end_table().expect("a table");
        assert!(writer.object(&object, &mut &content[..]).is_err());
    }
    let mut writer = ArchiveWriter::begin(Vec::new(), head).expect("begin");
    writer.row(&object, 0).expect("a row");
    writer.end_table().expect("a table");
    assert!(writer.finish().is_err(), "an object is missing");
}

#[test]
fn what_is_changed_after_it_was_verified_is_not_handed_out() {
    use isobox_store_format::scan::ReadAt;
    use std::io;
    use std::sync::Mutex;
    #[derive(Clone)]
    struct Changing(std::sync::Arc<Mutex<Vec<u8>>>);
    impl ReadAt for Changing {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            self.0.lock().expect("nobody panicked").as_slice().read_at(buffer, offset)
        }
    }
    let bytes = Changing(std::sync::Arc::new(Mutex::new(encode(&large()))));
    let archive = Archive::open(bytes.clone()).expect("open");
    let rows = archive.head().rows_of(Section::Artifacts);
    let row: Row = rows.map(|at| archive.row(at).expect("a row")).max_by_key(|row| row.length).expect("a row");
    let mut content = archive.content(&row).expect("verified");
    let at = (row.offset + row.length - 1) as usize;
    bytes.0.lock().expect("nobody panicked")[at] ^= 1;
    let mut read = Vec::new();
    assert!(content.read_to_end(&mut read).is_err());
    assert!(read.len() <= 3 << 20 && read.iter().all(|byte| *byte == 7));
}

proptest! {
    #[test]
    fn objects_of_any_shape_come_back(
        records in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..50), prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..4)), 1..6),
        artifacts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..8),
    ) {
        let bytes = encode(&(records.clone(), artifacts.clone()));
        let mut reversed = (records, artifacts);
        reversed.1.reverse();
        prop_assert!(encode(&reversed) == bytes, "the order does not matter");
        prop_assert!(encode(&decode(&bytes).expect("decode")) == bytes);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(decode(&bytes).is_err());
    }
}
