//! `filesystem.hide`: which files stay hidden in what a Sandbox shows.

use super::glob::Glob;
use crate::escape::Escaped;

/// Most components `**` in one rule: each multiplies the ways in which a path can fit.
const MOST_ANY_DEPTH: usize = 3;

/// A rule that hides files.
///
/// One that begins with `/` or `~/` names places of the host. Any other lies below the root of the Workspace, and below that
/// of every host directory that is shown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HideRule(String);

/// Why some text is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HideRuleError {
    /// It names nothing.
    #[error("`{rule}` names no file")]
    Empty {
        /// The text, escaped for people.
        rule: String,
    },
    /// It goes up, or names the home directory of somebody else.
    #[error("`{rule}` has a component that is never matched: `.`, `..`, or a home directory other than `~`")]
    Unmatched {
        /// The text, escaped for people.
        rule: String,
    },
    /// It has a character to which other languages of patterns give a meaning.
    #[error("`{rule}` has `{character}`, which has no meaning in a pattern here")]
    Character {
        /// The text, escaped for people.
        rule: String,
        /// The character.
        character: char,
    },
    /// It has `**` too often.
    #[error("`{rule}` has more than {MOST_ANY_DEPTH} components `**`")]
    TooDeep {
        /// The text, escaped for people.
        rule: String,
    },
}

/// What to do about text that is no rule.
pub const ADVICE: &str = "write `~/` or `/` for a place of the host, or a path below the root of the workspace; `*` and `?` stand for a part of a name, `**` for any number of directories";

impl HideRule {
    /// The rule that `text` spells.
    pub fn parse(text: &str) -> Result<Self, HideRuleError> {
        let rule = || Escaped(text.as_bytes()).to_string();
        if let Some(character) = text.chars().find(|c| "[]{}\\!".contains(*c) || c.is_control()) {
            return Err(HideRuleError::Character { rule: rule(), character });
        }
        let below_home = text.strip_prefix("~/");
        let components = || below_home.unwrap_or(text).split('/').filter(|part| !part.is_empty());
        if components().next().is_none() {
            return Err(HideRuleError::Empty { rule: rule() });
        }
        if components().any(|part| part == "." || part == "..") || (text.starts_with('~') && below_home.is_none()) {
            return Err(HideRuleError::Unmatched { rule: rule() });
        }
        if components().filter(|part| *part == "**").count() > MOST_ANY_DEPTH {
            return Err(HideRuleError::TooDeep { rule: rule() });
        }
        Ok(Self(text.to_owned()))
    }

    /// The rule as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The pattern of absolute host paths, for a user whose home directory is `home`. `None` for a rule that names none, or
    /// that needs a home directory where there is none.
    pub fn on_host(&self, home: Option<&[u8]>) -> Option<Glob> {
        match self.0.strip_prefix("~/") {
            Some(rest) => Some(Glob::new(rest.as_bytes()).below(home?)),
            None => self.0.starts_with('/').then(|| Glob::new(self.0.as_bytes())),
        }
    }

    /// The pattern of paths below the root of the Workspace, or of a directory that is shown; `None` for a rule that names
    /// places of the host.
    pub fn within(&self) -> Option<Glob> {
        (!self.0.starts_with(['/', '~'])).then(|| Glob::new(self.0.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_says_of_which_paths_it_is() {
        let rule = HideRule::parse("~/.cargo/credentials*").expect("a rule");
        assert_eq!(rule.on_host(Some(b"/home/ana")), Some(Glob::new(b"/home/ana/.cargo/credentials*")));
        assert_eq!((rule.on_host(None), rule.within()), (None, None));
        let rule = HideRule::parse("**/.env").expect("a rule");
        assert_eq!((rule.on_host(Some(b"/home/ana")), rule.within()), (None, Some(Glob::new(b"**/.env"))));
        assert_eq!(HideRule::parse("/opt/*").expect("a rule").on_host(None), Some(Glob::new(b"/opt/*")));
    }

    #[test]
    fn text_that_would_hide_something_else_than_meant_is_refused() {
        for (text, part) in [
            ("", "names no file"),
            ("/", "names no file"),
            ("~/", "names no file"),
            ("~", "never matched"),
            ("~bob/x", "never matched"),
            ("a/../b", "never matched"),
            ("./.env", "never matched"),
            ("*.{pem,key}", "`{`"),
            ("[ab]", "`[`"),
            ("!keep", "`!`"),
            ("**/a/**/b/**/c/**/d", "more than 3"),
        ] {
            let error = HideRule::parse(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
