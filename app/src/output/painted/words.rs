//! Which words of changed lines were changed.

use gix_imara_diff::{Algorithm, Diff, InternedInput};
use std::ops::Range;

/// Of a line whose unchanged part is less than this share of it, no words are told: all of it was written anew.
const LEAST_SHARE: usize = 3;

/// For every line, the ranges of its bytes that are not on the other side.
pub(super) type Words = Vec<Vec<Range<usize>>>;

/// The changed words of lines that others took the place of.
pub(super) fn changed(removed: &[&[u8]], added: &[&[u8]]) -> (Words, Words) {
    let mut input = InternedInput::default();
    input.update_before(removed.iter().flat_map(|line| words(line)));
    input.update_after(added.iter().flat_map(|line| words(line)));
    let diff = Diff::compute(Algorithm::Histogram, &input);
    let of = |lines: &[&[u8]], is_changed: &dyn Fn(u32) -> bool| {
        let mut number = 0;
        let told = lines.iter().map(|line| ranges(line, &mut number, is_changed));
        told.collect()
    };
    (of(removed, &|token| diff.is_removed(token)), of(added, &|token| diff.is_added(token)))
}

/// The changed ranges of `line`, whose first word is that of `number`; none where nearly all of it changed.
fn ranges(line: &[u8], number: &mut u32, is_changed: &dyn Fn(u32) -> bool) -> Vec<Range<usize>> {
    let (mut ranges, mut at, mut kept, mut visible): (Vec<Range<usize>>, _, _, _) = (Vec::new(), 0, 0, 0);
    // Two changed words with a blank between them read as one change: the last one reaches up to here.
    let mut reach = 0;
    for word in words(line) {
        let (start, is_blank) = (at, word.iter().all(u8::is_ascii_whitespace));
        let length = if is_blank { 0 } else { word.len() };
        at += word.len();
        visible += length;
        *number += 1;
        if !is_changed(*number - 1) {
            kept += length;
            reach = if is_blank && reach == start { at } else { reach };
            continue;
        }
        match ranges.last_mut().filter(|_| reach == start) {
            Some(last) => last.end = at,
            None => ranges.push(start..at),
        }
        reach = at;
    }
    let is_rewritten = kept * LEAST_SHARE < visible || kept == 0;
    if is_rewritten { Vec::new() } else { ranges }
}

/// A line in words, blanks and single signs; together they are all of it.
fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let length = word_length(rest)?;
        let (word, behind) = rest.split_at(length);
        rest = behind;
        Some(word)
    })
}

fn word_length(rest: &[u8]) -> Option<usize> {
    #[derive(PartialEq, Clone, Copy)]
    enum Class {
        Letters,
        Blanks,
        Sign,
    }
    let class = |byte: u8| match byte {
        b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => Class::Letters,
        b' ' | b'\t' => Class::Blanks,
        // No character is cut in two, and of other alphabets the letters stay together.
        0x80.. => Class::Letters,
        _ => Class::Sign,
    };
    let first = class(*rest.first()?);
    let run = rest.iter().take_while(|&&byte| class(byte) == first).count();
    Some(if first == Class::Sign { 1 } else { run })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(removed: &[&str], added: &[&str]) -> [Vec<Vec<String>>; 2] {
        let [old, new] = [removed, added].map(|lines| lines.iter().map(|line| line.as_bytes()).collect::<Vec<_>>());
        let (left, right) = changed(&old, &new);
        let text = |words: Words, lines: &[&str]| {
            let lines = words.into_iter().zip(lines);
            lines.map(|(ranges, line)| ranges.into_iter().map(|range| line[range].to_owned()).collect()).collect()
        };
        [text(left, removed), text(right, added)]
    }

    #[test]
    fn only_what_differs_of_a_line_is_told() {
        let [old, new] = told(&["let total = count(files, 3);"], &["let total = count(paths, 3);"]);
        assert_eq!((old, new), (vec![vec!["files".to_owned()]], vec![vec!["paths".to_owned()]]));
        let [old, new] = told(&["fn größe(a: u8) {"], &["fn grösse(a: u8) {"]);
        assert_eq!((old, new), (vec![vec!["größe".to_owned()]], vec![vec!["grösse".to_owned()]]));
    }

    #[test]
    fn changed_words_are_one_change_only_where_nothing_but_a_blank_is_between_them() {
        let [old, _] = told(&["a b kept1 kept2 c, kept3 kept4 d"], &["x y kept1 kept2 z, kept3 kept4 w"]);
        assert_eq!(old, [["a b", "c", "d"]]);
    }

    #[test]
    fn of_a_line_that_has_nothing_of_another_no_word_is_told() {
        let [old, new] = told(&["one two three"], &["quite other words, all of them"]);
        assert_eq!((old, new), (vec![Vec::new()], vec![Vec::<String>::new()]));
    }

    #[test]
    fn lines_find_their_counterparts_where_their_numbers_differ() {
        let [old, new] = told(&["call(first, second);"], &["let third = 3;", "call(first, third);"]);
        assert_eq!(old, [["second"]]);
        assert_eq!((new[0].len(), &new[1]), (0, &vec!["third".to_owned()]));
    }
}
