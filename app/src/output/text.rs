//! Small pieces of text for people.

use isobox_domain::change::ChangeSummary;
use isobox_domain::enforcement::Enforcement;
use isobox_domain::outcome::{Exit, Outcome};
use isobox_domain::promotion::Overridden;
use isobox_domain::record::{RecordedArgument, SandboxKind, ShownCommand, TaskRecord, shown_word};
use isobox_domain::task_id::AttemptName;
use isobox_domain::task_state::Standing;
use isobox_domain::timestamp::Timestamp;

/// A command as a person could type it; words that a shell would take apart are quoted, hostile bytes escaped.
pub(crate) fn command(arguments: &[RecordedArgument]) -> String {
    ShownCommand(arguments).to_string()
}

/// One word of a command line, as a person could type it.
pub(crate) fn word(bytes: &[u8]) -> String {
    shown_word(bytes)
}

/// A Task, and which attempt of it is meant where it has more than one.
pub(crate) fn attempt(record: &TaskRecord, standing: Standing) -> String {
    match (record.attempt, standing) {
        (1, Standing::Newest) => record.task.to_string(),
        (attempt, _) => AttemptName { task: record.task, attempt }.to_string(),
    }
}

/// How long ago `moment` was, in its largest unit: `5s`, `3m`, `2h`, `9d`.
pub(crate) fn age(moment: Timestamp, now: Timestamp) -> String {
    let seconds = now.unix_ms().saturating_sub(moment.unix_ms()) / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// How long something took: `120ms`, `5.2s`, `3m20s`, `2h05m`, `3d04h`.
pub(crate) fn duration(ms: u64) -> String {
    let (seconds, minutes, hours) = (ms / 1000, ms / 60_000, ms / 3_600_000);
    match seconds {
        0 => format!("{ms}ms"),
        1..60 => format!("{seconds}.{}s", ms % 1000 / 100),
        60..3600 => format!("{minutes}m{:02}s", seconds % 60),
        3600..86_400 => format!("{hours}h{:02}m", minutes % 60),
        _ => format!("{}d{:02}h", hours / 24, hours % 24),
    }
}

/// An amount of bytes in its largest unit: `512 B`, `1.5 KiB`, `20.0 GiB`.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    // Ten bits a unit; a tenth is cut off, not rounded, so that 1023.9 never reads as the next unit.
    let unit = ((bytes.ilog2() / 10) as usize).min(UNITS.len());
    let tenths = (u128::from(bytes) * 10) >> (10 * unit);
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit - 1])
}

/// A number and its noun: `1 file`, `2 files`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Why an attempt ended: `outcome=success`, `outcome=workload_command_exit exit_code=3`.
pub(crate) fn outcome(record: &TaskRecord) -> String {
    let mut name = record.outcome.name().to_owned();
    if let (Outcome::LimitExceeded, Some(exceeded)) = (record.outcome, record.exceeded.first()) {
        name.push_str(&format!(" limit={}", exceeded.limit));
    }
    match record.exit {
        Some(Exit::Code(0)) | None => format!("outcome={name}"),
        Some(exit @ Exit::Code(_)) => format!("outcome={name} exit_code={}", exit.passed_on()),
        Some(exit @ Exit::Signal(signal)) => {
            format!("outcome={name} exit_code={} signal={signal}", exit.passed_on())
        }
    }
}

/// How its command ended, as whoever decides about its result should know; `None` if it succeeded.
pub(crate) fn caveat(record: &TaskRecord) -> Option<String> {
    match record.exit {
        Some(Exit::Code(0)) | None => None,
        Some(Exit::Code(code)) => Some(format!("Its command ended with exit code {code}")),
        Some(Exit::Signal(signal)) => Some(format!("Its command died of signal {signal}")),
    }
}

/// The entries of a policy that a Promotion goes past.
pub(crate) fn overridden(overridden: &Overridden) -> Vec<&'static str> {
    let required = overridden.require.iter().map(|entry| entry.name());
    required.chain(overridden.block.iter().map(|entry| entry.name())).collect()
}

/// The totals of what an attempt changed: `+1 ~2 -0`, `patch` where a patch alone was imported, or `-` for nothing.
pub(crate) fn changes(record: &TaskRecord) -> String {
    match summary(record) {
        Some(summary) if summary.changed() > 0 => {
            format!("+{} ~{} -{}", summary.added, summary.modified, summary.deleted)
        }
        None if record.artifacts.patch.is_some() => "patch".to_owned(),
        _ => "-".to_owned(),
    }
}

/// The totals of the Change Set of `record`.
pub(crate) fn summary(record: &TaskRecord) -> Option<ChangeSummary> {
    record.artifacts.change_set.map(|change_set| change_set.summary)
}

/// Whether the result of `record` could be promoted, and has anything in it.
pub(crate) fn is_reviewable(record: &TaskRecord) -> bool {
    record.kind != SandboxKind::Verification
        && record.outcome.is_promotable()
        && summary(record).is_some_and(|summary| summary.changed() > 0)
}

/// Whether and how a control was enforced: `enforced (its mechanism)`.
pub(crate) fn enforcement(enforcement: &Enforcement) -> String {
    let word = enforcement.word();
    match enforcement {
        Enforcement::Enforced { mechanism } => format!("{word} ({mechanism})"),
        Enforcement::PartiallyEnforced { mechanism, reason } => format!("{word} ({mechanism}; {reason})"),
        Enforcement::NotEnforced { reason } => format!("{word} ({reason})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_bytes_are_told_in_their_largest_units() {
        let durations = [0, 999, 1999, 59_999, 61_000, 3_600_000, 90_060_000].map(duration);
        assert_eq!(durations, ["0ms", "999ms", "1.9s", "59.9s", "1m01s", "1h00m", "1d01h"]);
        let amounts = [0, 1023, 1024, 1536, (1 << 20) - 1, 20 << 30, u64::MAX].map(bytes);
        assert_eq!(amounts, ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "1023.9 KiB", "20.0 GiB", "15.9 EiB"]);
    }

    #[test]
    fn ages_are_told_in_their_largest_unit() {
        let at = |s: u64| Timestamp::nearest(1_800_000_000_000 + s * 1000);
        for (seconds, shown) in [(0, "0s"), (59, "59s"), (60, "1m"), (7199, "1h"), (86_400, "1d"), (864_000, "10d")] {
            assert_eq!(age(at(0), at(seconds)), shown);
        }
        assert_eq!(age(at(5), at(0)), "0s");
    }
}
