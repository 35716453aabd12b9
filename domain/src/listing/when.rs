//! A moment as people write it: a date, a time, or how long ago.

use crate::timestamp::{Timestamp, rfc3339};
use std::str::FromStr;

const SECOND_MS: u64 = 1000;
const MINUTE_MS: u64 = 60 * SECOND_MS;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;
const WEEK_MS: u64 = 7 * DAY_MS;

/// Words for units of time. Months and years have no one length.
const UNITS: [(&[&str], u64); 5] = [
    (&["s", "sec", "secs", "second", "seconds"], SECOND_MS),
    (&["m", "min", "mins", "minute", "minutes"], MINUTE_MS),
    (&["h", "hr", "hrs", "hour", "hours"], HOUR_MS),
    (&["d", "day", "days"], DAY_MS),
    (&["w", "week", "weeks"], WEEK_MS),
];

/// A span of time: as long as what is not written of it, so a date is all of its day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// So many milliseconds ago.
    Ago(u64),
    /// The day so many days before today, in UTC.
    DaysAgo(u64),
    /// From one moment to another, both included.
    Span(Timestamp, Timestamp),
}

/// A text names no moment.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{found}` is no time: expected how long ago (2h, 3d, 1h30m), a date (2026-11-29), a time in UTC \
     (2026-11-29T16:12:25Z), today or yesterday"
)]
pub struct ParseWhenError {
    found: String,
}

impl When {
    /// Its first moment.
    pub fn first(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Ago(ms) => Timestamp::nearest(now.unix_ms().saturating_sub(ms)),
            Self::DaysAgo(days) => {
                let midnight = now.unix_ms() - now.unix_ms() % DAY_MS;
                Timestamp::nearest(midnight.saturating_sub(days.saturating_mul(DAY_MS)))
            }
            Self::Span(first, _) => first,
        }
    }

    /// Its last moment.
    pub fn last(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Ago(_) => self.first(now),
            Self::DaysAgo(_) => Timestamp::nearest(self.first(now).unix_ms() + DAY_MS - 1),
            Self::Span(_, last) => last,
        }
    }
}

impl FromStr for When {
    type Err = ParseWhenError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = match text {
            "now" => Some(Self::Ago(0)),
            "today" => Some(Self::DaysAgo(0)),
            "yesterday" => Some(Self::DaysAgo(1)),
            _ => match text.strip_prefix('@') {
                Some(seconds) => unix_second(seconds),
                None => ago(text).map(Self::Ago).or_else(|| written(text)),
            },
        };
        parsed.ok_or_else(|| ParseWhenError { found: text.to_owned() })
    }
}

fn span(first_ms: u64, length_ms: u64) -> Option<When> {
    let first = Timestamp::from_unix_ms(first_ms)?;
    Some(When::Span(first, Timestamp::nearest(first_ms + length_ms - 1)))
}

fn unix_second(digits: &str) -> Option<When> {
    let seconds: u64 = number(digits)?;
    span(seconds.checked_mul(SECOND_MS)?, SECOND_MS)
}

fn number(digits: &str) -> Option<u64> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// Milliseconds of `2h`, `-2h`, `1h30m`, `2 hours ago`.
fn ago(text: &str) -> Option<u64> {
    let text = text.strip_suffix(" ago").unwrap_or(text);
    let mut rest = text.strip_prefix('-').unwrap_or(text).trim();
    let mut total: u64 = 0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let unit_at = rest.find(|c: char| !c.is_ascii_digit())?;
        let (count, behind) = (number(&rest[..unit_at])?, rest[unit_at..].trim_start());
        let end = behind.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(behind.len());
        let (_, unit_ms) = UNITS.iter().find(|(words, _)| words.contains(&&behind[..end]))?;
        total = total.checked_add(count.checked_mul(*unit_ms)?)?;
        rest = behind[end..].trim_start();
    }
    Some(total)
}

/// A date, with a time or without one, in UTC unless a zone is written.
fn written(text: &str) -> Option<When> {
    let date = text.get(..10)?;
    if text.len() == 10 {
        return span(rfc3339::parse(&format!("{date}T00:00:00Z"))?.unix_ms(), DAY_MS);
    }
    let rest = text.get(10..)?.strip_prefix(['T', 't', ' '])?;
    let zone_at = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
    let (time, zone) = rest.split_at(zone_at);
    let zone = if zone.is_empty() { "Z" } else { zone };
    let (time, length_ms) = match (time.len(), time.contains('.')) {
        (5, false) => (format!("{time}:00"), MINUTE_MS),
        (_, false) => (time.to_owned(), SECOND_MS),
        (_, true) => (time.to_owned(), 1),
    };
    span(rfc3339::parse(&format!("{date}T{time}{zone}"))?.unix_ms(), length_ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn whatever_is_typed_is_a_span_or_refused(text in "[0-9smhdw@TZ:. +ago-]{0,24}|\\PC{0,12}", now in any::<u64>()) {
            if let Ok(when) = text.parse::<When>() {
                let now = Timestamp::nearest(now);
                prop_assert!(when.first(now) <= when.last(now));
            }
        }
    }

    /// 2026-11-29T16:12:25.500Z.
    const NOW_MS: u64 = 1_795_968_745_500;

    fn shown(text: &str) -> Option<(String, String)> {
        let now = Timestamp::nearest(NOW_MS);
        let when: When = text.parse().ok()?;
        Some((when.first(now).to_string(), when.last(now).to_string()))
    }

    #[test]
    fn what_is_not_written_of_a_time_is_all_of_it() {
        assert_eq!(Timestamp::nearest(NOW_MS).to_string(), "2026-11-29T16:12:25.500Z");
        for (text, first, last) in [
            ("2026-11-29", "2026-11-29T00:00:00.000Z", "2026-11-29T23:59:59.999Z"),
            ("2026-11-29T16:12", "2026-11-29T16:12:00.000Z", "2026-11-29T16:12:59.999Z"),
            ("2026-11-29 16:12:25", "2026-11-29T16:12:25.000Z", "2026-11-29T16:12:25.999Z"),
            ("2026-11-29T16:12:25.123Z", "2026-11-29T16:12:25.123Z", "2026-11-29T16:12:25.123Z"),
            ("2026-11-29T16:12+02:00", "2026-11-29T14:12:00.000Z", "2026-11-29T14:12:59.999Z"),
            ("@1795968745", "2026-11-29T16:12:25.000Z", "2026-11-29T16:12:25.999Z"),
            ("today", "2026-11-29T00:00:00.000Z", "2026-11-29T23:59:59.999Z"),
            ("yesterday", "2026-11-28T00:00:00.000Z", "2026-11-28T23:59:59.999Z"),
        ] {
            assert_eq!(shown(text), Some((first.to_owned(), last.to_owned())), "{text}");
        }
    }

    #[test]
    fn how_long_ago_is_told_in_many_ways() {
        for (text, expected) in [
            ("now", "2026-11-29T16:12:25.500Z"),
            ("25s", "2026-11-29T16:12:00.500Z"),
            ("2h", "2026-11-29T14:12:25.500Z"),
            ("-2h", "2026-11-29T14:12:25.500Z"),
            ("2 hours ago", "2026-11-29T14:12:25.500Z"),
            ("1h30m", "2026-11-29T14:42:25.500Z"),
            ("3d", "2026-11-26T16:12:25.500Z"),
            ("2 weeks", "2026-11-15T16:12:25.500Z"),
            ("99999w", "2000-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(shown(text), Some((expected.to_owned(), expected.to_owned())), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "2",
            "h",
            "2x",
            "2 months ago",
            "ago",
            "-",
            "2h-",
            "2026-11",
            "2026-13-01",
            "2026-11-29T",
            "2026-11-29T16",
            "2026-11-29T16:12:25X",
            "@",
            "@x",
            "1999-12-31",
            "99999999999999999999s",
            "tomorrow",
            "２h",
            "2026-11-2９",
        ] {
            assert_eq!(text.parse::<When>(), Err(ParseWhenError { found: text.to_owned() }), "{text}");
        }
    }
}
