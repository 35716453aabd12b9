//! The value of a key of a policy: what it may be, and what is said where it is something else.

use super::PolicyProblem;
use super::suggestion::nearest;
use super::tree::{Node, Value};

/// What was read, or why it cannot be.
pub(super) type Read<T> = Result<T, PolicyProblem>;

/// Values that are known, and why they cannot be had: key, value, reason.
const UNAVAILABLE: [(&str, &str, &str); 6] = [
    ("workspace_source.kind", "directory", "workspaces are made from repositories alone in this version"),
    ("network.default", "allow", "`inherited` is the word for the host's network"),
    (
        "filesystem.expose_workspace",
        "false",
        "a workload without its workspace has no result; `read_only` lets it read alone",
    ),
    ("credentials.default", "inherited", "no credential is passed on in this version"),
    ("promotion.mode", "automatic", "a person agrees to every promotion"),
    ("promotion.mode", "auto", "a person agrees to every promotion"),
];

/// What stands before the name of a list where one of its entries is meant.
const ENTRY: &str = "an entry of ";

/// Values that are read and not advertised: there is another word for each.
const OLD_WORDS: [&str; 1] = ["host_process"];

/// A value and the key that it belongs to.
pub(super) struct Field<'a> {
    pub(super) name: String,
    pub(super) node: &'a Node,
}

impl<'a> Field<'a> {
    /// What the value means, being one of `known`.
    pub(super) fn one_of<T: Copy>(&self, known: &[(&str, T)]) -> Read<T> {
        let words = known.iter().map(|(word, _)| *word).filter(|word| !OLD_WORDS.contains(word));
        let found = match &self.node.value {
            Value::Plain(text) => Some(text),
            // In quotes, a word is a word, but `"true"` is text and no truth value.
            Value::Quoted(text) if !["true", "false"].contains(&text.as_str()) => Some(text),
            _ => None,
        };
        if let Some((_, value)) = known.iter().find(|(word, _)| found.is_some_and(|found| found == word)) {
            return Ok(*value);
        }
        let unavailable =
            UNAVAILABLE.iter().find(|(key, word, _)| *key == self.name && found.is_some_and(|f| f == word));
        if let (Some((_, word, reason)), Some(_)) = (unavailable, found) {
            return Err(PolicyProblem::at(
                self.node.position,
                format!("`{}: {word}` is not available: {reason}", self.name),
            )
            .with_hint(Some(format!("write {}", one_of(words)))));
        }
        let meant = found.and_then(|found| nearest(found, words.clone()));
        Err(self.expected(&one_of(words)).with_hint(meant.map(|meant| format!("did you mean `{meant}`?"))))
    }

    pub(super) fn items(&self) -> Read<Vec<Field<'a>>> {
        match &self.node.value {
            Value::List(items) => {
                Ok(items.iter().map(|node| Field { name: format!("{ENTRY}{}", self.name), node }).collect())
            }
            Value::Plain(text) if text.is_empty() => {
                Err(self.expected("a list").with_hint(Some("write `[]` for a list without entries".to_owned())))
            }
            _ => Err(self.expected("a list")),
        }
    }

    /// Text, which is not empty.
    pub(super) fn text(&self) -> Read<&'a str> {
        match &self.node.value {
            Value::Plain(text) if is_no_text(text) => {
                Err(self.expected("text").with_hint(Some("put it in quotes".to_owned())))
            }
            Value::Plain(text) | Value::Quoted(text) if !text.is_empty() => Ok(text),
            _ => Err(self.expected("text")),
        }
    }

    fn in_words(&self) -> String {
        match self.name.strip_prefix(ENTRY) {
            Some(list) => format!("{ENTRY}`{list}`"),
            None => format!("`{}`", self.name),
        }
    }

    pub(super) fn expected(&self, expected: &str) -> PolicyProblem {
        let problem = format!("{} is {expected}, found {}", self.in_words(), self.node.value.in_words());
        PolicyProblem::at(self.node.position, problem)
    }
}

/// Whether YAML reads plain text as something else: a truth value, nothing, or a number; see YAML 1.2.2, section 10.3.2.
fn is_no_text(plain: &str) -> bool {
    let is_word = ["true", "false", "null"].contains(&plain.to_lowercase().as_str());
    is_word || plain.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Words to choose from, as a person lists them.
fn one_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = words.map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}
