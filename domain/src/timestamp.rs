//! Moments, as isobox records them.

pub(crate) mod rfc3339;

use std::fmt;

/// A moment in UTC, in milliseconds since 1970, between the years 2000 and 2200.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(u64);

/// 2000-01-01T00:00:00Z in milliseconds since 1970.
const EARLIEST_MS: u64 = 946_684_800_000;
/// 2200-01-01T00:00:00Z in milliseconds since 1970.
const END_MS: u64 = 7_258_118_400_000;

impl Timestamp {
    /// The moment `ms` milliseconds after 1970; `None` outside the years 2000 to 2199.
    pub fn from_unix_ms(ms: u64) -> Option<Self> {
        (EARLIEST_MS..END_MS).contains(&ms).then_some(Self(ms))
    }

    /// The moment `ms` milliseconds after 1970, or the nearest one within the years 2000 to 2199.
    pub fn nearest(ms: u64) -> Self {
        Self(ms.clamp(EARLIEST_MS, END_MS - 1))
    }

    /// Milliseconds since 1970.
    pub const fn unix_ms(self) -> u64 {
        self.0
    }
}

impl Timestamp {
    /// As a mail tells it, in UTC: `Thu, 29 Feb 2024 23:59:59 +0000`. RFC 5322, section 3.3.
    pub fn in_mail(self) -> String {
        const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
        const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let (days, s) = (self.0 / 86_400_000, self.0 / 1000 % 86_400);
        let (year, month, day) = civil_from_days(days);
        let (weekday, month) = (WEEKDAYS[(days % 7) as usize], MONTHS[(month as usize + 11) % 12]);
        format!("{weekday}, {day} {month} {year} {:02}:{:02}:{:02} +0000", s / 3600, s / 60 % 60, s % 60)
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC with milliseconds: `2026-11-29T16:12:25.000Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, ms) = (self.0 / 86_400_000, self.0 % 86_400_000);
        let (year, month, day) = civil_from_days(days);
        let (h, m, s, ms) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60, ms % 1000);
        write!(f, "{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}.{ms:03}Z")
    }
}

// Counts in years that begin in March, so that the leap day is the last of its year and months follow 153 days per five.
fn civil_from_days(days_since_1970: u64) -> (u64, u64, u64) {
    let days = days_since_1970 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_print_as_utc() {
        let shown = |ms| Timestamp::from_unix_ms(ms).map(|moment| moment.to_string());
        assert_eq!(shown(EARLIEST_MS).as_deref(), Some("2000-01-01T00:00:00.000Z"));
        assert_eq!(shown(1_709_251_199_999).as_deref(), Some("2024-02-29T23:59:59.999Z"));
        assert_eq!(shown(END_MS - 1).as_deref(), Some("2199-12-31T23:59:59.999Z"));
        assert_eq!(shown(END_MS), None);
    }

    #[test]
    fn moments_are_told_in_a_mail_with_their_weekday() {
        let told = |ms| Timestamp::nearest(ms).in_mail();
        assert_eq!(told(EARLIEST_MS), "Sat, 1 Jan 2000 00:00:00 +0000");
        assert_eq!(told(1_709_251_199_999), "Thu, 29 Feb 2024 23:59:59 +0000");
    }

    #[test]
    fn a_clock_that_is_far_off_reads_as_the_nearest_moment() {
        assert_eq!(Timestamp::nearest(0).to_string(), "2000-01-01T00:00:00.000Z");
        assert_eq!(Timestamp::nearest(u64::MAX).to_string(), "2199-12-31T23:59:59.999Z");
        assert_eq!(Timestamp::nearest(EARLIEST_MS + 5).unix_ms(), EARLIEST_MS + 5);
    }
}
