//! A line of the marks that a person leaves in a review: a checksum, what it is about, and the mark.

use isobox_domain::content::{ContentId, parse_hex};
use isobox_domain::review::{LONGEST_NOTE_BYTES, Mark, Subject, Verdict};

/// Longest line, in bytes, its end included.
pub const LONGEST_MARK_LINE: usize = 256 + 2 * LONGEST_NOTE_BYTES;

/// What stands in place of a path: the mark is about all of one.
const WHOLE: &str = "-";
const REVIEWED: &str = "reviewed";
const UNREAD: &str = "unread";

/// The line of a mark, with its end. A note that is too long is cut.
pub fn encode(subject: &Subject, mark: &Mark) -> String {
    let (id, path) = match subject {
        Subject::File(id) => (id, WHOLE.to_owned()),
        Subject::Hunk { id, path } => (id, path.to_hex()),
    };
    let reviewed = if mark.is_reviewed { REVIEWED } else { UNREAD };
    let note = &mark.note[..mark.note.floor_char_boundary(LONGEST_NOTE_BYTES)];
    let note = note.replace('\\', "\\\\").replace('\n', "\\n");
    let rest = format!("{} {path} {} {reviewed} {note}", id.to_hex(), mark.verdict.name());
    format!("{:08x} {rest}\n", crc32c::crc32c(rest.as_bytes()))
}

/// The mark of a line without its end; `None` for what no [`encode`] wrote as a whole.
pub fn decode(line: &[u8]) -> Option<(Subject, Mark)> {
    let (checksum, rest) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    if parse_hex::<4>(checksum)? != crc32c::crc32c(rest.as_bytes()).to_be_bytes() {
        return None;
    }
    let mut fields = rest.splitn(5, ' ');
    let mut next = || fields.next();
    let id = ContentId::new(parse_hex(next()?)?);
    let subject = match next()? {
        WHOLE => Subject::File(id),
        path => Subject::Hunk { id, path: ContentId::new(parse_hex(path)?) },
    };
    let name = next()?;
    let verdict = Verdict::ALL.into_iter().find(|verdict| verdict.name() == name)?;
    let is_reviewed = match next()? {
        REVIEWED => true,
        UNREAD => false,
        _ => return None,
    };
    Some((subject, Mark { verdict, is_reviewed, note: unescaped(next()?)? }))
}

fn unescaped(note: &str) -> Option<String> {
    let (mut plain, mut characters) = (String::with_capacity(note.len()), note.chars());
    while let Some(c) = characters.next() {
        plain.push(match c {
            '\\' => match characters.next()? {
                'n' => '\n',
                '\\' => '\\',
                _ => return None,
            },
            c => c,
        });
    }
    (plain.len() <= LONGEST_NOTE_BYTES).then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks() -> Vec<(Subject, Mark)> {
        let [id, path] = [7, 9].map(|byte| ContentId::new([byte; 32]));
        let subjects = [Subject::File(id), Subject::Hunk { id, path }];
        let notes = ["", "why \\n is\nthis\\", " two  blanks ", "grün"];
        let marks = Verdict::ALL.into_iter().flat_map(|verdict| {
            notes.map(|note| Mark { verdict, is_reviewed: note.is_empty(), note: note.to_owned() })
        });
        marks.flat_map(|mark| subjects.map(|subject| (subject, mark.clone()))).collect()
    }

    #[test]
    fn a_mark_is_read_as_it_was_written() {
        for (subject, mark) in marks() {
            let line = encode(&subject, &mark);
            assert!(line.len() <= LONGEST_MARK_LINE && line.find('\n') == Some(line.len() - 1), "{line}");
            assert_eq!(decode(&line.as_bytes()[..line.len() - 1]), Some((subject, mark)), "{line}");
        }
    }

    #[test]
    fn no_part_of_a_line_and_no_line_with_another_byte_is_a_mark() {
        for (subject, mark) in marks() {
            let line = encode(&subject, &mark).into_bytes();
            let line = &line[..line.len() - 1];
            for at in 0..line.len() {
                assert_eq!(decode(&line[..at]), None);
                let mut other = line.to_vec();
                other[at] ^= 1;
                assert_eq!(decode(&other), None);
            }
        }
    }

    #[test]
    fn the_bytes_of_a_mark_stay_what_they_are() {
        let mark = Mark { verdict: Verdict::Rejected, is_reviewed: true, note: "no".to_owned() };
        let line = encode(&Subject::File(ContentId::new([0xab; 32])), &mark);
        assert_eq!(line, format!("{} {} - rejected reviewed no\n", &line[..8], "ab".repeat(32)));
        let long = Mark { note: "ä".repeat(LONGEST_NOTE_BYTES), ..mark };
        let line = encode(&Subject::File(ContentId::new([0xab; 32])), &long);
        let (_, cut) = decode(line.trim_end().as_bytes()).unwrap();
        assert_eq!(cut.note.len(), LONGEST_NOTE_BYTES);
    }
}
