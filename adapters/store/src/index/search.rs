//! Searching sorted rows whose keys are hashes: where one stands is nearly known before any is read.

use std::io;
use std::ops::Range;

/// Of `count` rows in ascending order of hashes, how many are less than `hash`, if hashes are spread as evenly as they should be.
pub(super) fn portion(hash: &[u8], count: u64) -> u64 {
    let leading = hash.iter().take(8).fold(0, |all, byte| all << 8 | u128::from(*byte));
    // Less than `count`.
    ((leading * u128::from(count)) >> 64) as u64
}

/// The first row of some in ascending order that is not less, by a search that starts at a good guess: a page or two are read.
pub(super) fn lower_bound(
    rows: Range<u64>,
    guess: u64,
    mut is_less: impl FnMut(u64) -> io::Result<bool>,
) -> io::Result<u64> {
    let Range { start: mut low, end: mut high } = rows;
    let (mut at, mut step) = (guess, 8);
    if low < high && is_less(at)? {
        low = at + 1;
        while low < high {
            at = (at + step).min(high - 1);
            if !is_less(at)? {
                high = at;
                break;
            }
            (low, step) = (at + 1, step * 2);
        }
    } else if low < high {
        high = at;
        while low < high {
            at = at.saturating_sub(step).max(low);
            if is_less(at)? {
                low = at + 1;
                break;
            }
            (high, step) = (at, step * 2);
        }
    }
    while low < high {
        let middle = low.midpoint(high);
        if is_less(middle)? { low = middle + 1 } else { high = middle }
    }
    Ok(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a row stands by a search that begins at `guess`, and how many rows that looked at.
    fn searched(rows: &[u64], wanted: u64, guess: u64) -> (u64, u32) {
        let mut looks = 0;
        let found = lower_bound(0..rows.len() as u64, guess, |number| {
            looks += 1;
            Ok(rows[number as usize] < wanted)
        });
        (found.unwrap(), looks)
    }

    #[test]
    fn a_row_is_found_from_any_guess() {
        for length in 0..40u64 {
            let rows: Vec<u64> = (0..length).map(|n| n / 2 * 2).collect();
            for (wanted, guess) in
                (0..=length + 1).flat_map(|wanted| (0..length.max(1)).map(move |guess| (wanted, guess)))
            {
                let expected = rows.partition_point(|row| *row < wanted) as u64;
                assert_eq!(searched(&rows, wanted, guess).0, expected, "{wanted} of {length} from {guess}");
            }
        }
    }

    #[test]
    fn hashes_are_found_with_few_looks() {
        let mut rows: Vec<u64> = (0..100_000u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        rows.sort_unstable();
        let looks = rows.iter().map(|row| searched(&rows, *row, portion(&row.to_be_bytes(), 100_000)).1);
        assert!(looks.max() < Some(16));
    }
}
