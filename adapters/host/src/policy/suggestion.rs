//! What somebody may have meant who wrote a word that is not known.

/// The word of `known` that is nearest to `written`, if one is near: two letters may differ, in a long
/// word a third of them.
pub(super) fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let written: Vec<char> = written.to_lowercase().chars().take(64).collect();
    let distances = known.into_iter().map(|word| (distance(&written, word), word));
    let near = distances.filter(|(distance, word)| *distance <= (word.chars().count() / 3).max(2));
    near.min_by_key(|(distance, _)| *distance).map(|(_, word)| word)
}

/// How many letters have to be added, dropped or replaced, a hyphen for an underscore being none.
fn distance(written: &[char], word: &str) -> usize {
    let word: Vec<char> = word.chars().collect();
    let mut row: Vec<usize> = (0..=word.len()).collect();
    for (above, letter) in written.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], above + 1);
        for (column, other) in word.iter().enumerate() {
            let replaced = diagonal + usize::from(plain(*letter) != plain(*other));
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[word.len()]
}

fn plain(letter: char) -> char {
    if letter == '-' { '_' } else { letter }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_find_the_word_that_was_meant_and_strange_words_find_none() {
        let known = ["network", "filesystem", "runtime_backend", "kind"];
        for (written, meant) in [
            ("netwrk", Some("network")),
            ("Network", Some("network")),
            ("file_system", Some("filesystem")),
            ("runtime-backend", Some("runtime_backend")),
            ("kin", Some("kind")),
            ("limits", None),
            ("", None),
        ] {
            assert_eq!(nearest(written, known), meant, "{written}");
        }
    }
}
