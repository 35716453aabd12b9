//! Where the time of an attempt went, for people.

use isobox_domain::record::TaskRecord;
use isobox_domain::timings::Timings;

/// What a record says about it; nothing where it was not asked for.
pub(crate) fn of(record: &TaskRecord) -> Option<Timings> {
    let found = record.extensions.iter().find(|(name, _)| name == Timings::EXTENSION);
    found.and_then(|(_, value)| Timings::parse(value))
}

/// A table in ms. What is in no phase, of `total_us` in all, is `other`.
pub(crate) fn table(timings: &Timings, total_us: u64) -> String {
    let other_us = total_us.saturating_sub(timings.sum_us());
    let laps = timings.laps().iter().map(|(phase, took_us)| (phase.name(), *took_us));
    let all = laps.chain([("other", other_us), ("total", total_us)]);
    let lines: Vec<String> = all.map(|(name, took_us)| format!("  {name:<10}{:>10} ms", ms(took_us))).collect();
    format!("where the time went:\n{}", lines.join("\n"))
}

/// One line, without what a record does not know.
pub(crate) fn line(timings: &Timings) -> String {
    let laps = timings.laps().iter().map(|(phase, took_us)| format!("{} {} ms", phase.name(), ms(*took_us)));
    laps.collect::<Vec<_>>().join(", ")
}

fn ms(us: u64) -> String {
    format!("{}.{}", us / 1000, us % 1000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobox_domain::timings::Phase;

    #[test]
    fn a_table_ends_with_what_is_in_no_phase_and_the_whole() {
        let mut timings = Timings::default();
        timings.add(Phase::Workload, 1_234_567);
        timings.add(Phase::Capture, 99);
        let expected = "where the time went:\n  workload      1234.5 ms\n  capture          0.0 ms\n  other           15.3 ms\n  \
                        total         1250.0 ms";
        assert_eq!(table(&timings, 1_250_000), expected);
        assert_eq!(line(&timings), "workload 1234.5 ms, capture 0.0 ms");
    }
}
