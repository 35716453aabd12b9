//! Archives. Digests, ids and the order of rows are repaired as far as the bytes ask for it: a fuzzer does not find them,
//! an attacker writes them.

use isobox_domain::content::ContentRef;
use isobox_store_format::archive::{
    Archive, ArchiveError, ArchiveWriter, DIGEST_LEN, HEAD_LEN, Head, ROW_LEN, Row, Section,
};
use isobox_store_format::below::each_below;
use isobox_store_format::event::decode_event;
use isobox_store_format::object::reference_to;
use std::io::Read;

/// What a row of a made-up Archive takes of its bytes: a length and how many events.
const SCRIPT_ROW: usize = 3;

pub(crate) fn archive(bytes: &[u8]) {
    check(bytes);
    check(&with_right_digests(bytes));
    if let Some(made) = made_up(bytes) {
        check(&made);
    }
}

fn check(bytes: &[u8]) {
    let Ok(archive) = Archive::open(bytes) else { return };
    // Whatever is asked of one that is not whole is answered or refused.
    let is_whole = archive.require_length(bytes.len() as u64).is_ok();
    let mut are_right = true;
    let digest = archive.check(|_, _, is_right| are_right &= is_right);
    look(&archive);
    if is_whole && are_right && digest.is_ok() {
        let again = encode_again(&archive).expect("what is whole can be read");
        assert!(again == bytes, "what is accepted re-encodes to itself");
    }
}

fn look(archive: &Archive<&[u8]>) {
    for at in archive.head().rows_of(Section::Records) {
        let Ok(row) = archive.row(at) else { continue };
        let found = archive.find(Section::Records, &row.id).expect("the table can be read");
        assert_eq!(found, Some((at, row)));
        for event in archive.events_of(at).expect("the table was checked") {
            if let Ok(bytes) = archive.row(event).and_then(|row| archive.small(&row)) {
                decode_event(&bytes).ok();
            }
        }
        if let Ok(record) = archive.small(&row) {
            let mut fetch = |part: &ContentRef| {
                let found = archive.find(Section::Artifacts, &part.id)?;
                let (_, row) = found.ok_or("it is missing")?;
                Ok(archive.small(&row)?)
            };
            each_below(&record, &mut fetch, &mut |_| Ok(())).ok();
        }
    }
}

fn encode_again(archive: &Archive<&[u8]>) -> Result<Vec<u8>, ArchiveError> {
    let head = *archive.head();
    let rows: Vec<Row> = (0..head.rows()).map(|at| archive.row(at)).collect::<Result<_, _>>()?;
    let mut writer = ArchiveWriter::begin(Vec::new(), head).expect("memory can be written");
    for Row { id, length, events_until, .. } in &rows {
        writer.row(&ContentRef { id: *id, length: *length }, *events_until).expect("a row that was read");
    }
    writer.end_table().expect("a table that was read");
    for row in &rows {
        let mut content = Vec::new();
        archive.content(row)?.read_to_end(&mut content)?;
        let object = ContentRef { id: row.id, length: row.length };
        writer.object(&object, &mut content.as_slice()).expect("an object that was read");
    }
    Ok(writer.finish().expect("all of it"))
}

/// The same bytes with both digests as they would have to be.
fn with_right_digests(bytes: &[u8]) -> Vec<u8> {
    let mut repaired = bytes.to_vec();
    let Some(Ok(head)) = bytes.first_chunk::<{ HEAD_LEN as usize }>().map(Head::decode) else { return repaired };
    let digest = DIGEST_LEN as usize;
    for end in [head.contents_at() - DIGEST_LEN, head.digest_at()] {
        let Ok(end) = usize::try_from(end) else { continue };
        if end.checked_add(digest).is_some_and(|behind| behind <= repaired.len()) {
            let right = *blake3::hash(&repaired[..end]).as_bytes();
            repaired[end..end + digest].copy_from_slice(&right);
        }
    }
    repaired
}

/// An Archive of the objects that the bytes are a script for; what the script leaves wrong stays wrong.
fn made_up(bytes: &[u8]) -> Option<Vec<u8>> {
    let ([what, records, events, artifacts], rest) = bytes.split_first_chunk::<4>()?;
    let counts = [u64::from(records % 4) + 1, u64::from(events % 6), u64::from(artifacts % 8)];
    let rows = counts.iter().sum::<u64>() as usize;
    let (script, mut contents) = rest.split_at_checked(rows * SCRIPT_ROW)?;
    let mut objects = Vec::new();
    for row in script.chunks_exact(SCRIPT_ROW) {
        let length = usize::from(u16::from_le_bytes([row[0], row[1]])).min(contents.len());
        let (content, left) = contents.split_at(length);
        objects.push((reference_to(content), content, u64::from(row[2])));
        contents = left;
    }
    let [first, second] = [counts[0] as usize, (counts[0] + counts[1]) as usize];
    if what & 1 == 0 {
        objects[..first].sort_by_key(|object| object.0);
        objects[second..].sort_by_key(|object| object.0);
    }
    let length = objects.iter().map(|object| object.1.len() as u64).sum::<u64>();
    let head = Head::of(counts[0], counts[1], counts[2], length)?;
    let mut offset = head.contents_at();
    let mut made = head.encode().to_vec();
    for (at, (object, _, asked)) in objects.iter().enumerate() {
        let is_record = at < first;
        let events = if what & 2 == 0 { if at + 1 == first { counts[1] } else { 0 } } else { *asked };
        let events_until = if is_record || what & 4 != 0 { events } else { 0 };
        made.extend(Row { id: object.id, length: object.length, offset, events_until }.encode());
        offset += object.length;
    }
    assert_eq!(made.len() as u64, HEAD_LEN + rows as u64 * ROW_LEN);
    made.extend(*blake3::hash(&made).as_bytes());
    objects.iter().for_each(|object| made.extend(object.1));
    made.extend(*blake3::hash(&made).as_bytes());
    Some(made)
}
