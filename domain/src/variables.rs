//! The variables of a workload.

/// Variables of isobox's own environment that are passed on, if set: how to talk to the person, and nothing that names
/// a file, a socket or a secret.
pub const PASSED_ON: [&str; 10] =
    ["TERM", "COLORTERM", "NO_COLOR", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LC_COLLATE", "TZ"];
