//! What every implementation of [`Clock`], [`Stopwatch`] and [`TaskIds`] keeps.

use crate::{Clock, Stopwatch, TaskIds};
use isobox_domain::timestamp::Timestamp;
use libtest_mimic::Trial;
use std::collections::HashSet;

/// The suite of clocks, as tests of `name`.
pub fn clock_cases<C: Clock + 'static>(name: &str, clock: fn() -> C) -> Vec<Trial> {
    let in_range = move || {
        let now = clock().now();
        assert_eq!(Timestamp::from_unix_ms(now.unix_ms()), Some(now));
        Ok(())
    };
    vec![Trial::test(format!("{name}::clock::now_lies_in_the_years_2000_to_2199"), in_range)]
}

/// The suite of stopwatches, as tests of `name`.
pub fn stopwatch_cases<S: Stopwatch + 'static>(name: &str, stopwatch: fn() -> S) -> Vec<Trial> {
    let only_on = move || {
        let stopwatch = stopwatch();
        let looks: Vec<u64> = (0..1000).map(|_| stopwatch.elapsed_us()).collect();
        assert!(looks.is_sorted(), "{looks:?}");
        Ok(())
    };
    vec![Trial::test(format!("{name}::stopwatch::a_later_look_never_reads_less"), only_on)]
}

/// The suite of names, as tests of `name`.
pub fn task_ids_cases<T: TaskIds + 'static>(name: &str, ids: fn() -> T) -> Vec<Trial> {
    let distinct_ids = move || {
        let ids = ids();
        let names: HashSet<_> = (0..1000).map(|_| ids.task_id()).collect();
        assert_eq!(names.len(), 1000);
        Ok(())
    };
    let distinct_salt = move || {
        let ids = ids();
        let salts: HashSet<_> = (0..1000).map(|_| ids.salt()).collect();
        assert_eq!(salts.len(), 1000);
        Ok(())
    };
    vec![
        Trial::test(format!("{name}::task_ids::no_two_names_are_the_same"), distinct_ids),
        Trial::test(format!("{name}::task_ids::no_two_salts_are_the_same"), distinct_salt),
    ]
}
