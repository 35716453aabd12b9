//! The variables a workload gets.

use crate::view::{HOME, PROGRAMS, etc};
use isobox_domain::policy::{DEFAULT_PATH, PathMode};
use isobox_domain::variables::PASSED_ON;
use isobox_ports::LaunchRequest;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// The environment for `request`, as `NAME=value`: PATH, with `programs` first, the variables passed on, and `own`, those of
/// the backend.
pub(crate) fn environment(request: &LaunchRequest<'_>, programs: &[&Path], own: &[(&str, Vec<u8>)]) -> Vec<Vec<u8>> {
    let path = match (request.policy.asked.path_mode, request.caller_path) {
        (PathMode::Inherited, Some(path)) => path,
        (PathMode::Inherited, None) | (PathMode::Default, _) => DEFAULT_PATH.as_bytes(),
    };
    let first = programs.iter().map(|directory| directory.as_os_str().as_bytes());
    let path = first.chain([path]).collect::<Vec<_>>().join(&b':');
    let exposed = &request.exposed.environment;
    let is_exposed = |name: &str| exposed.iter().any(|(known, _)| known == name);
    let mut environment = vec![variable("PATH", &path)];
    let passed_on = PASSED_ON.iter().filter(|name| !is_exposed(name));
    environment.extend(passed_on.filter_map(|name| Some(variable(name, &value(name)?))));
    environment.extend(own.iter().map(|(name, value)| variable(name, value)));
    environment.extend(exposed.iter().map(|(name, value)| variable(name, value)));
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
    let programs = (!request.exposed.programs.is_empty()).then(|| Path::new(PROGRAMS));
    environment(request, programs.as_slice(), &own)
}

/// The value of a variable of isobox's own environment.
pub(crate) fn value(name: &str) -> Option<Vec<u8>> {
    std::env::var_os(name).map(OsString::into_vec)
}

fn variable(name: &str, value: &[u8]) -> Vec<u8> {
    [name.as_bytes(), b"=", value].concat()
}
