//! `go.mod`.

use crate::note;
use isobox_domain::report::Dependencies;

/// The directives that say which foreign code is fetched, and what they are called here.
const DIRECTIVES: [(&str, &str); 4] =
    [("require", ""), ("replace", "replace"), ("exclude", "exclude"), ("tool", "tool")];

/// What a `go.mod` names.
pub(crate) fn module(text: &str) -> Dependencies {
    let mut found = Dependencies::new();
    let mut block: Option<String> = None;
    for line in text.lines() {
        let (code, comment) = line.split_once("//").unwrap_or((line, ""));
        let words: Vec<&str> = code.split_whitespace().collect();
        match (words.as_slice(), &block) {
            ([], _) => {}
            ([")"], _) => block = None,
            ([directive, "("], None) => block = Some((*directive).to_owned()),
            (words, Some(directive)) => entry(&mut found, directive, words, comment),
            ([directive, words @ ..], None) => entry(&mut found, directive, words, comment),
        }
    }
    found
}

fn entry(found: &mut Dependencies, directive: &str, words: &[&str], comment: &str) {
    let known = DIRECTIVES.into_iter().find(|(name, _)| *name == directive);
    let (Some((_, group)), Some((name, asked))) = (known, words.split_first()) else { return };
    let group = if group.is_empty() && comment.trim() == "indirect" { "indirect" } else { group };
    note(found, group, name, &asked.join(" "));
}
