//! How paths stand to several patterns, for those who look for what the patterns name.

use super::glob::{Glob, components, is_one_name};
use crate::escape::Escaped;
use std::fmt::Display;

/// How a path stands to several patterns, with all that matters for what lies in it: in directories that stand alike, they name
/// the same. Whoever follows links compares, since there are many ways to a directory then, and some go in circles.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Standing<'a> {
    patterns: &'a [Glob],
    /// For each pattern, the places in it.
    places: Vec<Vec<bool>>,
}

/// How a path lies to any of some patterns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fit {
    /// One of them names the path.
    pub matches: bool,
    /// One of them may name something in it, if it is a directory.
    pub leads_on: bool,
}

/// A step on the way to what a pattern names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// To what has this name.
    Name(&'a [u8]),
    /// To several things.
    Any,
}

impl<'a> Standing<'a> {
    /// How the directory stands that the patterns are about.
    pub fn of_root(patterns: &'a [Glob]) -> Self {
        Self { patterns, places: patterns.iter().map(Glob::first_places).collect() }
    }

    /// How `path` stands, which begins there.
    pub fn of(patterns: &'a [Glob], path: &[u8]) -> Self {
        components(path).fold(Self::of_root(patterns), |standing, name| standing.of_entry(name))
    }

    /// How what is called `name` stands in a directory that stands like this.
    #[must_use]
    pub fn of_entry(&self, name: &[u8]) -> Self {
        let next = self.each().map(|(glob, places)| glob.next_places(places, name));
        Self { patterns: self.patterns, places: next.collect() }
    }

    /// What the patterns say of what stands like this.
    pub fn fit(&self) -> Fit {
        let matches = self.places.iter().any(|places| places.last() == Some(&true));
        Fit { matches, leads_on: self.ahead().next().is_some() }
    }

    /// What may come next on the way to what the patterns name.
    pub fn ahead(&self) -> impl Iterator<Item = Step<'a>> {
        let parts = self.each().flat_map(|(glob, places)| glob.ahead(places));
        parts.map(|part| if is_one_name(part) { Step::Name(part) } else { Step::Any })
    }

    /// Why a search of `place`, which came to something that stands like this, was given up, as a sentence for people. `around`
    /// is what the patterns lie in: `/` for those of absolute paths.
    pub fn given_up(&self, place: impl Display, around: &str) -> String {
        let needing = self.each().find(|(glob, places)| glob.ahead(places).next().is_some());
        let pattern = needing.map_or(String::new(), |(glob, _)| {
            let text = glob.text();
            format!("the pattern `{around}{}` of ", Escaped(text.strip_prefix(b"/").unwrap_or(&text)))
        });
        format!(
            "{place} has more entries than can be searched for what {pattern}`filesystem.hide` names: narrow the pattern, or \
             hide the directory that has so many"
        )
    }

    fn each(&self) -> impl Iterator<Item = (&'a Glob, &Vec<bool>)> {
        self.patterns.iter().zip(&self.places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fit_of(pattern: &str, path: &str) -> Fit {
        Standing::of(&[Glob::new(pattern.as_bytes())], path.as_bytes()).fit()
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
    fn what_comes_next_is_named_where_it_has_one_name() {
        let ahead = |pattern: &str, path: &str| {
            let patterns = [Glob::new(pattern.as_bytes())];
            let standing = Standing::of(&patterns, path.as_bytes());
            standing
                .ahead()
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

    #[test]
    fn directories_in_which_the_patterns_name_the_same_stand_alike() {
        let patterns = ["**/.env", "a/b/*", "c/*"].map(|pattern| Glob::new(pattern.as_bytes()));
        let standing = |path: &str| Standing::of(&patterns, path.as_bytes());
        assert_eq!(standing("x/y"), standing("z"));
        assert_eq!(standing("a/b"), Standing::of_root(&patterns).of_entry(b"a").of_entry(b"b"));
        assert!(standing("a/b") != standing("x/b") && standing("a/b") != standing("c"));
    }

    #[test]
    fn a_search_that_is_given_up_names_a_pattern_that_needs_it() {
        let patterns = ["/a/b", "/home/**/x", "**/y"].map(|pattern| Glob::new(pattern.as_bytes()));
        assert_eq!(
            Standing::of(&patterns, b"/home/z").given_up("/home", "/"),
            "/home has more entries than can be searched for what the pattern `/home/**/x` of `filesystem.hide` names: \
             narrow the pattern, or hide the directory that has so many"
        );
    }

    proptest! {
        #[test]
        fn whoever_follows_the_way_finds_what_fits(
            pattern in "(/(a|b|\\*|\\*\\*|a\\*)){1,4}",
            path in "(/(a|b|ab)){1,5}",
        ) {
            if fit_of(&pattern, &path).matches {
                for (end, _) in path.match_indices('/') {
                    prop_assert!(fit_of(&pattern, &path[..end]).leads_on);
                }
            }
        }
    }
}
