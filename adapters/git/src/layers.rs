//! What directories that lie on each other have at a path: what an overlay on them shows.

use crate::beneath::{self, Kind, Seen};
use crate::capture::tree::open_root;
use nix::errno::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// What the uppermost of `layers` that says anything of `path` has there, and the root of that layer; `None` if nothing
/// shows: no layer has it, or one hides it, by a whiteout or by something that is no directory on the way.
pub(crate) fn find(layers: &[PathBuf], path: &[u8]) -> io::Result<Option<(OwnedFd, Seen)>> {
    for layer in layers {
        let root = open_root(layer)?;
        match beneath::look_beneath(&root, path) {
            Ok(seen) if seen.is_whiteout() => return Ok(None),
            Ok(seen) => return Ok(Some((root, seen))),
            Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP) if is_hidden(&root, path)? => return Ok(None),
            Err(Errno::ENOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(None)
}

/// Whether a layer has something else than a directory on the way to `path`.
fn is_hidden(root: &OwnedFd, path: &[u8]) -> io::Result<bool> {
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| end);
    for end in ends {
        match beneath::look_beneath(root, &path[..end]) {
            Ok(seen) if seen.kind() == Kind::Directory => {}
            Ok(_) => return Ok(true),
            Err(Errno::ENOENT) => return Ok(false),
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::{Mode, SFlag, mknod};
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    fn content(layers: &[PathBuf], path: &str) -> Option<String> {
        let (root, _) = find(layers, path.as_bytes()).expect("it is looked for")?;
        let file = beneath::open_file(&root, path.as_bytes()).expect("it opens");
        Some(io::read_to_string(file).expect("it is read"))
    }

    #[test]
    fn what_an_upper_layer_has_or_hides_goes_before_what_lies_below() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let layers = ["top", "middle", "bottom"].map(|name| directory.path().join(name));
        let [top, middle, bottom] = &layers;
        let write = |layer: &Path, path: &str| {
            let path = layer.join(path);
            fs::create_dir_all(path.parent().expect("it has a parent")).expect("directories are made");
            fs::write(&path, layer.file_name().expect("a name").as_encoded_bytes()).expect("a file is written");
        };
        for path in ["both", "gone", "gone-dir/in", "was-dir/in", "linked/in", "deep/er/one"] {
            write(bottom, path);
        }
        for path in ["both", "deep/er/two", "was-dir"] {
            write(middle, path);
        }
        write(top, "deep/three");
        for path in ["gone", "gone-dir"] {
            mknod(&middle.join(path), SFlag::S_IFCHR, Mode::empty(), 0).expect("a whiteout is made");
        }
        symlink("deep", middle.join("linked")).expect("a link is made");
        for (path, layer) in
            [("both", "middle"), ("deep/er/one", "bottom"), ("deep/er/two", "middle"), ("deep/three", "top")]
        {
            assert_eq!(content(&layers, path).as_deref(), Some(layer), "{path}");
        }
        for path in ["gone", "gone-dir", "gone-dir/in", "was-dir/in", "linked/in", "deep/none", "none/at/all"] {
            assert!(find(&layers, path.as_bytes()).expect("it is looked for").is_none(), "{path}");
        }
        assert_eq!(content(&layers, "was-dir").as_deref(), Some("middle"));
    }
}
