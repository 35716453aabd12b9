//! Patterns of paths, component by component.

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

/// A pattern, split at its slashes: `*` is any number of bytes of one component, `?` one of them, and the component `**` any
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

    /// How the path with these components lies to the pattern.
    pub fn fit(&self, path: &[&[u8]]) -> Fit {
        fit(&self.0, path)
    }

    /// The components before the first one that stands for more than one name.
    pub fn fixed_prefix(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(Vec::as_slice).take_while(|part| !part.iter().any(|byte| b"*?".contains(byte)))
    }
}

fn fit(parts: &[Vec<u8>], path: &[&[u8]]) -> Fit {
    match (parts.split_first(), path.split_first()) {
        (None, _) => Fit { matches: path.is_empty(), leads_on: false },
        (Some(_), None) => Fit { matches: false, leads_on: true },
        (Some((first, rest)), Some((_, inner))) if first == ANY_DEPTH => {
            let here = if rest.is_empty() { Fit { matches: true, leads_on: true } } else { fit(rest, path) };
            let below = fit(parts, inner);
            Fit { matches: here.matches || below.matches, leads_on: true }
        }
        (Some((first, rest)), Some((name, inner))) if fits_name(first, name) => fit(rest, inner),
        (Some(_), Some(_)) => Fit::default(),
    }
}

/// Whether one component fits one part of a pattern. Linear but for going back to the last `*`.
fn fits_name(part: &[u8], name: &[u8]) -> bool {
    let (mut at, mut done) = (0, 0);
    let mut last_star: Option<(usize, usize)> = None;
    while done < name.len() {
        match part.get(at) {
            Some(b'*') => {
                last_star = Some((at + 1, done));
                at += 1;
            }
            Some(byte) if *byte == b'?' || *byte == name[done] => {
                (at, done) = (at + 1, done + 1);
            }
            _ => match last_star {
                Some((after, begun)) => {
                    last_star = Some((after, begun + 1));
                    (at, done) = (after, begun + 1);
                }
                None => return false,
            },
        }
    }
    part[at..].iter().all(|byte| *byte == b'*')
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
