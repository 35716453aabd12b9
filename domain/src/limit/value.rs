//! The values of limits, as people write them: numbers with units.

use super::Limit;
use std::fmt;

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Time.
    Milliseconds,
    /// Memory, files, output.
    Bytes,
    /// Processors.
    ThousandthsOfACpu,
    /// Whole things.
    Pieces,
}

const DURATIONS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];
const SIZES: [(&str, u64); 6] =
    [("PiB", 1 << 50), ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// Spellings that mean a unit, for what somebody may have meant.
const OTHER_UNITS: [(&str, &str); 24] = [
    ("p", "PiB"),
    ("pb", "PiB"),
    ("pib", "PiB"),
    ("t", "TiB"),
    ("tb", "TiB"),
    ("tib", "TiB"),
    ("g", "GiB"),
    ("gb", "GiB"),
    ("gib", "GiB"),
    ("m", "MiB"),
    ("mb", "MiB"),
    ("mib", "MiB"),
    ("k", "KiB"),
    ("kb", "KiB"),
    ("kib", "KiB"),
    ("min", "m"),
    ("mins", "m"),
    ("minutes", "m"),
    ("sec", "s"),
    ("secs", "s"),
    ("seconds", "s"),
    ("hours", "h"),
    ("hr", "h"),
    ("days", "d"),
];

impl Unit {
    /// The value as a policy file has it.
    pub fn shown(self, value: u64) -> String {
        match self {
            Self::Milliseconds => in_units(value, &DURATIONS),
            Self::Bytes => in_units(value, &SIZES),
            Self::ThousandthsOfACpu => {
                let text = format!("{}.{:03}", value / 1000, value % 1000);
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            }
            Self::Pieces => value.to_string(),
        }
    }

    /// What a value is called, with an example.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Milliseconds => "a duration such as `90s`, `30m` or `2h`",
            Self::Bytes => "a size such as `512MiB` or `4GiB`",
            Self::ThousandthsOfACpu => "a number of CPUs such as `2` or `0.5`",
            Self::Pieces => "a whole number",
        }
    }

    fn parse(self, text: &str) -> Option<u64> {
        match self {
            Self::Milliseconds => with_unit(text, &DURATIONS),
            Self::Bytes => with_unit(text, &SIZES),
            Self::ThousandthsOfACpu => thousandths(text),
            Self::Pieces => digits(text),
        }
    }

    const fn units(self) -> &'static [(&'static str, u64)] {
        match self {
            Self::Milliseconds => &DURATIONS,
            Self::Bytes => &SIZES,
            Self::ThousandthsOfACpu | Self::Pieces => &[],
        }
    }
}

/// In the largest unit that gives a whole number.
fn in_units(value: u64, units: &[(&str, u64)]) -> String {
    let whole = units.iter().find(|(_, size)| value >= *size && value.is_multiple_of(*size));
    whole.map_or_else(|| value.to_string(), |(name, size)| format!("{}{name}", value / size))
}

fn digits(text: &str) -> Option<u64> {
    // A sign is no part of a number here.
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

fn thousandths(text: &str) -> Option<u64> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
    if rest.is_empty() || rest.len() > 3 {
        return None;
    }
    digits(whole)?.checked_mul(1000)?.checked_add(digits(&format!("{rest:0<3}"))?)
}

/// One or more numbers, each with its unit: `1h30m`.
fn with_unit(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (mut rest, mut total) = (text, 0_u64);
    while !rest.is_empty() {
        let number_ends = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, after) = rest.split_at(number_ends);
        let unit_ends = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_ends);
        let size = units.iter().find(|(name, _)| *name == unit)?.1;
        total = total.checked_add(digits(number)?.checked_mul(size)?)?;
        rest = after;
    }
    (!text.is_empty()).then_some(total)
}

/// Why a text is no value of a limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", expectation(*limit))]
pub struct LimitError {
    limit: Limit,
    /// What was probably meant.
    pub meant: Option<String>,
}

fn expectation(limit: Limit) -> String {
    let (unit, (least, most)) = (limit.unit(), limit.range());
    format!("{}, from {} to {}, or `{}`", unit.in_words(), unit.shown(least), unit.shown(most), Limit::UNLIMITED)
}

impl LimitError {
    /// What a value has to be.
    pub fn expected(&self) -> String {
        self.to_string()
    }
}

impl Limit {
    /// The value that is no limit.
    pub const UNLIMITED: &'static str = "unlimited";

    /// The value that `text` says, in [`Limit::unit`]; `None` for no limit.
    pub fn parse_value(self, text: &str) -> Result<Option<u64>, LimitError> {
        let (least, most) = self.range();
        match self.unit().parse(text) {
            _ if text == Self::UNLIMITED => Ok(None),
            Some(value) if (least..=most).contains(&value) => Ok(Some(value)),
            Some(value) => Err(LimitError { limit: self, meant: self.meant_beyond(value) }),
            None => Err(LimitError { limit: self, meant: self.meant(text) }),
        }
    }

    fn meant_beyond(self, value: u64) -> Option<String> {
        // Whoever writes 0 may have meant no limit.
        (value == 0).then(|| Self::UNLIMITED.to_owned())
    }

    /// What somebody may have meant by a text that is no value.
    fn meant(self, text: &str) -> Option<String> {
        if ["none", "max", "infinity", "inf", "no", "-1", "~"].contains(&text.to_ascii_lowercase().as_str()) {
            return Some(Self::UNLIMITED.to_owned());
        }
        let text = text.trim().replace(['_', ' '], "");
        let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let candidates: Vec<&str> = match unit {
            // A plain number may be of any unit; the commonest is proposed.
            "" if self.unit() == Unit::Milliseconds => vec!["s"],
            "" if self.unit() == Unit::Bytes => vec!["MiB"],
            _ => {
                let unit = unit.to_lowercase();
                let known = self.unit().units().iter().map(|(name, _)| *name);
                let known = known.filter(|name| name.to_lowercase() == unit);
                known.chain(OTHER_UNITS.iter().filter(|(other, _)| *other == unit).map(|(_, name)| *name)).collect()
            }
        };
        let mut written = candidates.into_iter().map(|unit| format!("{number}{unit}"));
        let (least, most) = self.range();
        let fits = |text: &String| self.unit().parse(text).is_some_and(|value| (least..=most).contains(&value));
        written.find(fits)
    }

    /// A value as a policy file has it.
    pub fn shown(self, value: Option<u64>) -> String {
        value.map_or_else(|| Self::UNLIMITED.to_owned(), |value| self.unit().shown(value))
    }
}

/// The name.
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
