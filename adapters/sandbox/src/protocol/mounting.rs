//! What a mounter is told: the overlays, and what to become.

use super::encoding::{put_all, put_each, put_option, take, take_all, take_each, take_number, take_option};
use isobox_ports::{MemorySize, Overlay, OverlayKind};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Overlays to mount, and the program that is executed then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mounting {
    /// That of the Workspace.
    pub(crate) workspace: Option<Overlay>,
    /// Others.
    pub(crate) layers: Vec<Overlay>,
    /// The program: an absolute host path.
    pub(crate) program: Vec<u8>,
    /// Its arguments, its name included.
    pub(crate) arguments: Vec<Vec<u8>>,
}

impl Mounting {
    /// The same as bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_option(&mut bytes, self.workspace.as_ref(), put_overlay);
        put_each(&mut bytes, &self.layers, put_overlay);
        put_all(&mut bytes, std::slice::from_ref(&self.program));
        put_all(&mut bytes, &self.arguments);
        bytes
    }

    /// What some bytes say; `None` if they are none.
    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let bytes = &mut bytes;
        let (workspace, layers) = (take_option(bytes, take_overlay)?, take_each(bytes, take_overlay)?);
        let (program, arguments) = (take_all(bytes)?.pop()?, take_all(bytes)?);
        bytes.is_empty().then_some(Self { workspace, layers, program, arguments })
    }
}

pub(super) fn put_overlay(bytes: &mut Vec<u8>, overlay: &Overlay) {
    let Overlay { lowers, place, kind, memory } = overlay;
    bytes.push(match kind {
        OverlayKind::Privileged => b'p',
        OverlayKind::Unprivileged => b'u',
    });
    put_option(bytes, memory.as_ref(), |bytes, size| {
        bytes.extend([size.bytes, size.inodes].into_iter().flat_map(u64::to_le_bytes));
    });
    let paths: Vec<_> = [place].into_iter().chain(lowers).map(|path| path.as_os_str().as_bytes().to_vec()).collect();
    put_all(bytes, &paths);
}

pub(super) fn take_overlay(bytes: &mut &[u8]) -> Option<Overlay> {
    let kind = match take(bytes, 1)?[0] {
        b'p' => OverlayKind::Privileged,
        b'u' => OverlayKind::Unprivileged,
        _ => return None,
    };
    let size = |bytes: &mut &[u8]| Some(MemorySize { bytes: take_number(bytes)?, inodes: take_number(bytes)? });
    let memory = take_option(bytes, size)?;
    let mut paths = take_all(bytes)?.into_iter().map(|path| path_of(&path));
    let (place, lowers) = (paths.next()?, paths.collect());
    Some(Overlay { lowers, place, kind, memory })
}

fn path_of(bytes: &[u8]) -> PathBuf {
    Path::new(OsStr::from_bytes(bytes)).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_survives_its_way_through_a_file() {
        for memory in [None, Some(MemorySize { bytes: 1 << 40, inodes: 7 })] {
            let overlay = Overlay {
                lowers: vec!["/a\n:".into(), "/b".into()],
                place: path_of(b"/w/\xff"),
                kind: OverlayKind::Unprivileged,
                memory,
            };
            let arguments = vec![b"bwrap".to_vec(), Vec::new()];
            let layers = vec![overlay.clone()];
            let program = b"/usr/bin/bwrap".to_vec();
            let mounting = Mounting { workspace: Some(overlay), layers, program, arguments };
            let encoded = mounting.encode();
            assert_eq!(Mounting::decode(&encoded), Some(mounting));
            for length in 0..encoded.len() {
                assert_eq!(Mounting::decode(&encoded[..length]), None, "{length}");
            }
        }
    }
}
