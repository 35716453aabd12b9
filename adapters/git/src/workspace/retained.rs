//! Removing a Workspace that was given to the user.

use super::layout::Layout;
use super::{disposal, failure};
use isobox_domain::escape::Escaped;
use isobox_ports::WorkspaceError;
use std::path::Path;

/// Removes the Workspace whose root is `root`; whether it was there.
///
/// The path comes from a record, which may be anybody's: what does not lie where isobox makes Workspaces, directly below
/// the absolute directory `workspaces_root`, is refused.
pub fn dispose_retained(workspaces_root: &Path, root: &Path) -> Result<bool, WorkspaceError> {
    let layout = Layout::of_root(workspaces_root, root).ok_or_else(|| WorkspaceError::Refused {
        reason: format!("{} is no workspace below {}", Escaped::path(root), Escaped::path(workspaces_root)),
        hint: Some("if you moved it, remove it yourself".to_owned()),
    })?;
    let is_there = std::fs::symlink_metadata(layout.container()).is_ok();
    disposal::remove(layout.container())
        .map_err(|e| failure(&format!("remove the workspace {}", layout.shown()), e))?;
    Ok(is_there)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn nothing_but_a_workspace_below_the_root_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let workspaces_root = directory.path().join("workspaces");
        let place = workspaces_root.join(format!("ws-{}", "0".repeat(32)));
        fs::create_dir_all(place.join("root")).unwrap();
        let elsewhere = directory.path().join(format!("ws-{}", "1".repeat(32)));
        fs::create_dir_all(elsewhere.join("root")).unwrap();
        let refused = [
            elsewhere.join("root"),
            place.clone(),
            place.join("root/src"),
            workspaces_root.join(format!("../ws-{}/root", "1".repeat(32))),
            "/".into(),
        ];
        for path in refused {
            assert!(dispose_retained(&workspaces_root, &path).is_err(), "{}", path.display());
        }
        assert!(elsewhere.join("root").exists() && place.join("root").exists());
        assert!(dispose_retained(&workspaces_root, &place.join("root")).unwrap());
        assert!(!place.exists());
        assert!(!dispose_retained(&workspaces_root, &place.join("root")).unwrap());
    }
}
