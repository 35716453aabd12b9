//! Moments as RFC 3339 writes them.

use crate::timestamp::Timestamp;

/// The moment that `text` names, such as `2026-01-01T00:00:37.123456789Z` or `…+02:00`; `None` if it is no moment between
/// the years 2000 and 2199. What is finer than a millisecond is cut off.
pub(crate) fn parse(text: &str) -> Option<Timestamp> {
    let (date, rest) = (text.get(..10)?, text.get(10..)?);
    let rest = rest.strip_prefix(['T', 't'])?;
    let (time, rest) = (rest.get(..8)?, rest.get(8..)?);
    let (fraction_ms, zone) = fraction(rest)?;
    let (year, month, day) = three(date, '-', (4, 2, 2))?;
    let (hour, minute, second) = three(time, ':', (2, 2, 2))?;
    // A leap second is the last second of its minute.
    let is_in_range = (2000..2200).contains(&year) && hour < 24 && minute < 60 && second <= 60;
    if !is_in_range || day == 0 || day > days_in(year, month)? {
        return None;
    }
    let seconds = days_before(year, month, day)? * 86_400 + hour * 3600 + minute * 60 + second.min(59);
    let ms = i64::try_from(seconds * 1000 + fraction_ms).ok()? - offset_ms(zone)?;
    Timestamp::from_unix_ms(u64::try_from(ms).ok()?)
}

fn number(digits: &str, length: usize) -> Option<u64> {
    let is_number = digits.len() == length && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok())?
}

fn three(text: &str, separator: char, lengths: (usize, usize, usize)) -> Option<(u64, u64, u64)> {
    let mut parts = text.split(separator);
    let (first, second, third) = (parts.next()?, parts.next()?, parts.next()?);
    let all = (number(first, lengths.0)?, number(second, lengths.1)?, number(third, lengths.2)?);
    parts.next().is_none().then_some(all)
}

/// Milliseconds of a fraction of a second, and what follows it.
fn fraction(text: &str) -> Option<(u64, &str)> {
    let Some(digits_on) = text.strip_prefix('.') else { return Some((0, text)) };
    let end = digits_on.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits_on.len());
    let digits: String = digits_on[..end].chars().chain("000".chars()).take(3).collect();
    (end > 0).then_some((digits.parse().ok()?, &digits_on[end..]))
}

fn offset_ms(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    let sign = match zone.get(..1)? {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    let (hours, minutes) = (number(hours, 2)?, number(minutes, 2)?);
    let ms = i64::try_from((hours * 60 + minutes) * 60_000).ok()?;
    (hours < 24 && minutes < 60).then_some(sign * ms)
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in(year: u64, month: u64) -> Option<u64> {
    match month {
        2 => Some(if is_leap(year) { 29 } else { 28 }),
        4 | 6 | 9 | 11 => Some(30),
        1..=12 => Some(31),
        _ => None,
    }
}

/// Days from 1970-01-01 to a date of this calendar.
fn days_before(year: u64, month: u64, day: u64) -> Option<u64> {
    let years = (1970..year).map(|year| if is_leap(year) { 366 } else { 365 }).sum::<u64>();
    let months = (1..month).map(|month| days_in(year, month)).sum::<Option<u64>>()?;
    Some(years + months + day - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_every_zone_are_read() {
        for (written, meant) in [
            ("2026-01-01T00:00:37.123456789Z", "2026-01-01T00:00:37.123Z"),
            ("2024-02-29T23:59:59Z", "2024-02-29T23:59:59.000Z"),
            ("2026-03-01T01:30:00.5+02:00", "2026-02-28T23:30:00.500Z"),
            ("2000-01-01T00:00:00-12:30", "2000-01-01T12:30:00.000Z"),
        ] {
            assert_eq!(parse(written).map(|moment| moment.to_string()).as_deref(), Some(meant), "{written}");
        }
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in [
            "",
            "2026-01-01",
            "2026-01-01T00:00:00",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "1999-12-31T23:59:59Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00Zx",
            "+026-01-01T00:00:00Z",
            "2026-01-01T00:00:00+0200",
            "２０２６-01-01T00:00:00Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
