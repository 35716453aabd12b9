//! Where a symbolic link leads, judged from its text alone.

use super::{Finding, RiskCategory, RiskLevel};
use crate::escape::Escaped;
use crate::repo_path::RepoPath;

/// What is to be said about a link: where it leads, and that it is worse where that is outside of the repository or a Git
/// directory.
///
/// Judged from the text: other links on the way are not known here, and what the target names may not exist.
pub(super) fn finding(path: &RepoPath, target: Option<&[u8]>) -> Finding {
    let (level, note) = match target {
        None => (RiskCategory::Symlink.level(), "its target is not known".to_owned()),
        Some(target) => match danger(path, target) {
            Some(danger) => (RiskLevel::High, format!("to {}, {danger}", Escaped(target))),
            None => (RiskLevel::Low, format!("to {}", Escaped(target))),
        },
    };
    Finding { level, ..Finding::noted(RiskCategory::Symlink, note) }
}

fn danger(path: &RepoPath, target: &[u8]) -> Option<&'static str> {
    if target.starts_with(b"/") {
        Some("an absolute path")
    } else if leaves_repository(path, target) {
        Some("outside of the repository")
    } else if enters_git_directory(target) {
        Some("inside a Git directory")
    } else {
        None
    }
}

fn leaves_repository(path: &RepoPath, target: &[u8]) -> bool {
    let mut depth = path.components().count() - 1;
    for component in target.split(|&byte| byte == b'/') {
        match component {
            b"" | b"." => {}
            b".." => match depth.checked_sub(1) {
                Some(up) => depth = up,
                None => return true,
            },
            _ => depth += 1,
        }
    }
    false
}

fn enters_git_directory(target: &[u8]) -> bool {
    target.split(|&byte| byte == b'/').any(|component| component.eq_ignore_ascii_case(b".git"))
}
