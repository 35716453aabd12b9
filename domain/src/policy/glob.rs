//! Patterns of paths, component by component.

use crate::wildcard::matches;

/// What stands for any number of components.
const ANY_DEPTH: &[u8] = b"**";

/// How a path lies to a pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fit {
    /// The pattern names the path.
    pub matches: bool,
    /// The pattern may name something in it, if it is a directory.
    pub leads_on: bool,
}

/// A pattern, split at its slashes: `*` is any number of bytes of one component, `?` one character, and the component `**` any
/// number of components; as the last one, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob(Vec<Vec<u8>>);

impl Glob {
    /// The pattern that `text` spells; empty components are left out.
    pub fn new(text: &[u8]) -> Self {
        Self(components(text).map(<[u8]>::to_vec).collect())
    }

    /// The pattern for what lies at `prefix`, in which nothing has a meaning, and then fits `self`.
    #[must_use]
    pub fn below(&self, prefix: &[u8]) -> Self {
        // A name that has a `*` in it is matched by itself, and at worst by more: nothing is shown by mistake.
        Self(components(prefix).map(<[u8]>::to_vec).chain(self.0.iter().cloned()).collect())
    }

    /// What it spells, with a slash before each component. No other pattern has the same.
    pub fn text(&self) -> Vec<u8> {
        self.0.iter().flat_map(|part| [b"/", part.as_slice()].concat()).collect()
    }

    /// How the path with these components lies to the pattern.
    pub fn fit(&self, path: &[&[u8]]) -> Fit {
        fit(&self.0, path)
    }

    /// Whether the pattern names the path with these components, or a directory that it lies in.
    pub fn covers(&self, path: &[&[u8]]) -> bool {
        (1..=path.len()).any(|length| self.fit(&path[..length]).matches)
    }

    /// The components before the first one that stands for more than one name.
    pub fn fixed_prefix(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(Vec::as_slice).take_while(|part| is_one_name(part))
    }

    /// How many components it has.
    pub fn length(&self) -> usize {
        self.0.len()
    }

    /// The same pattern with `prefix`, in which nothing has a meaning, in the place of its first `count` components.
    #[must_use]
    pub fn moved(&self, count: usize, prefix: &[u8]) -> Self {
        Self(self.0.get(count..).unwrap_or_default().to_vec()).below(prefix)
    }

    /// What may come next on the way from the path with these components to what the pattern names.
    pub fn ahead<'a>(&'a self, path: &[&[u8]]) -> impl Iterator<Item = Step<'a>> + use<'a> {
        let places = places(&self.0, path);
        let here = self.0.iter().zip(places).filter_map(|(part, is_here)| is_here.then_some(part.as_slice()));
        here.map(|part| if is_one_name(part) { Step::Name(part) } else { Step::Any })
    }
}

/// A step on the way to what a pattern names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// To what has this name.
    Name(&'a [u8]),
    /// To several things.
    Any,
}

fn is_one_name(part: &[u8]) -> bool {
    !part.iter().any(|byte| b"*?".contains(byte))
}

fn fit(parts: &[Vec<u8>], path: &[&[u8]]) -> Fit {
    let places = places(parts, path);
    Fit { matches: places[parts.len()], leads_on: places[..parts.len()].contains(&true) }
}

// Every place in the pattern at which the path so far may stand is followed at the same time: a pattern with many `**` costs no
// more than its length for each component.
fn places(parts: &[Vec<u8>], path: &[&[u8]]) -> Vec<bool> {
    let mut places = vec![false; parts.len() + 1];
    places[0] = true;
    skip_depths(parts, &mut places);
    for name in path {
        let mut behind = vec![false; parts.len() + 1];
        for (at, part) in parts.iter().enumerate().filter(|(at, _)| places[*at]) {
            if part == ANY_DEPTH {
                behind[at] = true;
                behind[at + 1] |= at + 1 == parts.len();
            } else {
                behind[at + 1] |= matches(part, name);
            }
        }
        skip_depths(parts, &mut behind);
        places = behind;
    }
    places
}

/// What stands for any number of components stands for none, too, if it is not the last.
fn skip_depths(parts: &[Vec<u8>], places: &mut [bool]) {
    for (at, part) in parts.iter().enumerate().take(parts.len().saturating_sub(1)) {
        places[at + 1] |= places[at] && part == ANY_DEPTH;
    }
}

fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/').filter(|component| !component.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fit_of(pattern: &str, path: &str) -> Fit {
        Glob::new(pattern.as_bytes()).fit(&components(path.as_bytes()).collect::<Vec<_>>())
    }

    #[test]
    fn stars_stay_within_a_component_and_double_stars_do_not() {
        for (pattern, path, matches) in [
            ("/a/credentials*", "/a/credentials.toml", true),
            ("/a/credentials*", "/a/credentials", true),
            ("/a/credentials*", "/a/b/credentials", false),
            ("/a/*/c", "/a/b/c", true),
            ("/a/*/c", "/a/b/b/c", false),
            ("**/.env", ".env", true),
            ("**/.env", "a/b/.env", true),
            ("**/.env", "a/.env/b", false),
            ("**/.env.*", "a/.env.local", true),
            ("a/**", "a", false),
            ("a/**", "a/b/c", true),
            ("a/**/z", "a/z", true),
            ("?b", "ab", true),
            ("?b", "b", false),
            ("?b", "\u{e4}b", true),
            ("*a*b", "xxaxxbxxb", true),
            ("*a*b", "xxaxxbxxc", false),
        ] {
            assert_eq!(fit_of(pattern, path).matches, matches, "{pattern} {path}");
        }
    }

    #[test]
    fn a_search_goes_where_something_may_fit_and_nowhere_else() {
        assert!(fit_of("/a/b/*", "/a").leads_on && fit_of("/a/b/*", "/a/b").leads_on);
        assert!(!fit_of("/a/b/*", "/c").leads_on && !fit_of("/a/b/*", "/a/b/c").leads_on);
        assert!(fit_of("**/x", "/a/b/c").leads_on);
    }

    #[test]
    fn what_lies_in_something_that_a_pattern_names_is_covered_by_it() {
        let covers = |pattern: &str, path: &str| {
            Glob::new(pattern.as_bytes()).covers(&components(path.as_bytes()).collect::<Vec<_>>())
        };
        assert!(covers("/a/b", "/a/b") && covers("/a/b", "/a/b/c/d") && covers("/a/*", "/a/b/c"));
        assert!(!covers("/a/b", "/a") && !covers("/a/b", "/a/bc/d"));
    }

    #[test]
    fn what_comes_next_is_named_where_it_has_one_name() {
        let ahead = |pattern: &str, path: &str| {
            let glob = Glob::new(pattern.as_bytes());
            let steps = glob.ahead(&components(path.as_bytes()).collect::<Vec<_>>());
            steps
                .map(|step| if let Step::Name(name) = step { name.to_vec() } else { b"?".to_vec() })
                .collect::<Vec<_>>()
        };
        assert_eq!(ahead("/a/b", "/a"), [b"b"]);
        assert_eq!(ahead("/a/*/c", "/a"), [b"?"]);
        assert_eq!(ahead("/a/*/c", "/a/x"), [b"c"]);
        assert_eq!(ahead("**/x", "/a"), [b"?", b"x"]);
        assert_eq!(ahead("/a/b", "/c"), [b""; 0]);
    }

    #[test]
    fn a_pattern_of_many_double_stars_ends_soon() {
        let pattern = "/**/a".repeat(40);
        assert_eq!(fit_of(&format!("{pattern}/b"), &"/a".repeat(200)), Fit { matches: false, leads_on: true });
        assert!(fit_of(&pattern, &"/a".repeat(200)).matches);
    }

    proptest! {
        #[test]
        fn whoever_follows_the_way_finds_what_fits(
            pattern in "(/(a|b|\\*|\\*\\*|a\\*)){1,4}",
            path in "(/(a|b|ab)){1,5}",
        ) {
            if fit_of(&pattern, &path).matches {
                let parts: Vec<&[u8]> = components(path.as_bytes()).collect();
                for length in 0..parts.len() {
                    prop_assert!(Glob::new(pattern.as_bytes()).fit(&parts[..length]).leads_on);
                }
            }
        }
    }
}
