//! How many Tasks of one Task Store may run at the same time.

use std::fmt;
use std::num::NonZeroU32;

/// How many Task Attempts of one Task Store may run at the same time, whichever processes run them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskLimit {
    /// As many as the machine takes.
    #[default]
    Unlimited,
    /// At most this many.
    AtMost(NonZeroU32),
}

impl TaskLimit {
    /// The value of `tasks.max` for any number of Tasks.
    pub const UNLIMITED: &'static str = "unlimited";

    /// The limit that `text` says: a number from 1 to 4294967295, or `unlimited`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            Self::UNLIMITED => Some(Self::Unlimited),
            // A sign is no part of a number here.
            _ if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok().map(Self::AtMost),
            _ => None,
        }
    }

    /// Whether one more may run beside `running` others.
    pub fn has_room(self, running: u64) -> bool {
        match self {
            Self::Unlimited => true,
            Self::AtMost(most) => running < most.get().into(),
        }
    }

    /// Lowers this one to `ceiling`; whether it was higher.
    pub(super) fn lower(&mut self, ceiling: Option<Self>) -> bool {
        let is_higher = match (*self, ceiling) {
            (_, None | Some(Self::Unlimited)) => false,
            (Self::Unlimited, Some(Self::AtMost(_))) => true,
            (Self::AtMost(asked), Some(Self::AtMost(most))) => asked > most,
        };
        if let Some(ceiling) = ceiling.filter(|_| is_higher) {
            *self = ceiling;
        }
        is_higher
    }
}

impl fmt::Display for TaskLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unlimited => f.write_str(Self::UNLIMITED),
            Self::AtMost(most) => most.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(text: &str) -> TaskLimit {
        TaskLimit::parse(text).expect("a limit")
    }

    #[test]
    fn a_limit_is_read_as_it_is_shown_and_nothing_else_is_one() {
        for text in ["1", "4294967295", "unlimited"] {
            assert_eq!(limit(text).to_string(), text);
        }
        for text in ["", "0", "-1", "+1", "1.5", "4294967296", "Unlimited", "all"] {
            assert_eq!(TaskLimit::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_ceiling_lowers_what_is_higher_and_nothing_else() {
        for (asked, ceiling, lowered) in [
            ("unlimited", Some("2"), Some("2")),
            ("3", Some("2"), Some("2")),
            ("2", Some("2"), None),
            ("1", Some("2"), None),
            ("3", Some("unlimited"), None),
            ("unlimited", None, None),
        ] {
            let mut held = limit(asked);
            assert_eq!(held.lower(ceiling.map(limit)), lowered.is_some(), "{asked} under {ceiling:?}");
            assert_eq!(held, limit(lowered.unwrap_or(asked)), "{asked} under {ceiling:?}");
        }
    }
}
