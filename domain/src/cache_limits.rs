//! Which pristine copies a cache need not keep.

use crate::timestamp::Timestamp;
use std::cmp::Reverse;

/// What a cache keeps: the copies that were used last, as many as are within all limits that are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheLimits {
    /// How long ago a copy may have been used last, in milliseconds.
    pub within_ms: Option<u64>,
    /// Bytes that all copies may take on disk together.
    pub most_bytes: Option<u64>,
}

/// What is to be known of a copy to judge it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheEntry<'a> {
    /// What it is called.
    pub name: &'a str,
    /// What the copies are called that it lies on.
    pub below: &'a [String],
    /// When it was used last.
    pub used_at: Timestamp,
    /// Bytes that it takes on disk.
    pub bytes: u64,
    /// Whether it can be used; nobody keeps what cannot.
    pub is_whole: bool,
}

impl CacheLimits {
    /// Those by which a cache is looked after without being asked: 30 days, 10 GiB.
    pub const UPKEEP: Self = Self { within_ms: Some(30 * 24 * 60 * 60 * 1000), most_bytes: Some(10 << 30) };
    /// Nothing is kept.
    pub const NOTHING: Self = Self { within_ms: None, most_bytes: Some(0) };

    /// The positions of what is to go, each before what it lies on.
    ///
    /// A copy counts as used when one was that lies on it, so that none goes before those that lie on it.
    pub fn doomed(self, entries: &[CacheEntry<'_>], now: Timestamp) -> Vec<usize> {
        let used_at = |entry: &CacheEntry<'_>| {
            let above = entries.iter().filter(|other| other.below.iter().any(|name| name == entry.name));
            above.map(|other| other.used_at).fold(entry.used_at, Ord::max)
        };
        let mut order: Vec<_> = entries.iter().enumerate().map(|(at, entry)| (used_at(entry), entry, at)).collect();
        order.sort_by_key(|(used_at, entry, _)| (Reverse(*used_at), entry.below.len()));
        let mut bytes = 0_u64;
        let mut is_over = false;
        let mut doomed = Vec::new();
        for (used_at, entry, at) in order {
            bytes = bytes.saturating_add(if entry.is_whole { entry.bytes } else { 0 });
            is_over |= self.most_bytes.is_some_and(|most| bytes > most || most == 0);
            let age_ms = now.unix_ms().saturating_sub(used_at.unix_ms());
            if is_over || !entry.is_whole || self.within_ms.is_some_and(|within| age_ms > within) {
                doomed.push((entry.is_whole, Reverse(entry.below.len()), at));
            }
        }
        // What lies on others has more below it than each of these. Of what is damaged nobody knows what is below it.
        doomed.sort_unstable();
        doomed.into_iter().map(|(_, _, at)| at).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_MS: u64 = 24 * 60 * 60 * 1000;

    fn doomed(limits: CacheLimits, entries: &[(&'static str, &[&str], u64, u64)]) -> Vec<&'static str> {
        let below: Vec<Vec<String>> =
            entries.iter().map(|entry| entry.1.iter().map(|name| (*name).to_owned()).collect()).collect();
        let entry = |(at, &(name, _, age_days, bytes)): (usize, &(&'static str, &[&str], u64, u64))| CacheEntry {
            name,
            below: &below[at],
            used_at: Timestamp::nearest((20_000 - age_days) * DAY_MS),
            bytes,
            is_whole: bytes > 0,
        };
        let all: Vec<_> = entries.iter().enumerate().map(entry).collect();
        let doomed = limits.doomed(&all, Timestamp::nearest(20_000 * DAY_MS));
        doomed.into_iter().map(|at| entries[at].0).collect()
    }

    #[test]
    fn what_was_not_used_for_long_goes_unless_another_that_was_lies_on_it() {
        let limits = CacheLimits { within_ms: Some(30 * DAY_MS), most_bytes: None };
        let entries: &[(_, &[&str], _, _)] =
            &[("old", &[], 31, 1), ("lower", &[], 50, 1), ("upper", &["lower"], 2, 1), ("young", &[], 30, 1)];
        assert_eq!(doomed(limits, entries), ["old"]);
    }

    #[test]
    fn the_oldest_go_until_the_rest_is_within_the_size_and_each_before_what_it_lies_on() {
        let limits = CacheLimits { within_ms: None, most_bytes: Some(10) };
        let entries: &[(_, &[&str], _, _)] =
            &[("lower", &[], 9, 4), ("upper", &["lower"], 8, 1), ("a", &[], 1, 5), ("b", &[], 2, 5), ("c", &[], 3, 1)];
        assert_eq!(doomed(limits, entries), ["upper", "lower", "c"]);
    }

    #[test]
    fn nothing_is_kept_where_nothing_is_to_be_and_what_is_damaged_never() {
        let entries: &[(_, &[&str], _, _)] = &[("a", &[], 0, 5), ("damaged", &[], 0, 0)];
        assert_eq!(doomed(CacheLimits::UPKEEP, entries), ["damaged"]);
        assert_eq!(doomed(CacheLimits::NOTHING, entries), ["damaged", "a"]);
    }
}
