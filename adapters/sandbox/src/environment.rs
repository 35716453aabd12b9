//! The variables a workload gets.

use crate::view::{HOME, etc};
use isobox_domain::policy::{DEFAULT_PATH, PathMode};
use isobox_ports::LaunchRequest;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// Variables of isobox's own environment that are passed on, if set: how to talk to the person, and nothing that names
/// a file, a socket or a secret.
const PASSED_ON: [&str; 10] =
    ["TERM", "COLORTERM", "NO_COLOR", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LC_COLLATE", "TZ"];

/// The environment for `request`, as `NAME=value`: PATH, the variables passed on, and `own`, those of the backend.
pub(crate) fn environment(request: &LaunchRequest<'_>, own: &[(&str, Vec<u8>)]) -> Vec<Vec<u8>> {
    let path = match (request.policy.asked.path_mode, request.caller_path) {
        (PathMode::Inherited, Some(path)) => path,
        (PathMode::Inherited, None) | (PathMode::Default, _) => DEFAULT_PATH.as_bytes(),
    };
    let mut environment = vec![variable("PATH", path)];
    environment.extend(PASSED_ON.iter().filter_map(|name| Some(variable(name, &value(name)?))));
    environment.extend(own.iter().map(|(name, value)| variable(name, value)));
    environment
}

/// The environment of a workload that has a view of its own.
pub(crate) fn inside(request: &LaunchRequest<'_>) -> Vec<Vec<u8>> {
    let user = etc::user_name().as_bytes().to_vec();
    let own = [
        ("HOME", HOME.as_bytes().to_vec()),
        ("USER", user.clone()),
        ("LOGNAME", user),
        ("SHELL", b"/bin/sh".to_vec()),
        ("TMPDIR", b"/tmp".to_vec()),
    ];
    environment(request, &own)
}

/// The value of a variable of isobox's own environment.
pub(crate) fn value(name: &str) -> Option<Vec<u8>> {
    std::env::var_os(name).map(OsString::into_vec)
}

fn variable(name: &str, value: &[u8]) -> Vec<u8> {
    [name.as_bytes(), b"=", value].concat()
}
