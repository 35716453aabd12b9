//! Patterns of paths, component by component.

use crate::wildcard::matches;

/// What stands for any number of components.
const ANY_DEPTH: &[u8] = b"**";

/// A pattern, split at its slashes: `*` is any number of bytes of one component, `?` one character, and the component `**` any
/// number of components; as the last one, at least one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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

    /// Whether the pattern names the path, or a directory that it lies in.
    pub fn covers(&self, path: &[u8]) -> bool {
        let mut places = self.first_places();
        components(path).any(|name| {
            places = self.next_places(&places, name);
            places[self.length()]
        })
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

    /// The places in the pattern, before each of its components and behind the last one, at which nothing of a path may stand.
    // Every place at which a path may stand is followed at the same time: a pattern with many `**` costs no more than its length
    // for each component.
    pub(super) fn first_places(&self) -> Vec<bool> {
        let mut places = vec![false; self.length() + 1];
        places[0] = true;
        self.skip_depths(&mut places);
        places
    }

    /// Those at which what is called `name` may stand, in a directory that may stand at `places`.
    pub(super) fn next_places(&self, places: &[bool], name: &[u8]) -> Vec<bool> {
        let mut behind = vec![false; places.len()];
        for (at, part) in self.0.iter().enumerate().filter(|(at, _)| places[*at]) {
            if part == ANY_DEPTH {
                behind[at] = true;
                behind[at + 1] |= at + 1 == self.length();
            } else {
                behind[at + 1] |= matches(part, name);
            }
        }
        self.skip_depths(&mut behind);
        behind
    }

    /// What stands for any number of components stands for none, too, if it is not the last.
    fn skip_depths(&self, places: &mut [bool]) {
        for (at, part) in self.0.iter().enumerate().take(self.length().saturating_sub(1)) {
            places[at + 1] |= places[at] && part == ANY_DEPTH;
        }
    }

    /// The components that may come next where a path may stand at `places`.
    pub(super) fn ahead<'a>(&'a self, places: &[bool]) -> impl Iterator<Item = &'a [u8]> {
        self.0.iter().zip(places).filter_map(|(part, is_here)| is_here.then_some(part.as_slice()))
    }
}

/// Whether a component of a pattern stands for one name alone.
pub(super) fn is_one_name(part: &[u8]) -> bool {
    !part.iter().any(|byte| b"*?".contains(byte))
}

/// The components of a path.
pub(super) fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/').filter(|component| !component.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_something_that_a_pattern_names_is_covered_by_it() {
        let covers = |pattern: &str, path: &str| Glob::new(pattern.as_bytes()).covers(path.as_bytes());
        assert!(covers("/a/b", "/a/b") && covers("/a/b", "/a/b/c/d") && covers("/a/*", "/a/b/c"));
        assert!(!covers("/a/b", "/a") && !covers("/a/b", "/a/bc/d"));
    }
}
