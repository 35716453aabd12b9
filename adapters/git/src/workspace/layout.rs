//! Where a Workspace and what isobox keeps around it lie on disk, and the state that names it.
//!
//! ```text
//! <workspaces root>/ws-<32 hex digits>/   mode 0700, isobox's own
//!     root/                               the Workspace as the workload sees it, with its `.git`
//!     stat-cache                          see stat_cache.rs
//!     base                                see base.rs
//!     snapshot/                           with uncommitted changes of the source: see capture/snapshot/kept.rs
//! ```

use crate::random::random_name;
use isobox_domain::escape::Escaped;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// First byte of a state: which version of this layout it speaks of.
const STATE_VERSION: u8 = 1;
const PREFIX: &str = "ws-";

/// The place of one Workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    container: PathBuf,
}

impl Layout {
    /// Chooses a place that nobody else chooses. Makes nothing.
    pub(crate) fn reserve(workspaces_root: &Path) -> io::Result<Self> {
        let container = std::path::absolute(workspaces_root)?.join(format!("{PREFIX}{}", random_name()?));
        Ok(Self { container })
    }

    /// The place of the Workspace with the root `root`; `None` if none directly below `workspaces_root` has it.
    pub(crate) fn of_root(workspaces_root: &Path, root: &Path) -> Option<Self> {
        let container = root.parent()?;
        let layout = Self::decode(&Self { container: container.to_owned() }.encode())?;
        // Compared as bytes: to `Path`, `a/./b` is the same as `a/b`.
        let is_there = container.parent()?.as_os_str() == workspaces_root.as_os_str()
            && layout.root().as_os_str() == root.as_os_str();
        is_there.then_some(layout)
    }

    /// The state that names this place.
    pub(crate) fn encode(&self) -> Vec<u8> {
        [&[STATE_VERSION], self.container.as_os_str().as_bytes()].concat()
    }

    /// The place that `state` names; `None` if it is no state of this version.
    pub(crate) fn decode(state: &[u8]) -> Option<Self> {
        let container = PathBuf::from(OsStr::from_bytes(state.strip_prefix(&[STATE_VERSION])?));
        let name = container.file_name()?.to_str()?.strip_prefix(PREFIX)?;
        let is_ours = name.len() == 32 && name.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        (is_ours && container.is_absolute()).then_some(Self { container })
    }

    /// The directory that holds everything of this Workspace.
    pub(crate) fn container(&self) -> &Path {
        &self.container
    }

    /// The root of the Workspace itself.
    pub(crate) fn root(&self) -> PathBuf {
        self.container.join("root")
    }

    /// The stat cache.
    pub(crate) fn stat_cache(&self) -> PathBuf {
        self.container.join("stat-cache")
    }

    /// The root, escaped for people.
    pub(crate) fn shown(&self) -> String {
        Escaped::path(&self.root()).to_string()
    }

    /// The Dirty Source Snapshot.
    pub(crate) fn snapshot(&self) -> PathBuf {
        self.container.join("snapshot")
    }

    /// What the Workspace was made from.
    pub(crate) fn base(&self) -> PathBuf {
        self.container.join("base")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_back_from_its_state() {
        let layout = Layout::reserve(Path::new("/var/cache/a\nb")).expect("random bytes are there");
        assert_eq!(Layout::decode(&layout.encode()), Some(layout));
    }

    #[test]
    fn what_names_no_workspace_is_no_state() {
        let digits = "0123456789abcdef0123456789abcdef";
        for path in
            ["/".to_owned(), "/home/ana".into(), format!("ws-{digits}"), format!("/x/ws-{digits}0"), "/x/ws-..".into()]
        {
            assert_eq!(Layout::decode(&[&[STATE_VERSION], path.as_bytes()].concat()), None, "{path}");
        }
        assert_eq!(Layout::decode(b""), None);
    }
}
