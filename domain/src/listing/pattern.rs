//! Patterns that people write for commands, paths and task ids.

use crate::record::{RecordedArgument, ShownCommand};
use crate::repo_path::RepoPath;
use crate::task_id::TaskId;
use crate::wildcard::matches;
use std::str::FromStr;

/// A part of a Workload Command, or, with `*` or `?` in it, all of it.
///
/// It is compared with the command as a listing shows it, and with its arguments as they are, a blank between each two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandPattern(Vec<u8>);

impl CommandPattern {
    /// Takes the pattern as it was typed.
    pub fn new(typed: impl Into<Vec<u8>>) -> Self {
        Self(typed.into())
    }

    /// Whether it fits a command.
    pub fn fits(&self, command: &[RecordedArgument]) -> bool {
        let plain = command.iter().map(|argument| argument.shown.as_slice()).collect::<Vec<_>>().join(&b' ');
        self.fits_text(&plain) || self.fits_text(ShownCommand(command).to_string().as_bytes())
    }

    fn fits_text(&self, text: &[u8]) -> bool {
        match is_glob(&self.0) {
            true => matches(&self.0, text),
            false => self.0.is_empty() || text.windows(self.0.len()).any(|part| part == self.0),
        }
    }
}

/// A path, or a pattern of paths, from the root of a repository. It fits what it names and all that lies below.
///
/// `*` and `?` stand for what lies between two `/`, `**` for any number of directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern(Vec<Vec<u8>>);

/// Why a text is no [`PathPattern`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is a path from the root of the repository, such as src, docs/index.md or '**/*.rs'")]
pub struct PathPatternError;

impl PathPattern {
    /// Takes the pattern as it was typed.
    pub fn parse(typed: &[u8]) -> Result<Self, PathPatternError> {
        let below = typed.strip_prefix(b"./").unwrap_or(typed);
        let below = below.strip_suffix(b"/").unwrap_or(below);
        let components: Vec<Vec<u8>> = below.split(|byte| *byte == b'/').map(<[u8]>::to_vec).collect();
        let is_path = components.iter().all(|component| !matches!(component.as_slice(), b"" | b"." | b".."));
        if is_path { Ok(Self(components)) } else { Err(PathPatternError) }
    }

    /// Whether it fits `path`, or a directory that this lies in.
    pub fn fits(&self, path: &RepoPath) -> bool {
        let components: Vec<&[u8]> = path.components().collect();
        (1..=components.len()).any(|depth| components_fit(&self.0, &components[..depth]))
    }
}

// As with `*` in a text, it is enough to go back to the last `**`.
fn components_fit(pattern: &[Vec<u8>], path: &[&[u8]]) -> bool {
    let (mut at, mut index, mut back) = (0, 0, None);
    while index < path.len() {
        match pattern.get(at) {
            Some(any) if any == b"**" => {
                back = Some((at + 1, index));
                at += 1;
            }
            Some(component) if matches(component, path[index]) => (at, index) = (at + 1, index + 1),
            _ => match back {
                Some((behind, from)) => {
                    back = Some((behind, from + 1));
                    (at, index) = (behind, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|component| component == b"**")
}

fn is_glob(pattern: &[u8]) -> bool {
    pattern.iter().any(|byte| matches!(byte, b'*' | b'?'))
}

/// The first hex digits of task ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskPrefix(String);

/// A text begins no task id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is the beginning of a task id: up to 16 hex digits, with `task-` or without")]
pub struct TaskPrefixError;

impl FromStr for TaskPrefix {
    type Err = TaskPrefixError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix("task-").unwrap_or(text);
        let is_prefix =
            (1..=16).contains(&digits.len()) && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if is_prefix { Ok(Self(digits.to_owned())) } else { Err(TaskPrefixError) }
    }
}

impl TaskPrefix {
    /// Whether `task` begins so.
    pub fn fits(&self, task: TaskId) -> bool {
        let mut digits = task.as_bytes().iter().flat_map(|byte| [byte >> 4, byte & 15]);
        self.0.chars().all(|wanted| digits.next().map(u32::from) == wanted.to_digit(16))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The meaning of a pattern in its shortest form.
    fn fits(pattern: &[u8], text: &[u8]) -> bool {
        match (pattern, text) {
            ([], text) => text.is_empty(),
            ([b'*', rest @ ..], _) => (0..=text.len()).any(|skipped| fits(rest, &text[skipped..])),
            ([b'?', rest @ ..], [_, behind @ ..]) => fits(rest, behind),
            ([byte, rest @ ..], [first, behind @ ..]) => byte == first && fits(rest, behind),
            (_, []) => false,
        }
    }

    proptest! {
        #[test]
        fn a_pattern_matches_as_its_shortest_form_says(pattern in "[ab?*]{0,8}", text in "[ab]{0,10}") {
            prop_assert_eq!(matches(pattern.as_bytes(), text.as_bytes()), fits(pattern.as_bytes(), text.as_bytes()));
        }

        #[test]
        fn patterns_of_directories_match_as_patterns_of_letters_do(pattern in "[ab*]{1,6}", text in "[ab]{1,8}") {
            let components = |letters: &str, star: &str| -> Vec<Vec<u8>> {
                letters.chars().map(|c| if c == '*' { star.as_bytes().to_vec() } else { vec![c as u8] }).collect()
            };
            let (by_directories, path) = (components(&pattern, "**"), components(&text, ""));
            let path: Vec<&[u8]> = path.iter().map(Vec::as_slice).collect();
            prop_assert_eq!(components_fit(&by_directories, &path), fits(pattern.as_bytes(), text.as_bytes()));
        }
    }

    fn command(arguments: &[&str]) -> Vec<RecordedArgument> {
        arguments
            .iter()
            .map(|shown| RecordedArgument { shown: shown.as_bytes().to_vec(), masked_digest: None })
            .collect()
    }

    #[test]
    fn a_command_is_found_by_a_part_or_by_a_pattern_of_all_of_it() {
        let said = command(&["sh", "-c", "echo 'é*'"]);
        for (pattern, fits) in [
            ("", true),
            ("echo", true),
            ("-c echo", true),
            ("sh -c 'echo", true),
            ("Echo", false),
            ("sh*", true),
            ("*echo", false),
            ("sh -c echo '??'", true),
            ("sh -c echo '???'", false),
            ("*e*c*h*o*", true),
        ] {
            assert_eq!(CommandPattern::new(pattern).fits(&said), fits, "{pattern}");
        }
    }

    #[test]
    fn a_path_is_found_by_its_name_its_directories_and_by_patterns_of_them() {
        for (pattern, path, fits) in [
            ("src", "src", true),
            ("src", "src/a/b.rs", true),
            ("./src/", "src/a", true),
            ("src", "srcs/a", false),
            ("a", "src/a", false),
            ("*.rs", "a.rs", true),
            ("*.rs", "src/a.rs", false),
            ("**/*.rs", "a.rs", true),
            ("**/*.rs", "src/deep/a.rs", true),
            ("src/**/b/*.rs", "src/b/x/b/a.rs", true),
            ("src/*/a.rs", "src/x/y/a.rs", false),
            ("docs/*", "docs/x/y", true),
            ("**", "a/b", true),
            ("a/**/**/b", "a/b", true),
            ("?.md", "é.md", true),
            ("?.md", "ab.md", false),
        ] {
            let found = PathPattern::parse(pattern.as_bytes())
                .map(|parsed| RepoPath::parse(path.as_bytes().to_vec()).map(|path| parsed.fits(&path)));
            assert_eq!(found, Ok(Ok(fits)), "{pattern} {path}");
        }
        for pattern in ["", "/", "/src", "../a", "a/../b", "a//b", "."] {
            assert_eq!(PathPattern::parse(pattern.as_bytes()), Err(PathPatternError), "{pattern}");
        }
    }

    #[test]
    fn a_pattern_of_many_stars_takes_no_long_time() {
        let (pattern, text) = (b"*a".repeat(200), b"a".repeat(4000));
        assert!(!matches(&[&pattern[..], b"b"].concat(), &text));
    }

    #[test]
    fn a_task_is_found_by_the_beginning_of_its_id() {
        let task = TaskId::new([0x01, 0x2f, 0, 0, 0, 0, 0, 0xff]);
        for (prefix, fits) in
            [("0", true), ("task-012f", true), ("012f0000000000ff", true), ("1", false), ("012e", false)]
        {
            assert_eq!(prefix.parse::<TaskPrefix>().map(|prefix| prefix.fits(task)), Ok(fits), "{prefix}");
        }
        for prefix in ["", "task-", "xyz", "0123456789abcdef0", "AB"] {
            assert_eq!(prefix.parse::<TaskPrefix>(), Err(TaskPrefixError), "{prefix}");
        }
    }
}
