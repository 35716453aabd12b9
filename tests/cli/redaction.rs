//! What differs from run to run and from machine to machine, put into words that do not. Widths stay, so that tables and
//! broken lines are what they were.

use isobox_tests::Project;
use serde_json::Value;
use std::collections::BTreeMap;

/// Shapes of what is made by chance: `x` stands for a hexadecimal digit. Each is numbered in the order in which it appears.
const NUMBERED: [&str; 3] = [
    "task-xxxxxxxxxxxxxxxx",
    "b3:xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "ws-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
];

/// The shape of a time; `0` stands for a digit.
const TIME: &str = "0000-00-00T00:00:00.000Z";

/// Fields of documents whose values are made by chance, or depend on the machine and how fast it is.
const MEASURED: [&str; 6] = ["salt", "user_cpu_us", "system_cpu_us", "peak_memory_bytes", "peak_memory_of", "limits"];

/// Knows what a project calls its own.
pub(crate) struct Redaction {
    /// What is said, and what is said instead.
    words: Vec<(String, String)>,
    numbers: BTreeMap<String, usize>,
}

impl Redaction {
    /// For `project`: its directories and its commits.
    pub(crate) fn of(project: &Project) -> Self {
        let text = |path: std::path::PathBuf| path.display().to_string();
        let mut words = vec![
            (text(project.repository()), "/home/ana/app".to_owned()),
            (text(project.home()), "/home/ana".to_owned()),
            (text(project.scratch()), "/scratch".to_owned()),
            (format!("isobox {}", env!("CARGO_PKG_VERSION")), "isobox VERSION".to_owned()),
            (format!("\"version\":\"{}\"", env!("CARGO_PKG_VERSION")), "\"version\":\"VERSION\"".to_owned()),
        ];
        for (index, commit) in project.git(&["rev-list", "--reverse", "HEAD"]).lines().enumerate() {
            let number = (b'a' + u8::try_from(index).expect("few commits")) as char;
            words.push((commit.to_owned(), number.to_string().repeat(commit.len())));
            words.push((commit[..8].to_owned(), number.to_string().repeat(8)));
        }
        Self { words, numbers: BTreeMap::new() }
    }

    /// Says `instead` wherever `word` is said.
    pub(crate) fn say(&mut self, word: &str, instead: &str) {
        self.words.push((word.to_owned(), instead.to_owned()));
    }

    /// `text` in words that are always the same.
    pub(crate) fn redacted(&mut self, text: &str) -> String {
        let text = document(text).unwrap_or_else(|| text.to_owned());
        let mut text = self.words.iter().fold(text, |text, (word, instead)| text.replace(word, instead));
        for shape in NUMBERED {
            text = replaced(&text, shape, |found| self.numbered(found, shape));
        }
        text = replaced(&text, TIME, |_| TIME.to_owned());
        let lines = text.split('\n').map(|line| measured(&aged(line)));
        lines.collect::<Vec<_>>().join("\n").replace('\u{1b}', "␛").replace("\r\n", "\n")
    }

    fn numbered(&mut self, found: &str, shape: &str) -> String {
        let next = self.numbers.keys().filter(|known| matches(shape, known)).count() + 1;
        let number = *self.numbers.entry(found.to_owned()).or_insert(next);
        let prefix = shape.trim_end_matches('x');
        format!("{prefix}{number:0width$}", width = shape.len() - prefix.len())
    }
}

/// A document with the values left out that are measured; `None` where `text` is none.
fn document(text: &str) -> Option<String> {
    let mut document: Value = serde_json::from_str(text).ok()?;
    let is_compact = text.trim_end().lines().count() == 1;
    leave_out(&mut document);
    Some(if is_compact { format!("{document}\n") } else { format!("{document:#}\n") })
}

fn leave_out(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.iter_mut().for_each(|(name, value)| match MEASURED.contains(&name.as_str()) {
            true => *value = Value::String("…".to_owned()),
            false => leave_out(value),
        }),
        Value::Array(items) => items.iter_mut().for_each(leave_out),
        _ => {}
    }
}

fn matches(shape: &str, text: &str) -> bool {
    shape.len() == text.len()
        && shape.bytes().zip(text.bytes()).all(|(shape, found)| match shape {
            b'x' => found.is_ascii_hexdigit(),
            b'0' => found.is_ascii_digit(),
            _ => shape == found,
        })
}

fn replaced(text: &str, shape: &str, mut instead: impl FnMut(&str) -> String) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(first) = rest.chars().next() {
        match rest.get(..shape.len()).filter(|found| matches(shape, found)) {
            Some(found) => {
                out.push_str(&instead(found));
                rest = &rest[shape.len()..];
            }
            None => {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    out
}

/// A line with the age of a task replaced, which stands behind its id.
fn aged(line: &str) -> String {
    let Some((before, behind)) = line.split_once("task-").filter(|(_, behind)| behind.is_char_boundary(16)) else {
        return line.to_owned();
    };
    let (id, behind) = behind.split_at(16);
    let age = behind.split_whitespace().next().unwrap_or_default();
    let is_age = age.strip_suffix(['s', 'm', 'h']).is_some_and(|number| number.parse::<u64>().is_ok());
    match behind.split_once(age) {
        // In a table it stands to the right of four columns.
        Some((blanks, rest)) if is_age && blanks.starts_with("  ") => {
            let width = if blanks.len() + age.len() >= 6 { 6 } else { 5 };
            format!("{before}task-{id}{:>width$}{rest}", "AGE")
        }
        _ => line.to_owned(),
    }
}

/// A line with its numbers of milliseconds, of free room and of files replaced.
fn measured(line: &str) -> String {
    let units = [" ms", " MiB free", " files"];
    units.into_iter().fold(line.to_owned(), |line, unit| {
        let pieces: Vec<&str> = line.split(unit).collect();
        let last = pieces.len() - 1;
        let pieces = pieces.into_iter().enumerate().map(|(index, piece)| {
            let shorter = piece.trim_end_matches(|c: char| c.is_ascii_digit());
            if index < last && shorter.len() < piece.len() { format!("{shorter}N") } else { piece.to_owned() }
        });
        pieces.collect::<Vec<_>>().join(unit)
    })
}
