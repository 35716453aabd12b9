//! What isobox keeps of a snapshot beside the Workspace, where no workload writes.
//!
//! ```text
//! snapshot/lines         fields, each ended by a NUL byte: `ISOBOX-SNAPSHOT 1`, the number of paths, then for each path
//!                        itself, the kind of what stands there (empty for nothing), its blob, and its length
//! snapshot/stat-cache    the stat cache of the commit alone
//! snapshot/<64 digits>   the content of the path with this BLAKE3; of a link, its target
//! ```

use crate::fields::{invalid, open_regular, read_regular};
use isobox_domain::change::Mode;
use isobox_domain::git_oid::GitOid;
use isobox_domain::repo_path::RepoPath;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8] = b"ISOBOX-SNAPSHOT 1";
const LINES: &str = "lines";
/// Longest file of lines that is read back, in bytes: as many paths as there may be, of some hundred bytes.
const LONGEST: u64 = 64 << 20;
const MODES: [(Mode, &[u8]); 3] =
    [(Mode::File, b"file"), (Mode::Executable, b"executable"), (Mode::Symlink, b"symlink")];

/// A path of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) path: RepoPath,
    /// What stands there; `None`: nothing, where the commit has something.
    pub(super) after: Option<After>,
}

/// A file or link of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct After {
    pub(super) mode: Mode,
    /// Git's name of its bytes as they are.
    pub(super) oid: GitOid,
    pub(super) length: u64,
}

/// Where the content of `path` is kept.
pub(super) fn content_path(snapshot: &Path, path: &RepoPath) -> PathBuf {
    snapshot.join(blake3::hash(path.as_bytes()).to_hex().as_str())
}

/// The stat cache of the commit alone.
pub(super) fn commit_stat_cache(snapshot: &Path) -> PathBuf {
    snapshot.join("stat-cache")
}

/// The content of `path` in a snapshot; `None` if it has none of it.
pub(in super::super) fn open(snapshot: &Path, path: &RepoPath) -> io::Result<Option<File>> {
    match open_regular(&content_path(snapshot, path)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some),
    }
}

/// Writes the lines, which come last: where they are, the snapshot is whole.
pub(super) fn write_lines(snapshot: &Path, lines: &[Line]) -> io::Result<()> {
    let mut bytes = [MAGIC, b"\0", lines.len().to_string().as_bytes(), b"\0"].concat();
    for Line { path, after } in lines {
        let [mode, oid, length] = after.as_ref().map_or_else(Default::default, |after| {
            let mode = MODES.iter().find(|(mode, _)| *mode == after.mode).map_or(&b""[..], |(_, word)| word);
            [mode.to_vec(), after.oid.to_string().into_bytes(), after.length.to_string().into_bytes()]
        });
        bytes.extend([path.as_bytes(), &mode, &oid, &length].map(|field| [field, b"\0"].concat()).concat());
    }
    File::create_new(snapshot.join(LINES))?.write_all(&bytes)
}

/// Reads the lines; `None` where there is no snapshot.
pub(super) fn read_lines(snapshot: &Path) -> io::Result<Option<Vec<Line>>> {
    let bytes = match read_regular(&snapshot.join(LINES), LONGEST) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        bytes => bytes?,
    };
    decode(&bytes).map(Some).ok_or_else(|| invalid("they are no lines of a snapshot, or were cut off"))
}

fn decode(bytes: &[u8]) -> Option<Vec<Line>> {
    let mut fields = bytes.strip_suffix(&[0])?.split(|&byte| byte == 0);
    if fields.next()? != MAGIC {
        return None;
    }
    let count: usize = number(fields.next()?)?;
    let lines: Vec<Line> = (0..count).map(|_| decode_line(&mut fields)).collect::<Option<_>>()?;
    fields.next().is_none().then_some(lines)
}

fn decode_line<'a>(fields: &mut impl Iterator<Item = &'a [u8]>) -> Option<Line> {
    let path = RepoPath::parse(fields.next()?).ok()?;
    let (mode, oid, length) = (fields.next()?, fields.next()?, fields.next()?);
    if mode.is_empty() {
        return Some(Line { path, after: None });
    }
    let mode = MODES.iter().find(|(_, word)| *word == mode).map(|(mode, _)| *mode)?;
    let oid = GitOid::from_hex(std::str::from_utf8(oid).ok()?)?;
    Some(Line { path, after: Some(After { mode, oid, length: number(length)? }) })
}

fn number<T: std::str::FromStr>(field: &[u8]) -> Option<T> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> Vec<Line> {
        let path = |bytes: &[u8]| RepoPath::parse(bytes).expect("a path");
        let after = |mode| Some(After { mode, oid: GitOid::Sha1([7; 20]), length: 12 });
        vec![
            Line { path: path(b"a\nb"), after: None },
            Line { path: path(b"c/\xff"), after: after(Mode::Executable) },
            Line { path: path(b"d"), after: after(Mode::Symlink) },
        ]
    }

    #[test]
    fn lines_are_read_back_as_they_were_written_and_where_there_are_none_there_is_no_snapshot() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        assert_eq!(read_lines(directory.path()).expect("it is looked for"), None);
        write_lines(directory.path(), &lines()).expect("they are written");
        assert_eq!(read_lines(directory.path()).expect("they are read"), Some(lines()));
    }

    #[test]
    fn lines_that_were_cut_off_anywhere_are_none() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        write_lines(directory.path(), &lines()).expect("they are written");
        let bytes = std::fs::read(directory.path().join(LINES)).expect("they are read");
        for length in 0..bytes.len() {
            assert_eq!(decode(&bytes[..length]), None, "cut off after {length} bytes");
        }
    }
}
