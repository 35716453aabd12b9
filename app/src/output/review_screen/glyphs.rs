//! The signs of the list: those of Unicode where the terminal is said to show them, letters elsewhere.

use crate::use_case::review::FileState;

/// Which signs are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Glyphs {
    pub(super) accepted: char,
    pub(super) rejected: char,
    pub(super) in_part: char,
    pub(super) undecided: char,
    pub(super) reviewed: char,
    pub(super) border: char,
    pub(super) cut: char,
}

const UNICODE: Glyphs =
    Glyphs {
        accepted: '✓', rejected: '✗', in_part: '~', undecided: '·', reviewed: '•', border: '│', cut: '…'
    };
const ASCII: Glyphs =
    Glyphs { accepted: 'y', rejected: 'n', in_part: '~', undecided: '.', reviewed: 'r', border: '|', cut: '>' };

/// Those of the user's locale.
pub(super) fn of_environment() -> Glyphs {
    of_locale(["LC_ALL", "LC_CTYPE", "LANG"].map(|name| std::env::var(name).ok()))
}

/// The first variable that says anything is what holds: locale(7).
fn of_locale(variables: [Option<String>; 3]) -> Glyphs {
    let locale = variables.into_iter().flatten().find(|value| !value.is_empty()).unwrap_or_default().to_lowercase();
    if locale.contains("utf-8") || locale.contains("utf8") { UNICODE } else { ASCII }
}

impl Glyphs {
    /// The sign of a state.
    pub(super) const fn of(self, state: FileState) -> char {
        match state {
            FileState::Accepted => self.accepted,
            FileState::Rejected => self.rejected,
            FileState::InPart => self.in_part,
            FileState::Undecided => self.undecided,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_locale_of_utf_8_gets_other_signs_than_ascii() {
        let of = |all: &str, lang: &str| of_locale([Some(all.to_owned()), None, Some(lang.to_owned())]);
        assert_eq!([of("", "de_DE.UTF-8"), of("C.utf8", "C")], [UNICODE; 2]);
        assert_eq!([of("C", "de_DE.UTF-8"), of("", ""), of_locale([None, None, None])], [ASCII; 3]);
    }
}
