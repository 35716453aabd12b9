use super::*;
use crate::output::patch_lines::PatchLines;

fn painted(patch: &[u8], palette: Palette) -> String {
    let mut out = Vec::new();
    let mut lines = PatchLines::new(Painter::new(&mut out, palette, Vec::new()));
    lines.write_all(patch).expect("a vector takes everything");
    lines.finish().and_then(Painter::finish).expect("a vector takes everything");
    String::from_utf8(out).expect("text")
}

/// The text without what selects colours.
fn bare(painted: &str) -> String {
    let mut pieces = painted.split("\x1b[");
    let mut bare = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (codes, text) = piece.split_once('m').expect("the end of a sequence");
        assert!(codes.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'), "{codes:?}");
        bare.push_str(text);
    }
    bare
}

const PATCH: &str = "diff --git a/a.rs b/a.rs\nindex 1..2 100644\n--- a/a.rs\n+++ b/a.rs\n@@ -1,3 +1,3 @@\n fn f() {\n\
    -    let x = first(1); // c\n+    let x = second(1); // c\n }\n\\ No newline at end of file\n";

#[test]
fn without_colours_a_patch_is_what_it_is() {
    assert_eq!(painted(PATCH.as_bytes(), Palette::Plain), PATCH);
}

#[test]
fn colours_add_nothing_but_colours() {
    let shown = painted(PATCH.as_bytes(), Palette::Sixteen);
    assert_eq!(bare(&shown), PATCH);
    assert!(shown.contains("\x1b[1mdiff --git a/a.rs b/a.rs\x1b[m\n\x1b[1mindex"), "{shown}");
    assert!(shown.contains("\n\x1b[36m@@ -1,3 +1,3 @@\x1b[m\n"), "{shown}");
    assert!(shown.contains("\n\x1b[31m-\x1b[m\x1b[31m    \x1b[m\x1b[94mlet\x1b[m"), "{shown}");
    assert!(shown.contains("\n \x1b[94mfn\x1b[m \x1b[36mf\x1b[m() {\n"), "{shown}");
}

#[test]
fn a_changed_word_stands_out_and_the_rest_of_its_line_does_not() {
    let shown = painted(PATCH.as_bytes(), Palette::Sixteen);
    let reversed = |shown: &str| -> Vec<String> {
        let of = |piece: &str| piece.split_once('m').map(|(_, text)| text.to_owned());
        shown.split("\x1b[7;").skip(1).filter_map(|piece| of(piece.split('\x1b').next()?)).collect()
    };
    assert_eq!(reversed(&shown), ["first", "second"]);
    let anew = "@@ -1 +1 @@\n-one two\n+quite other words here\n";
    assert_eq!(reversed(&painted(anew.as_bytes(), Palette::Sixteen)), Vec::<String>::new());
}

#[test]
fn nothing_hostile_gets_to_the_terminal_with_or_without_colours() {
    let hostile =
        b"diff --git a/\x1b[2J b/\x1b[2J\n+++ b/x.rs\n@@ -1,2 +1,2 @@\x1b[1m\n k\x1b[3m\n-\x1b]0;t\x07\xe2\x80\xaea\n\
        +\x1b]0;t\x07b\xff\r\n+\"\x1b[8m\xe2\x80\x8b\n\\ \x1b[2J\nafter \xc2\x9b2J\n";
    let plain = painted(hostile, Palette::Plain);
    assert!(!plain.contains(|c: char| c.is_control() && c != '\n') && !plain.contains('\u{202e}'), "{plain:?}");
    assert_eq!(bare(&painted(hostile, Palette::Sixteen)), plain);
}

#[test]
fn binary_content_is_told_by_its_lengths() {
    let patch = "diff --git a/x b/x\nindex 1..2\nGIT binary patch\nliteral 20\nzabc\n\nliteral 3\nzdef\n\n\
        diff --git a/y b/y\n@@ -1 +1 @@\n-literal 3\n+literal 4\n";
    let shown = painted(patch.as_bytes(), Palette::Plain);
    let expected = "diff --git a/x b/x\nindex 1..2\nBinary, or too long for a text diff: 3 bytes before, 20 bytes after\n\
        diff --git a/y b/y\n@@ -1 +1 @@\n-literal 3\n+literal 4\n";
    assert_eq!(shown, expected);
}

#[test]
fn a_line_of_any_length_and_a_run_of_any_number_lose_nothing() {
    let long = "x".repeat(200_000);
    let many = "-a b\n".repeat(1000) + &"+a c\n".repeat(1000);
    let patch = format!("@@ -1,1001 +1,1001 @@\n-{long}\n+{long}y\n{many}\\ No newline at end of file\n");
    assert_eq!(bare(&painted(patch.as_bytes(), Palette::Sixteen)), patch);
}
