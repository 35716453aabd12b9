//! Paths of a repository as they are typed.

use crate::failure::{Failure, FailureKind};
use isobox_domain::escape::Escaped;
use isobox_domain::repo_path::RepoPath;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

/// Paths as the report prints them, from the root of the repository. A directory may be typed with its slash.
pub(super) fn parse(typed: &[OsString]) -> Result<BTreeSet<RepoPath>, Failure> {
    let parse = |typed: &OsString| {
        let bytes = typed.as_bytes();
        let bytes = bytes.strip_prefix(b"./").unwrap_or(bytes);
        RepoPath::parse(bytes.strip_suffix(b"/").unwrap_or(bytes)).map_err(|why| {
            Failure::new(FailureKind::Usage, format!("`{}` is no path in a repository", Escaped(typed.as_bytes())))
                .because(why)
                .with_hint("name paths as the report prints them, from the root of the repository")
        })
    };
    typed.iter().map(parse).collect()
}
