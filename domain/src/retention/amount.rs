//! Periods and sizes as people type them.

/// What was typed is no amount.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is a whole number and a unit: {0}")]
pub struct AmountError(&'static str);

const SECOND: u64 = 1000;
const DAY: u64 = 24 * 60 * 60 * SECOND;
const PERIODS: [(&str, u64); 6] =
    [("w", 7 * DAY), ("d", DAY), ("h", 60 * 60 * SECOND), ("m", 60 * SECOND), ("s", SECOND), ("y", 365 * DAY)];
const SIZES: [(&str, u64); 8] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("K", 1 << 10),
    ("M", 1 << 20),
    ("G", 1 << 30),
    ("T", 1 << 40),
];

/// A period such as `30d`, in milliseconds.
pub fn parse_period_ms(typed: &str) -> Result<u64, AmountError> {
    parse(typed, &PERIODS).ok_or(AmountError("s, m, h, d, w or y, such as 12h or 30d"))
}

/// A size such as `10GiB`, in bytes.
pub fn parse_bytes(typed: &str) -> Result<u64, AmountError> {
    parse(typed, &SIZES).ok_or(AmountError("KiB, MiB, GiB or TiB, such as 500MiB or 10GiB"))
}

fn parse(typed: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = typed.find(|letter: char| !letter.is_ascii_digit())?;
    let (number, unit) = typed.split_at(digits);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

/// A period in the largest unit that it is a whole number of.
pub(super) fn period(ms: u64) -> String {
    let fits = PERIODS.iter().filter(|(name, factor)| *name != "y" && ms.is_multiple_of(*factor) && ms >= *factor);
    let largest = fits.max_by_key(|(_, factor)| *factor);
    largest.map_or_else(|| format!("{ms} ms"), |(name, factor)| format!("{}{name}", ms / factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_numbers_with_a_unit_and_nothing_else() {
        assert_eq!(parse_period_ms("30d"), Ok(30 * DAY));
        assert_eq!(parse_period_ms("2w"), Ok(14 * DAY));
        assert_eq!(parse_bytes("10GiB"), Ok(10 << 30));
        assert_eq!(parse_bytes("500 M"), Ok(500 << 20));
        for typed in ["", "30", "d", "-1d", "1.5h", "30days", "99999999999999999999d", "18446744073709551615w"] {
            assert!(parse_period_ms(typed).is_err(), "{typed}");
        }
        for typed in ["", "10", "10B", "GiB", "10 GB", "99999999999TiB"] {
            assert!(parse_bytes(typed).is_err(), "{typed}");
        }
        assert_eq!(
            (period(30 * DAY).as_str(), period(90_000).as_str(), period(7 * DAY).as_str()),
            ("30d", "90s", "1w")
        );
    }
}
