//! The first few of a stream in an order, in memory for those alone.

use super::{Direction, Limit};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// More than can be put in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more than {} tasks cannot be sorted", First::<()>::MOST)]
pub struct TooMany;

/// Keeps what comes first of everything that is added. Of equals, what was added first.
#[derive(Debug)]
pub struct First<T> {
    direction: Direction,
    limit: Limit,
    added: u64,
    /// The one on top comes last.
    kept: BinaryHeap<Placed<T>>,
}

#[derive(Debug)]
struct Placed<T> {
    /// The less, the earlier it comes.
    place: (u64, u64),
    item: T,
}

impl<T> First<T> {
    /// So many are kept at most: a few words each.
    pub const MOST: u64 = 250_000;

    /// Nothing yet; at most `limit` are kept. Errs if that is more than can be.
    pub fn new(direction: Direction, limit: Limit) -> Result<Self, TooMany> {
        match limit {
            Limit::Most(most) if most > Self::MOST => Err(TooMany),
            limit => Ok(Self { direction, limit, added: 0, kept: BinaryHeap::new() }),
        }
    }

    /// Adds an item of such a value.
    pub fn add(&mut self, value: u64, item: T) -> Result<(), TooMany> {
        let rank = match self.direction {
            Direction::Descending => u64::MAX - value,
            Direction::Ascending => value,
        };
        self.kept.push(Placed { place: (rank, self.added), item });
        self.added += 1;
        let kept = self.kept.len() as u64;
        match self.limit {
            Limit::Most(most) if kept > most => drop(self.kept.pop()),
            Limit::All if kept > Self::MOST => return Err(TooMany),
            Limit::Most(_) | Limit::All => {}
        }
        Ok(())
    }

    /// How many were added and are not kept.
    pub fn passed_over(&self) -> u64 {
        self.added - self.kept.len() as u64
    }

    /// What is kept, in order.
    pub fn in_order(self) -> impl Iterator<Item = T> {
        self.kept.into_sorted_vec().into_iter().map(|placed| placed.item)
    }
}

impl<T> Ord for Placed<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place.cmp(&other.place)
    }
}

impl<T> PartialOrd for Placed<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Placed<T> {
    fn eq(&self, other: &Self) -> bool {
        self.place == other.place
    }
}

impl<T> Eq for Placed<T> {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn first(values: &[u64], direction: Direction, limit: Limit) -> (Vec<(u64, usize)>, u64) {
        let mut first = First::new(direction, limit).expect("it is not too many");
        values.iter().enumerate().for_each(|(at, value)| first.add(*value, (*value, at)).expect("they are few"));
        let passed_over = first.passed_over();
        (first.in_order().collect(), passed_over)
    }

    proptest! {
        #[test]
        fn what_is_kept_is_the_beginning_of_all_in_order(values in prop::collection::vec(0u64..10, 0..50), most in 0u64..60) {
            let mut all: Vec<_> = values.iter().enumerate().map(|(at, value)| (*value, at)).collect();
            all.sort_by_key(|(value, _)| *value);
            let expected: Vec<_> = all.iter().copied().take(most as usize).collect();
            let left = all.len() as u64 - expected.len() as u64;
            prop_assert_eq!(first(&values, Direction::Ascending, Limit::Most(most)), (expected, left));
            all.sort_by_key(|(value, at)| (u64::MAX - value, *at));
            prop_assert_eq!(first(&values, Direction::Descending, Limit::All), (all, 0));
        }
    }

    #[test]
    fn more_than_memory_has_room_for_is_refused_unless_few_are_wanted() {
        let add_all = |limit| {
            let mut first = First::new(Direction::Descending, limit)?;
            (0..=First::<u64>::MOST).try_for_each(|value| first.add(value, value))?;
            Ok(first.in_order().collect::<Vec<_>>())
        };
        assert_eq!(add_all(Limit::All), Err(TooMany));
        assert_eq!(add_all(Limit::Most(First::<u64>::MOST + 1)), Err(TooMany));
        assert_eq!(add_all(Limit::Most(2)), Ok(vec![First::<u64>::MOST, First::<u64>::MOST - 1]));
    }
}
