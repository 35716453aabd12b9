//! Where a symbolic link leads, judged from its text alone.

use crate::escape::Escaped;
use crate::repo_path::RepoPath;

/// One phrase about a link: where it leads and whether that is outside of the repository.
///
/// Judged from the text: other links on the way are not known here, and what the target names may not exist.
pub(super) fn describe(path: &RepoPath, target: Option<&[u8]>) -> String {
    let Some(target) = target else { return "its target is not known".into() };
    let shown = Escaped(target);
    if target.starts_with(b"/") {
        format!("to {shown}, an absolute path")
    } else if leaves_repository(path, target) {
        format!("to {shown}, outside of the repository")
    } else if enters_git_directory(target) {
        format!("to {shown}, inside a Git directory")
    } else {
        format!("to {shown}")
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
