//! How an attempt notes the way in which its Workspace is mounted, for a later start.
//!
//! A directory is its path. An overlay is a letter for each of its kind and where it is written, then its place and its
//! lower directories, each ended by a NUL byte. A path is absolute, so that its first byte is no letter.

use isobox_ports::{MemorySize, Overlay, OverlayKind, WorkspaceMount};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The bytes that say how a Workspace is mounted.
pub(crate) fn encode(mount: &WorkspaceMount) -> Vec<u8> {
    let WorkspaceMount::Overlay(overlay) = mount else { return mount.host_path().as_os_str().as_bytes().to_vec() };
    let kind = match overlay.kind {
        OverlayKind::Privileged => b'P',
        OverlayKind::Unprivileged => b'U',
    };
    let written = if overlay.memory.is_some() { b'M' } else { b'D' };
    let paths = std::iter::once(&overlay.place).chain(&overlay.lowers);
    let paths = paths.flat_map(|path| [path.as_os_str().as_bytes(), &[0]].concat());
    [kind, written].into_iter().chain(paths).collect()
}

/// What was noted; `None` if it is nothing of the kind. The size of what is in memory is not kept: nothing is mounted again.
pub(crate) fn decode(noted: &[u8]) -> Option<WorkspaceMount> {
    let (kind, rest) = match noted.split_first()? {
        (b'P', rest) => (OverlayKind::Privileged, rest),
        (b'U', rest) => (OverlayKind::Unprivileged, rest),
        _ => return Some(WorkspaceMount::Directory { host_path: path(noted) }),
    };
    let (memory, rest) = match rest.split_first()? {
        (b'M', rest) => (Some(MemorySize { bytes: 0, inodes: 0 }), rest),
        (b'D', rest) => (None, rest),
        _ => return None,
    };
    let mut paths = rest.strip_suffix(&[0])?.split(|&byte| byte == 0).map(path);
    let place = paths.next()?;
    Some(WorkspaceMount::Overlay(Overlay { lowers: paths.collect(), place, kind, memory }))
}

fn path(bytes: &[u8]) -> PathBuf {
    Path::new(OsStr::from_bytes(bytes)).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_read_back_as_it_was_noted() {
        let overlay = Overlay {
            lowers: vec!["/c/a\n".into(), "/c/b".into()],
            place: "/w/ws-1".into(),
            kind: OverlayKind::Unprivileged,
            memory: None,
        };
        for mount in [WorkspaceMount::Directory { host_path: "/P/U".into() }, WorkspaceMount::Overlay(overlay)] {
            assert_eq!(decode(&encode(&mount)), Some(mount));
        }
    }

    #[test]
    fn a_note_that_was_cut_off_is_none_or_names_fewer_directories() {
        for noted in [&b""[..], b"P", b"PD", b"PX/a\0", b"UD/a"] {
            assert_eq!(decode(noted), None, "{noted:?}");
        }
    }
}
