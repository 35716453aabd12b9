//! What somebody may have meant who wrote a word that is not known.

/// What is longer than this means no word that is known, in characters.
const LONGEST: usize = 64;

/// The word of `known` that is nearest to `written`, if one is near: two letters may differ, in a long
/// word a third of them.
pub(super) fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let written: String = plain(written).chars().take(LONGEST).collect();
    let distances = known.into_iter().map(|word| (strsim::levenshtein(&written, &plain(word)), word));
    let near = distances.filter(|(distance, word)| *distance <= (word.chars().count() / 3).max(2));
    near.min_by_key(|(distance, _)| *distance).map(|(_, word)| word)
}

/// As it is compared: a hyphen for an underscore is no mistake.
fn plain(word: &str) -> String {
    word.to_lowercase().replace('-', "_")
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
