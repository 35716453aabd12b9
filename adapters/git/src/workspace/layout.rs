//! Where a Workspace and what isobox keeps around it lie on disk, and the state that names it.
//!
//! ```text
//! <workspaces root>/ws-<32 hex digits>/   mode 0700, isobox's own
//!     root/                               the Workspace as the workload sees it, with its `.git`
//!     stat-cache                          see stat_cache.rs
//!     base                                see base.rs
//!     snapshot/                           with uncommitted changes of the source: see capture/snapshot/kept.rs
//! ```
//!
//! That is a copy. Of a Workspace that is an overlay the directory itself is the place where it is mounted:
//!
//! ```text
//!     upper/                              what the workload wrote
//!     work/                               the kernel's own
//! ```
//!
//! Beside them up to eight `.spare-N` lie, empty places of overlays for those that come: see spare.rs.
//!
//! A state of version 1 is the path of that directory. One of version 2 has a NUL byte behind it, a letter for the
//! kind of the overlay, and then the fields of `wanted.rs`: which pristine copy it lies on.

use crate::pristine::Wanted;
use crate::random::random_name;
use isobox_domain::escape::Escaped;
use isobox_ports::OverlayKind;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// First byte of a state that names a copy.
const COPY: u8 = 1;
/// First byte of a state that names an overlay, or the copy that was made in its stead.
const OVERLAY: u8 = 2;
const PREFIX: &str = "ws-";

/// The place of one Workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    container: PathBuf,
    over: Option<Over>,
}

/// What an overlay is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Over {
    /// How it is mounted, and so marked.
    pub(crate) kind: OverlayKind,
    /// What it lies on.
    pub(crate) wanted: Wanted,
}

impl Over {
    fn encode(&self) -> Vec<u8> {
        let kind = match self.kind {
            OverlayKind::Privileged => b'P',
            OverlayKind::Unprivileged => b'U',
        };
        [&[kind], &self.wanted.encode()[..]].concat()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (kind, wanted) = match bytes.split_first()? {
            (b'P', wanted) => (OverlayKind::Privileged, wanted),
            (b'U', wanted) => (OverlayKind::Unprivileged, wanted),
            _ => return None,
        };
        Some(Self { kind, wanted: Wanted::decode(wanted)? })
    }
}

/// Where a checkout goes, and what is written about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Destination {
    /// The root of the files.
    pub(crate) root: PathBuf,
    /// The stat cache.
    pub(crate) stat_cache: PathBuf,
    /// What it was made from.
    pub(crate) base: PathBuf,
}

impl Layout {
    /// Chooses a place that nobody else chooses, for a copy or for what is `over` a pristine one. Makes
    /// nothing.
    pub(crate) fn reserve(workspaces_root: &Path, over: Option<Over>) -> io::Result<Self> {
        let container = std::path::absolute(workspaces_root)?.join(format!("{PREFIX}{}", random_name()?));
        Ok(Self { container, over })
    }

    /// The place of the Workspace that is kept at `kept`: the root of a plain directory, or the place of an overlay that
    /// could not be made one. `None` if none directly below `workspaces_root` is.
    pub(crate) fn of_kept(workspaces_root: &Path, kept: &Path) -> Option<Self> {
        let is_below = |layout: &Self| {
            // Compared as bytes: to `Path`, `a/./b` is the same as `a/b`.
            let is_same =
                layout.root().as_os_str() == kept.as_os_str() || layout.container.as_os_str() == kept.as_os_str();
            is_same && layout.container.parent().map(Path::as_os_str) == Some(workspaces_root.as_os_str())
        };
        let of_root = kept.parent().and_then(|container| Self::of_container(container.to_owned(), None));
        let overlay = || Self::of_container(kept.to_owned(), None).filter(Self::is_no_plain_directory);
        of_root.filter(is_below).or_else(|| overlay().filter(is_below))
    }

    fn is_no_plain_directory(&self) -> bool {
        ["upper", "work"].iter().any(|name| self.container.join(name).exists()) || !self.root().exists()
    }

    /// The state that names this place.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let container = self.container.as_os_str().as_bytes();
        match &self.over {
            None => [&[COPY], container].concat(),
            Some(over) => [&[OVERLAY], container, &[0], &over.encode()].concat(),
        }
    }

    /// The place that `state` names; `None` if it is no state of a version that is known here.
    pub(crate) fn decode(state: &[u8]) -> Option<Self> {
        let (version, rest) = state.split_first()?;
        let (container, over) = match *version {
            COPY => (rest, None),
            OVERLAY => {
                let end = rest.iter().position(|&byte| byte == 0)?;
                (&rest[..end], Some(Over::decode(&rest[end + 1..])?))
            }
            _ => return None,
        };
        Self::of_container(PathBuf::from(OsStr::from_bytes(container)), over)
    }

    fn of_container(container: PathBuf, over: Option<Over>) -> Option<Self> {
        let name = container.file_name()?.to_str()?.strip_prefix(PREFIX)?;
        let is_ours = name.len() == 32 && name.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        (is_ours && container.is_absolute()).then_some(Self { container, over })
    }

    /// The directory that holds everything of this Workspace; of an overlay the place where it is mounted.
    pub(crate) fn container(&self) -> &Path {
        &self.container
    }

    /// What an overlay here is to be; `None` for what can only be a copy.
    pub(crate) fn over(&self) -> Option<&Over> {
        self.over.as_ref()
    }

    /// Whether what is here was laid out as an overlay, and not as a copy in its stead.
    pub(crate) fn is_overlay(&self) -> bool {
        self.over.is_some() && !self.copy().base.exists()
    }

    /// The root of a copy.
    pub(crate) fn root(&self) -> PathBuf {
        self.container.join("root")
    }

    /// Where a copy goes.
    pub(crate) fn copy(&self) -> Destination {
        let [stat_cache, base] = ["stat-cache", "base"].map(|name| self.container.join(name));
        Destination { root: self.root(), stat_cache, base }
    }

    /// Where the Workspace is, escaped for people.
    pub(crate) fn shown(&self) -> String {
        let host_path = if self.over.is_some() { self.container.clone() } else { self.root() };
        Escaped::path(&host_path).to_string()
    }

    /// The Dirty Source Snapshot.
    pub(crate) fn snapshot(&self) -> PathBuf {
        self.container.join("snapshot")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobox_domain::git_oid::GitOid;

    #[test]
    fn a_place_is_read_back_from_its_state() {
        let over = |kind, branch: Option<&[u8]>| Over {
            kind,
            wanted: Wanted {
                place: "/c/0123/ab-01".into(),
                source: "/a\nb".into(),
                commit: GitOid::Sha256([7; 32]),
                branch: branch.map(<[u8]>::to_vec),
            },
        };
        let privileged = over(OverlayKind::Privileged, None);
        let unprivileged = over(OverlayKind::Unprivileged, Some(b"refs/heads/\xff"));
        for over in [None, Some(privileged), Some(unprivileged)] {
            let layout = Layout::reserve(Path::new("/var/cache/a\nb"), over).expect("random bytes are there");
            assert_eq!(Layout::decode(&layout.encode()), Some(layout));
        }
    }

    #[test]
    fn what_names_no_workspace_is_no_state() {
        let digits = "0123456789abcdef0123456789abcdef";
        for path in
            ["/".to_owned(), "/home/ana".into(), format!("ws-{digits}"), format!("/x/ws-{digits}0"), "/x/ws-..".into()]
        {
            assert_eq!(Layout::decode(&[&[COPY], path.as_bytes()].concat()), None, "{path}");
        }
        for rest in ["", "\0", "\0P/c/x\0/s\0nonsense\0\0", "\0U/c/x\0/s\0", "\0X/c/x\0"] {
            let state = [&[OVERLAY], format!("/x/ws-{digits}{rest}").as_bytes()].concat();
            assert_eq!(Layout::decode(&state), None, "{rest:?}");
        }
        assert_eq!(Layout::decode(b""), None);
    }
}
