//! What was perhaps meant by an id or a word that names nothing.

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
    let digits = typed.strip_prefix("task-").unwrap_or(typed);
    if !(FEWEST_DIGITS..=20).contains(&digits.len()) {
        return None;
    }
    let known = records.list().ok()?.filter_map(Result::ok).take(LOOKED_AT).map(|entry| entry.task);
    let measured = known.map(|task| (distance(digits, &task.to_hex()), task));
    let near = measured.filter(|(distance, _)| *distance <= MOST_WRONG.min(digits.len() / 4));
    near.min_by_key(|(distance, _)| *distance).map(|(_, task)| task)
}

/// How many characters must be changed, added or removed to make `typed` a beginning of `whole`.
fn distance(typed: &str, whole: &str) -> usize {
    let beginnings = (0..=whole.len()).filter_map(|length| whole.get(..length));
    beginnings.map(|beginning| strsim::levenshtein(typed, beginning)).min().unwrap_or_default()
}

/// The word of `known` that is nearest to `typed`, if one is near: two letters may differ, in a long word a third of them.
pub(crate) fn nearest_word<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let measured = known.map(|word| (strsim::osa_distance(typed, word), word));
    let near = measured.filter(|(distance, word)| *distance <= (word.len() / 3).max(2) && *distance < word.len());
    near.min_by_key(|(distance, _)| *distance).map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_is_near_and_another_one_is_not() {
        for (typed, expected) in [("0123", 0), ("0124", 1), ("1230", 2), ("01123", 1), ("0213", 2), ("ffff", 4)] {
            assert_eq!(distance(typed, "0123456789abcdef"), expected, "{typed}");
        }
    }
}
