use super::*;
use OutputStream::{Stderr, Stdout};

const START_MS: u64 = 1_800_000_000_000;
const TIME: &str = "2027-01-15T08:00:00";

fn stamped(mut stamps: Stamps, pieces: &[(OutputStream, u64, &str)]) -> String {
    let mut out = Vec::new();
    for (stream, ms, text) in pieces {
        let piece = Piece { stream: *stream, at: Timestamp::from_unix_ms(START_MS + ms), bytes: text.as_bytes() };
        stamps.write(piece, &mut out).expect("written");
    }
    OutputStream::BOTH.iter().for_each(|stream| stamps.finish(*stream, &mut out).expect("written"));
    String::from_utf8(out).expect("text")
}

#[test]
fn each_line_has_the_time_of_its_first_byte_and_an_end() {
    let told = stamped(Stamps::new(Places::One, None), &[(Stdout, 0, "a\n\nb"), (Stdout, 7, "c\nd")]);
    assert_eq!(told, format!("{TIME}.000Z a\n{TIME}.000Z \n{TIME}.000Z bc\n{TIME}.007Z d\n"));
}

#[test]
fn a_line_that_is_interrupted_in_one_place_is_ended_there() {
    let pieces = [(Stdout, 0, "a"), (Stderr, 5, "e\n"), (Stdout, 9, "b\n")];
    let one = stamped(Stamps::new(Places::One, None), &pieces);
    assert_eq!(one, format!("{TIME}.000Z a\n{TIME}.005Z e\n{TIME}.000Z b\n"));
    let two = stamped(Stamps::new(Places::Two, None), &pieces);
    assert_eq!(two, format!("{TIME}.000Z a{TIME}.005Z e\nb\n"));
}

#[test]
fn secrets_are_left_out_and_lines_keep_their_times() {
    let redacted = Redacted::default();
    let stamps = Stamps::new(Places::One, Some(redacted.clone()));
    let pieces = [(Stdout, 0, "export API_TOKEN=ghp_012345678901"), (Stdout, 7, "234567890123456789abcd\nnext\n")];
    let told = stamped(stamps, &pieces);
    assert_eq!(redacted.count(), 1);
    assert!(told.starts_with(&format!("{TIME}.000Z export API_TOKEN=[redacted]\n{TIME}.007Z next\n")), "{told}");
}

#[test]
fn a_line_without_a_time_says_so() {
    let mut out = Vec::new();
    let piece = Piece { stream: Stdout, at: None, bytes: b"a\n" };
    Stamps::new(Places::One, None).write(piece, &mut out).expect("written");
    assert_eq!(out, b"-                        a\n");
}
