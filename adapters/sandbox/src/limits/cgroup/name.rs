//! The names of the groups that isobox makes: such as nobody else gives, for those that nobody holds are ended.

use std::ffi::OsStr;

const PREFIX: &str = "isobox-task.";

/// No unit of systemd ends so: systemd.unit(5).
const SUFFIX: &str = ".sandbox";

/// The name of a Sandbox's group, at the `attempt`th time that one is made for it.
pub(super) fn of(sandbox: &str, attempt: u32) -> String {
    format!("{PREFIX}{sandbox}.{attempt}{SUFFIX}")
}

/// Whether a name was given by `of`.
pub(super) fn is_one(name: &OsStr) -> bool {
    let inner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX));
    inner.and_then(|inner| inner.rsplit_once('.')).is_some_and(|(sandbox, attempt)| {
        let is_of_a_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !sandbox.is_empty() && sandbox.bytes().all(is_of_a_name) && attempt.parse::<u32>().is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_names_are_known() {
        let is_known = |name: &str| is_one(OsStr::new(name));
        assert!(is_known(&of("task-01jqz8-attempt-01jqz9", 0)) && is_known(&of("killed", 17)));
        let others = [
            "isobox-nightly.service",
            "isobox-task.service",
            "isobox-task.a.0.sandbox.service",
            "isobox-task.a.0.scope",
            "isobox-task.a.sandbox",
            "isobox-task..0.sandbox",
            "isobox-task.a b.0.sandbox",
            "my-isobox-task.a.0.sandbox",
        ];
        for other in others {
            assert!(!is_known(other), "{other}");
        }
    }
}
