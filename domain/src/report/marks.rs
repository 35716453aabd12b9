//! What a single changed line says: keys and tokens, hidden characters, tests left out, scripts, licences.

use super::RiskCategory;
use crate::escape::is_deceptive;
use crate::masking;
use std::hash::{DefaultHasher, Hash, Hasher};

/// How many lines the head of a file has, where licences and marks of generators stand.
const HEAD_LINES: u32 = 20;

/// Something in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) category: RiskCategory,
    /// What it is, in isobox's own words.
    pub(super) what: &'static str,
    /// Tells marks apart of which one does not stand for another; the content cannot be learnt from it.
    pub(super) key: u64,
}

/// A line, or a piece of one that is long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    /// The number of the line, from 1.
    pub(super) number: u32,
    pub(super) text: &'a [u8],
    /// What begins behind these bytes is looked at with the next piece.
    pub(super) until: usize,
    /// Whether the line begins with it.
    pub(super) is_beginning: bool,
}

/// The marks in a piece. `file` is the name of the file in lower case.
pub(super) fn marks(file: &[u8], piece: Piece<'_>) -> Vec<Mark> {
    let mut marks: Vec<Mark> = secrets(piece).chain(hidden(piece)).collect();
    if piece.is_beginning {
        // What is looked for by words stands at the beginning of what a person would call a line.
        let head = &piece.text[..piece.text.len().min(1024)];
        marks.extend(skipped_test(file, head));
        marks.extend(test(file, head));
        marks.extend(lifecycle_script(file, head));
        if piece.number <= HEAD_LINES {
            marks.extend(licence(head));
            marks.extend(generated(head));
        }
    }
    marks
}

fn secrets(piece: Piece<'_>) -> impl Iterator<Item = Mark> {
    let keys = masking::well_known_keys(piece.text).into_iter().filter(move |key| key.range.start < piece.until);
    keys.map(move |key| Mark {
        category: RiskCategory::SecretContent,
        what: key.what,
        key: hash(&piece.text[key.range]),
    })
}

fn hidden(piece: Piece<'_>) -> impl Iterator<Item = Mark> {
    let characters = piece.text.utf8_chunks().scan(0, |at, chunk| {
        let start = *at;
        *at += chunk.valid().len() + chunk.invalid().len();
        Some(chunk.valid().char_indices().map(move |(index, c)| (start + index, c)))
    });
    // A byte order mark at the beginning of a file is no character of its text.
    let is_mark = move |index: usize, c: char| c == '\u{feff}' && index == 0 && piece.number == 1 && piece.is_beginning;
    let deceptive =
        characters.flatten().filter(move |&(index, c)| index < piece.until && is_deceptive(c) && !is_mark(index, c));
    deceptive.map(|(_, c)| Mark {
        category: RiskCategory::HiddenUnicode,
        what: if is_reordering(c) { "characters that reorder others" } else { "characters that cannot be seen" },
        key: u64::from(u32::from(c)),
    })
}

fn is_reordering(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Words that mean something in files of some languages alone.
struct Words {
    /// What the names of the files end with.
    ends: &'static [&'static str],
    words: &'static [&'static str],
}

const JAVASCRIPT: &[&str] = &[".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"];

/// What leaves a test out.
const SKIPS: [Words; 6] = [
    Words { ends: &[".rs"], words: &["#[ignore"] },
    Words {
        ends: JAVASCRIPT,
        words: &["it.skip(", "test.skip(", "describe.skip(", "context.skip(", "suite.skip(", "xit(", "xdescribe("],
    },
    Words {
        ends: &[".py"],
        words: &["@pytest.mark.skip", "@pytest.mark.xfail", "pytest.skip(", "@unittest.skip", "self.skipTest("],
    },
    Words { ends: &[".go"], words: &["t.Skip(", "t.Skipf(", "t.SkipNow("] },
    Words { ends: &[".java", ".kt"], words: &["@Ignore", "@Disabled"] },
    Words { ends: &[".swift"], words: &["XCTSkip"] },
];

/// What a test begins with.
const TESTS: [Words; 5] = [
    Words { ends: &[".rs"], words: &["#[test]", "#[tokio::test"] },
    Words { ends: JAVASCRIPT, words: &["it(", "test("] },
    Words { ends: &[".py"], words: &["def test_", "async def test_"] },
    Words { ends: &[".go"], words: &["func Test"] },
    Words { ends: &[".java", ".kt"], words: &["@Test"] },
];

fn words(list: &'static [Words], file: &[u8]) -> impl Iterator<Item = &'static [u8]> {
    let is_of = |words: &&Words| words.ends.iter().any(|end| file.ends_with(end.as_bytes()));
    list.iter().find(is_of).into_iter().flat_map(|words| words.words).map(|word| word.as_bytes())
}

fn skipped_test(file: &[u8], line: &[u8]) -> Option<Mark> {
    let word = words(&SKIPS, file).find(|word| has_word(line, word))?;
    Some(Mark { category: RiskCategory::TestSkipped, what: "a test is left out", key: hash(word) })
}

fn test(file: &[u8], line: &[u8]) -> Option<Mark> {
    let start = line.trim_ascii_start();
    let is_test = words(&TESTS, file).any(|word| start.starts_with(word));
    is_test.then_some(Mark { category: RiskCategory::TestRemoved, what: "a test is no more", key: 0 })
}

/// Scripts that a package manager runs by itself; see npm-scripts(7), "Life Cycle Scripts".
const LIFECYCLE: &[&str] = &[
    "preinstall",
    "install",
    "postinstall",
    "preprepare",
    "prepare",
    "postprepare",
    "prepublish",
    "prepublishOnly",
    "prepack",
    "postpack",
    "dependencies",
];

fn lifecycle_script(file: &[u8], line: &[u8]) -> Option<Mark> {
    if file != b"package.json" {
        return None;
    }
    let is_script = LIFECYCLE.iter().any(|name| has_field(line, name));
    let mark = Mark {
        category: RiskCategory::BuildExecution,
        what: "a script that a package manager runs by itself",
        key: hash(line.trim_ascii()),
    };
    is_script.then_some(mark)
}

/// Whether a field of this name has a text as its value.
fn has_field(line: &[u8], name: &str) -> bool {
    let quoted = format!("\"{name}\"");
    let behind = find(line, quoted.as_bytes()).map(|at| line[at + quoted.len()..].trim_ascii_start());
    behind.and_then(|rest| rest.strip_prefix(b":")).is_some_and(|value| value.trim_ascii_start().starts_with(b"\""))
}

fn licence(line: &[u8]) -> Option<Mark> {
    let is_licence = [&b"SPDX-License-Identifier"[..], b"Copyright"].iter().any(|words| find(line, words).is_some());
    is_licence.then_some(Mark { category: RiskCategory::LicenceRemoved, what: "a licence header is no more", key: 0 })
}

fn generated(line: &[u8]) -> Option<Mark> {
    // In two pieces, so that this file is not taken for a generated one.
    let words: [&[u8]; 2] = [concat!("@", "generated").as_bytes(), concat!("DO NOT", " EDIT").as_bytes()];
    let is_generated = words.iter().any(|words| find(line, words).is_some());
    is_generated.then_some(Mark { category: RiskCategory::Generated, what: "says that a program made it", key: 0 })
}

/// Whether `line` has `word`, which does not go on from a longer one.
fn has_word(line: &[u8], word: &[u8]) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let mut from = 0;
    while let Some(at) = find(&line[from..], word).map(|at| from + at) {
        if !is_letter(&word[0]) || at.checked_sub(1).is_none_or(|before| !is_letter(&line[before])) {
            return true;
        }
        from = at + 1;
    }
    false
}

fn find(text: &[u8], words: &[u8]) -> Option<usize> {
    text.windows(words.len()).position(|window| window == words)
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
