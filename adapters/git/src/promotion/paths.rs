//! Parts of a path: the directories above it, and where their names end.

use isobox_domain::repo_path::RepoPath;

/// The directory of a path, empty at the root.
pub(super) fn parent_of(path: &[u8]) -> &[u8] {
    path.iter().rposition(|&byte| byte == b'/').map_or(b"", |slash| &path[..slash])
}

/// Where each component of a path ends; nothing for an empty one.
pub(super) fn component_ends(path: &[u8]) -> impl DoubleEndedIterator<Item = usize> {
    let end = (!path.is_empty()).then_some(path.len());
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at).chain(end)
}

/// The length of the first `components` components of a path; 0 for none.
pub(super) fn prefix_length(path: &RepoPath, components: u16) -> usize {
    let Some(last) = usize::from(components).checked_sub(1) else { return 0 };
    component_ends(path.as_bytes()).nth(last).unwrap_or(path.as_bytes().len())
}

/// The directory of a path, and its name there.
pub(super) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let above = parent_of(path);
    let name_at = if above.is_empty() { 0 } else { above.len() + 1 };
    (above, &path[name_at..])
}
