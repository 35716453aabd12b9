//! Giving a Workspace to the user, and removing one that was.

use super::layout::Layout;
use super::{disposal, failure, merge};
use crate::capture::marks::Marks;
use crate::capture::tree::open_root;
use crate::fault::step;
use crate::pristine::Held;
use isobox_domain::escape::Escaped;
use isobox_ports::{OverlayKind, WorkspaceError};
use std::fs::DirBuilder;
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;

/// Names of the plain directory while it is made: what shows through from below, and with what was written.
const COPIED: &str = "copied";
const MERGED: &str = "merged";

/// Whether what was written to the overlay at `layout` may be in its plain directory by now, as a whole or in part.
pub(super) fn is_begun(layout: &Layout) -> bool {
    layout.container().join(MERGED).exists() || layout.root().exists()
}

/// Makes the plain directory [`Layout::root`] of the overlay at `layout`, whose pristine copy `held` finds, and removes
/// what else is there. One that was interrupted goes on where it was, whether or not its copy can still be found.
pub(super) fn merge(
    layout: &Layout,
    kind: OverlayKind,
    held: impl FnOnce() -> Result<Arc<Held>, WorkspaceError>,
) -> Result<(), WorkspaceError> {
    let failed = |e: io::Error| failure(&format!("make a plain directory of the workspace {}", layout.shown()), e);
    let container = layout.container();
    let [upper, work, copied, merged] = ["upper", "work", COPIED, MERGED].map(|name| container.join(name));
    if !layout.root().exists() {
        if !upper.is_dir() {
            return Err(failed(io::Error::new(
                ErrorKind::NotFound,
                "what was written to it was in memory: it is there as long as its isobox-holder, or gone",
            )));
        }
        let place = open_root(container).map_err(failed)?;
        // What is moved into it once is nowhere else: only before that is it made from the start.
        if !merged.exists() {
            let held = held()?;
            let copy = || {
                let marks = Marks::readable(kind, &place)?;
                disposal::remove(&copied)?;
                step()?;
                DirBuilder::new().mode(0o755).create(&copied)?;
                merge::copy_lowers(&held.lowers(), &place, marks, COPIED)?;
                step()?;
                std::fs::rename(&copied, &merged)
            };
            copy().inspect_err(|_| disposal::remove(&copied).unwrap_or_default()).map_err(failed)?;
        }
        let finish = || {
            merge::move_upper(&place, MERGED)?;
            step()?;
            std::fs::rename(&merged, layout.root())
        };
        finish().map_err(failed)?;
    }
    disposal::remove(&upper).and_then(|()| disposal::remove(&work)).map_err(failed)
}

/// Removes the Workspace that is kept at `root`; whether it was there.
///
/// The path comes from a record, which may be anybody's: what does not lie where isobox makes Workspaces, directly below
/// the absolute directory `workspaces_root`, is refused.
pub fn dispose_retained(workspaces_root: &Path, root: &Path) -> Result<bool, WorkspaceError> {
    let layout = Layout::of_kept(workspaces_root, root).ok_or_else(|| WorkspaceError::Refused {
        reason: format!("{} is no workspace below {}", Escaped::path(root), Escaped::path(workspaces_root)),
        hint: Some("if you moved it, remove it yourself".to_owned()),
    })?;
    let is_there = std::fs::symlink_metadata(layout.container()).is_ok();
    disposal::remove(layout.container())
        .map_err(|e| failure(&format!("remove the workspace {}", layout.shown()), e))?;
    Ok(is_there)
}

#[cfg(test)]
mod kills;

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

    #[test]
    fn an_overlay_that_could_not_be_made_a_plain_directory_is_removed_by_its_place() {
        let directory = tempfile::tempdir().unwrap();
        let workspaces_root = directory.path().join("workspaces");
        let name = format!("ws-{}", "0".repeat(32));
        for beside in ["merged", "root"] {
            let place = workspaces_root.join(&name);
            fs::create_dir_all(place.join("upper")).unwrap();
            fs::create_dir_all(place.join(beside)).unwrap();
            for path in [place.join("upper"), directory.path().join(&name), workspaces_root.join(format!("../{name}"))]
            {
                assert!(dispose_retained(&workspaces_root, &path).is_err(), "{}", path.display());
            }
            assert!(dispose_retained(&workspaces_root, &place).unwrap());
            assert!(!place.exists());
            assert!(!dispose_retained(&workspaces_root, &place).unwrap());
        }
    }
}
