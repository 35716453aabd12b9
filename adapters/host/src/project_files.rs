//! Files of a project, read and written through directory handles that follow no link.

use crate::task_ids::random;
use isobox_domain::content::hex;
use isobox_domain::escape::Escaped;
use isobox_domain::repo_path::RepoPath;
use isobox_ports::{ProjectFiles, ProjectFilesError};
use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat, renameat};
use nix::sys::stat::{Mode, SFlag, fchmod, fstat, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

const DIRECTORY: OFlag = OFlag::O_DIRECTORY.union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);
// O_NONBLOCK: a FIFO in the place of a file must not block.
const FILE: OFlag = OFlag::O_NOFOLLOW.union(OFlag::O_NONBLOCK).union(OFlag::O_CLOEXEC);

/// Files below the root of a project's working tree.
#[derive(Clone, Debug)]
pub struct FsProjectFiles {
    root: PathBuf,
}

impl FsProjectFiles {
    /// Files below `root`, an absolute path.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    fn failure<'a>(
        &'a self,
        operation: &'static str,
        path: &'a RepoPath,
    ) -> impl Fn(Errno) -> ProjectFilesError + use<'a> {
        move |errno| {
            let host_path = Escaped::path(&self.root.join(OsStr::from_bytes(path.as_bytes()))).to_string();
            match errno {
                Errno::ELOOP => ProjectFilesError::InTheWay { host_path, found: "a symbolic link, or lies behind one" },
                Errno::ENOTDIR => {
                    ProjectFilesError::InTheWay { host_path, found: "behind something that is no directory" }
                }
                Errno::EISDIR => ProjectFilesError::InTheWay { host_path, found: "a directory" },
                errno => ProjectFilesError::Io { operation, host_path, source: std::io::Error::from(errno).into() },
            }
        }
    }

    /// The directory that `path` lies in.
    fn parent(&self, path: &RepoPath, missing: Missing, made: &mut Vec<Undo>) -> Result<Option<OwnedFd>, Errno> {
        let mut directory = open(&self.root, DIRECTORY, Mode::empty())?;
        let mut names: Vec<&OsStr> = path.components().map(OsStr::from_bytes).collect();
        names.pop();
        for name in names {
            directory = match (openat(&directory, name, DIRECTORY, Mode::empty()), missing) {
                (Ok(found), _) => found,
                (Err(Errno::ENOENT), Missing::IsNone) => return Ok(None),
                (Err(Errno::ENOENT), Missing::Make) => {
                    mkdirat(&directory, name, Mode::from_bits_truncate(0o777))?;
                    let opened = openat(&directory, name, DIRECTORY, Mode::empty())?;
                    made.push(Undo { directory, name: name.to_owned(), before: Before::NoDirectory });
                    opened
                }
                (Err(errno), _) => return Err(link_or(errno, &directory, name)),
            };
        }
        Ok(Some(directory))
    }

    fn write_one(&self, path: &RepoPath, content: &[u8], undo: &mut Vec<Undo>) -> Result<(), ProjectFilesError> {
        let failure = self.failure("write", path);
        let directory =
            self.parent(path, Missing::Make, undo).map_err(&failure)?.ok_or(Errno::ENOENT).map_err(&failure)?;
        let name = OsStr::from_bytes(path.file_name());
        let before = read_at(&directory, name).map_err(&failure)?;
        let mode = before.as_ref().map(|(_, mode)| *mode);
        replace(&directory, name, content, mode).map_err(&failure)?;
        let before = before.map_or(Before::NoFile, |(content, mode)| Before::File { content, mode });
        undo.push(Undo { directory, name: name.to_owned(), before });
        Ok(())
    }
}

/// What to do about a directory that is not there.
#[derive(Clone, Copy)]
enum Missing {
    IsNone,
    Make,
}

impl ProjectFiles for FsProjectFiles {
    fn read(&self, path: &RepoPath) -> Result<Option<Vec<u8>>, ProjectFilesError> {
        let failure = self.failure("read", path);
        let Some(directory) = self.parent(path, Missing::IsNone, &mut Vec::new()).map_err(&failure)? else {
            return Ok(None);
        };
        let found = read_at(&directory, OsStr::from_bytes(path.file_name())).map_err(&failure)?;
        Ok(found.map(|(content, _)| content))
    }

    fn write(&self, files: &[(RepoPath, Vec<u8>)]) -> Result<(), ProjectFilesError> {
        let mut undo = Vec::new();
        let written = files.iter().try_for_each(|(path, content)| self.write_one(path, content, &mut undo));
        if written.is_err() {
            undo.into_iter().rev().for_each(Undo::perform);
        }
        written
    }
}

// A directory handle that is asked for without following links fails with ENOTDIR at a link; see open(2), O_NOFOLLOW.
fn link_or(errno: Errno, directory: &OwnedFd, name: &OsStr) -> Errno {
    let is_link = || openat(directory, name, FILE, Mode::empty()).is_err_and(|errno| errno == Errno::ELOOP);
    if errno == Errno::ENOTDIR && is_link() { Errno::ELOOP } else { errno }
}

/// The content of a regular file and its permission bits.
fn read_at(directory: &OwnedFd, name: &OsStr) -> Result<Option<(Vec<u8>, Mode)>, Errno> {
    let file = match openat(directory, name, FILE | OFlag::O_RDONLY, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::ENOENT) => return Ok(None),
        Err(errno) => return Err(errno),
    };
    let found = fstat(&file)?;
    if SFlag::from_bits_truncate(found.st_mode & SFlag::S_IFMT.bits()) != SFlag::S_IFREG {
        return Err(Errno::EISDIR);
    }
    let mut content = Vec::new();
    File::from(file).read_to_end(&mut content).map_err(errno_of)?;
    Ok(Some((content, Mode::from_bits_truncate(found.st_mode & 0o7777))))
}

/// Puts a whole file in the place of `name`, or nothing.
fn replace(directory: &OwnedFd, name: &OsStr, content: &[u8], mode: Option<Mode>) -> Result<(), Errno> {
    let staged = format!(".isobox-{}", hex(&random::<8>()));
    let flags = FILE | OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL;
    let file = openat(directory, staged.as_str(), flags, Mode::from_bits_truncate(0o666))?;
    let written = fill(File::from(file), content, mode);
    let renamed = written.and_then(|()| renameat(directory, staged.as_str(), directory, name));
    if renamed.is_err() {
        // The first failure is the one to tell.
        unlinkat(directory, staged.as_str(), UnlinkatFlags::NoRemoveDir).ok();
    }
    renamed
}

fn fill(mut file: File, content: &[u8], mode: Option<Mode>) -> Result<(), Errno> {
    file.write_all(content).map_err(errno_of)?;
    mode.map_or(Ok(()), |mode| fchmod(&file, mode))?;
    file.sync_all().map_err(errno_of)
}

fn errno_of(error: std::io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}

/// How to take back one step of a write that failed later.
struct Undo {
    directory: OwnedFd,
    name: std::ffi::OsString,
    before: Before,
}

enum Before {
    NoDirectory,
    NoFile,
    File { content: Vec<u8>, mode: Mode },
}

impl Undo {
    // What cannot be taken back either stays: the failure that is told names the file that could not be written.
    fn perform(self) {
        let name = self.name.as_os_str();
        match self.before {
            Before::NoDirectory => unlinkat(&self.directory, name, UnlinkatFlags::RemoveDir).ok(),
            Before::NoFile => unlinkat(&self.directory, name, UnlinkatFlags::NoRemoveDir).ok(),
            Before::File { content, mode } => replace(&self.directory, name, &content, Some(mode)).ok(),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text).unwrap()
    }

    #[test]
    fn files_are_written_with_their_directories_and_read_back() {
        let root = tempfile::tempdir().unwrap();
        let files = FsProjectFiles::new(root.path());
        assert_eq!(files.read(&path("a/b")).unwrap(), None);
        files.write(&[(path("a/b"), b"1".to_vec()), (path("c"), b"2".to_vec())]).unwrap();
        assert_eq!(files.read(&path("a/b")).unwrap().as_deref(), Some(&b"1"[..]));
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_file_that_is_replaced_keeps_its_permission_bits() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("c"), "old").unwrap();
        fs::set_permissions(root.path().join("c"), fs::Permissions::from_mode(0o640)).unwrap();
        FsProjectFiles::new(root.path()).write(&[(path("c"), b"new".to_vec())]).unwrap();
        assert_eq!(fs::metadata(root.path().join("c")).unwrap().permissions().mode() & 0o7777, 0o640);
    }

    #[test]
    fn links_and_directories_are_refused_and_nothing_is_changed() {
        let outside = tempfile::tempdir().unwrap();
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("first"), "old").unwrap();
        symlink(outside.path(), root.path().join("link")).unwrap();
        symlink(outside.path().join("x"), root.path().join("file-link")).unwrap();
        fs::create_dir(root.path().join("folder")).unwrap();
        let files = FsProjectFiles::new(root.path());
        for (bad, found) in [
            ("link/x", "a symbolic link, or lies behind one"),
            ("file-link", "a symbolic link, or lies behind one"),
            ("folder", "a directory"),
            ("first/x", "behind something that is no directory"),
        ] {
            let written = files.write(&[
                (path("new/deep"), b"n".to_vec()),
                (path("first"), if bad == "first/x" { b"old".to_vec() } else { b"new".to_vec() }),
                (path(bad), b"bad".to_vec()),
            ]);
            let refused = written.unwrap_err().to_string();
            assert!(refused.contains(found), "{bad}: {refused}");
            assert_eq!(fs::read(root.path().join("first")).unwrap(), b"old");
            assert!(!root.path().join("new").exists());
            assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
        }
    }
}
