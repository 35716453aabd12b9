//! The Task that was perhaps meant by an id which names none.

use isobox_domain::task_id::TaskId;
use isobox_ports::RecordLog;

/// How many of the newest records are looked at.
const LOOKED_AT: usize = 1000;
/// Fewer digits than this are near to too much.
const FEWEST_DIGITS: usize = 4;
/// Most digits that may be wrong, missing or too many.
const MOST_WRONG: usize = 2;

/// The newest Task whose id begins most nearly as `typed`; `None` if none comes near.
pub(super) fn nearest(records: &dyn RecordLog, typed: &str) -> Option<TaskId> {
    let digits = typed.strip_prefix("task-").unwrap_or(typed).as_bytes();
    if !(FEWEST_DIGITS..=20).contains(&digits.len()) {
        return None;
    }
    let known = records.list().ok()?.filter_map(Result::ok).take(LOOKED_AT).map(|entry| entry.task);
    let measured = known.map(|task| (distance(digits, task.to_hex().as_bytes()), task));
    let near = measured.filter(|(distance, _)| *distance <= MOST_WRONG.min(digits.len() / 4));
    near.min_by_key(|(distance, _)| *distance).map(|(_, task)| task)
}

/// How many bytes must be changed, added or removed to make `typed` a beginning of `whole`.
fn distance(typed: &[u8], whole: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=whole.len()).collect();
    for (index, byte) in typed.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (place, other) in whole.iter().enumerate() {
            let replaced = diagonal + usize::from(byte != other);
            diagonal = row[place + 1];
            row[place + 1] = replaced.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row.into_iter().min().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_is_near_and_another_one_is_not() {
        for (typed, expected) in [("0123", 0), ("0124", 1), ("1230", 2), ("01123", 1), ("0213", 2), ("ffff", 4)] {
            assert_eq!(distance(typed.as_bytes(), b"0123456789abcdef"), expected, "{typed}");
        }
    }
}
