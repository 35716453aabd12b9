//! Which files that went and which that came are one that was renamed, by what their contents share.
//!
//! The measure is Git's: the bytes in lines that both have, as a part of the longer one; lines over 64 bytes count in pieces. The
//! caller brings the hash, which has to be one that whoever wrote the contents cannot foresee.

use std::collections::{HashMap, HashSet};

/// Longest piece of a line that is compared as one, in bytes.
const LONGEST_SPAN: usize = 64;
/// How many steps comparisons may take. What is beyond is not compared.
const MOST_STEPS: usize = 100_000_000;
/// How many files of the same content are looked at for one that keeps the last part of its path.
const MOST_ALIKE: usize = 64;

/// What a content is compared by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch {
    length: u64,
    /// The hash of every span, and the bytes in all spans of that hash, in ascending order.
    spans: Vec<(u64, u32)>,
}

impl Sketch {
    /// The sketch of `text`.
    pub fn of(text: &[u8], hash: &dyn Fn(&[u8]) -> u64) -> Self {
        let lines = text.split_inclusive(|&byte| byte == b'\n');
        let mut all: Vec<_> =
            lines.flat_map(|line| line.chunks(LONGEST_SPAN)).map(|span| (hash(span), span.len() as u32)).collect();
        all.sort_unstable();
        all.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            kept.1 += if is_same { next.1 } else { 0 };
            is_same
        });
        all.shrink_to_fit();
        Self { length: text.len() as u64, spans: all }
    }

    /// How much of the longer one both have, in percent, rounded down.
    pub fn similarity(&self, other: &Self) -> u8 {
        let (mut left, mut right) = (self.spans.iter().peekable(), other.spans.iter().peekable());
        let mut shared = 0_u64;
        while let (Some(one), Some(two)) = (left.peek(), right.peek()) {
            match one.0.cmp(&two.0) {
                std::cmp::Ordering::Less => drop(left.next()),
                std::cmp::Ordering::Greater => drop(right.next()),
                std::cmp::Ordering::Equal => {
                    shared += u64::from(one.1.min(two.1));
                    left.next();
                    right.next();
                }
            }
        }
        let longest = self.length.max(other.length).max(1);
        (shared * 100 / longest) as u8
    }

    /// Whether the lengths alone leave room for a similarity of `least` percent.
    fn could_reach(&self, other: &Self, least: u8) -> bool {
        let (short, long) = (self.length.min(other.length), self.length.max(other.length));
        short * 100 >= long * u64::from(least)
    }
}

/// A file that went, or one that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate<'a> {
    /// Its path.
    pub path: &'a [u8],
    /// Its kind, and what names its content; `None` where that is not known.
    pub name: Option<(&'a [u8], &'a [u8])>,
    /// What it is compared by; `None` where it can only be the same.
    pub sketch: Option<Sketch>,
}

/// A file that has another path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rename {
    /// Which of the files that went it is.
    pub from: usize,
    /// Which of the files that came.
    pub to: usize,
    /// What the contents share, in percent; 100 where they are the same.
    pub similarity: u8,
}

/// The renames, in the order of the files that came. Each file is in one of them at most. Those with the same content come
/// first, then those that share most, of at least `least` percent; of equal ones those that keep the last part of the path.
pub fn pair(deleted: &[Candidate<'_>], added: &[Candidate<'_>], least: u8) -> Vec<Rename> {
    let mut renames = same(deleted, added);
    if least < 100 {
        let [from, to] = [|rename: &Rename| rename.from, |rename: &Rename| rename.to]
            .map(|side| renames.iter().map(side).collect::<HashSet<_>>());
        let open = |side: &[Candidate<'_>], taken: &HashSet<usize>| -> Vec<usize> {
            (0..side.len()).filter(|at| side[*at].sketch.is_some() && !taken.contains(at)).collect()
        };
        renames.extend(similar((deleted, &open(deleted, &from)), (added, &open(added, &to)), least));
    }
    renames.sort_unstable_by_key(|rename| rename.to);
    renames
}

fn same(deleted: &[Candidate<'_>], added: &[Candidate<'_>]) -> Vec<Rename> {
    // The first one of a content comes last, where it is taken from.
    let mut by_name: HashMap<(&[u8], &[u8]), Vec<usize>> = HashMap::new();
    for (at, candidate) in deleted.iter().enumerate().rev() {
        if let Some(name) = candidate.name {
            by_name.entry(name).or_default().push(at);
        }
    }
    let (mut renames, mut done) = (Vec::new(), HashSet::new());
    // Those that keep the last part of the path choose first.
    for keeps in [true, false] {
        for (to, candidate) in added.iter().enumerate() {
            let Some(known) = candidate.name.and_then(|name| by_name.get_mut(&name)) else { continue };
            if done.contains(&to) {
                continue;
            }
            let fits = |from: &usize| !keeps || last_part(deleted[*from].path) == last_part(candidate.path);
            let looked_at = known.len().saturating_sub(MOST_ALIKE);
            if let Some(at) = known[looked_at..].iter().rposition(fits) {
                renames.push(Rename { from: known.remove(looked_at + at), to, similarity: 100 });
                done.insert(to);
            }
        }
    }
    renames
}

fn similar(
    (deleted, from): (&[Candidate<'_>], &[usize]),
    (added, to): (&[Candidate<'_>], &[usize]),
    least: u8,
) -> Vec<Rename> {
    let (mut found, mut steps) = (Vec::new(), 0);
    'all: for &to in to {
        for &from in from {
            let (Some(old), Some(new)) = (&deleted[from].sketch, &added[to].sketch) else { continue };
            steps += 1;
            if old.could_reach(new, least) {
                steps += old.spans.len() + new.spans.len();
                let similarity = old.similarity(new);
                found.extend((similarity >= least).then_some(Rename { from, to, similarity }));
            }
            if steps > MOST_STEPS {
                break 'all;
            }
        }
    }
    let keeps = |rename: &Rename| last_part(deleted[rename.from].path) == last_part(added[rename.to].path);
    found.sort_by_key(|rename| (std::cmp::Reverse((rename.similarity, keeps(rename))), rename.to, rename.from));
    let (mut gone, mut come) = (HashSet::new(), HashSet::new());
    found.retain(|rename| {
        let is_free = !gone.contains(&rename.from) && !come.contains(&rename.to);
        if is_free {
            gone.insert(rename.from);
            come.insert(rename.to);
        }
        is_free
    });
    found
}

fn last_part(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file<'a>(path: &'a str, text: &'a str) -> Candidate<'a> {
        let sketch = Sketch::of(text.as_bytes(), &|span| {
            span.iter().fold(7_u64, |sum, &byte| sum.wrapping_mul(31) + u64::from(byte))
        });
        Candidate { path: path.as_bytes(), name: Some((b"100", text.as_bytes())), sketch: Some(sketch) }
    }

    fn told(deleted: &[Candidate<'_>], added: &[Candidate<'_>]) -> Vec<(usize, usize, u8)> {
        pair(deleted, added, 50).into_iter().map(|rename| (rename.from, rename.to, rename.similarity)).collect()
    }

    #[test]
    fn the_same_content_is_a_rename_and_a_kept_name_chooses_first() {
        let deleted = [file("a/one", "text\n"), file("a/two", "text\n")];
        assert_eq!(told(&deleted, &[file("b/two", "text\n"), file("b/x", "text\n")]), [(1, 0, 100), (0, 1, 100)]);
        assert_eq!(told(&deleted, &[file("b/x", "text\n"), file("b/two", "text\n")]), [(0, 0, 100), (1, 1, 100)]);
        assert_eq!(told(&deleted[..1], &[file("x", "text\n"), file("y", "text\n")]), [(0, 0, 100)]);
    }

    #[test]
    fn what_shares_half_is_a_rename_and_what_shares_less_is_none() {
        let deleted = [file("a", "one\ntwo\nthr\nfou\n")];
        assert_eq!(told(&deleted, &[file("b", "one\ntwo\nxxx\nyyy\n")]), [(0, 0, 50)]);
        assert_eq!(told(&deleted, &[file("b", "one\nzzz\nxxx\nyyy\n")]), []);
        assert_eq!(told(&deleted, &[file("b", "one\nxxx\ntwo\n."), file("c", "one\ntwo\nthr\n.")]), [(0, 1, 75)]);
    }
}
