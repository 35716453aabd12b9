//! What of the trusted repository's working tree is not as a commit says.

use super::super::content::{Content, MAX_HOLE_BYTES};
use super::super::found::Entry;
use crate::beneath::{self, Kind};
use crate::cleanliness::{self, Uncommitted};
use crate::promotion::target::Target;
use crate::repository::failure;
use crate::workspace::tree;
use crate::{GixRepository, oid};
use isobox_domain::change::{Mode, NotCapturedReason};
use isobox_domain::escape::Escaped;
use isobox_domain::git_oid::GitOid;
use isobox_domain::repo_path::RepoPath;
use isobox_ports::RepositoryError;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

/// Most paths of a snapshot: each is held in memory.
pub(super) const MOST_PATHS: usize = 100_000;
/// Longest file of a snapshot, in bytes: each is copied twice before anything starts.
const LONGEST_FILE: u64 = 256 << 20;

/// What stands at a path that is not as the commit says.
pub(super) enum Stands {
    /// Nothing: the commit has it.
    Nothing,
    /// A file or link of this kind.
    Content(Mode, Content),
}

/// What is done with a path.
type Act<'a> = &'a mut dyn FnMut(&RepoPath, Stands) -> Result<(), RepositoryError>;

/// Hands every path that is not as `commit`, which HEAD names, says to `act`, in ascending order of path bytes.
///
/// What no snapshot can hold is refused: submodules and repositories in the working tree, conflicts, what is no file.
pub(super) fn each(repository: &GixRepository, commit: &GitOid, act: Act<'_>) -> Result<(), RepositoryError> {
    let git = repository.gix();
    let looking = "compare the working tree with HEAD";
    let paths = cleanliness::uncommitted(&git, MOST_PATHS)?;
    if paths.len() > MOST_PATHS {
        let reason = format!("more than {MOST_PATHS} paths are not committed, and a snapshot has no room for more");
        return Err(refused(reason, "commit them, or let Git ignore what is made by programs"));
    }
    let found = git.find_commit(oid::to_gix(commit)).and_then(|commit| commit.tree());
    let tree = found.map_err(|e| failure("read the tree of the commit", e))?;
    let target = Target::open(&git, repository.root()).map_err(|e| failure("open the working tree", e))?;
    let root = open_root(repository.root()).map_err(|e| failure("open the working tree", e))?;
    let mut source = Source { tree, target, root, holes_left: MAX_HOLE_BYTES };
    for found in paths {
        let shown = Escaped(&found.path).to_string();
        let path = RepoPath::parse(found.path.clone())
            .map_err(|error| refused(format!("{shown} cannot be part of a snapshot: {error}"), REMOVE))?;
        if let Some(stands) = source.look(&path, &found).map_err(|trouble| trouble.told(&shown, looking))? {
            act(&path, stands)?;
        }
    }
    Ok(())
}

const REMOVE: &str = "commit it, remove it, or let Git ignore it";

fn refused(reason: String, hint: &str) -> RepositoryError {
    RepositoryError::Refused { reason, hint: Some(hint.to_owned()) }
}

fn open_root(root: &Path) -> io::Result<OwnedFd> {
    Ok(open(root, OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, stat::Mode::empty())?)
}

/// Why a path could not be looked at.
enum Trouble {
    /// It is nothing that a snapshot can hold: what it is, in words.
    Unfit(String),
    Failed(io::Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl Trouble {
    fn told(self, shown: &str, looking: &str) -> RepositoryError {
        match self {
            Self::Unfit(why) => refused(format!("{shown} cannot be part of a snapshot: {why}"), REMOVE),
            Self::Failed(error) => failure(&format!("{looking}: {shown}"), error),
        }
    }
}

/// The working tree and the commit.
struct Source<'git> {
    tree: gix::Tree<'git>,
    target: Target<'git>,
    root: OwnedFd,
    holes_left: u64,
}

impl Source<'_> {
    /// What stands at `path`; `None` if that is what the commit says.
    fn look(&mut self, path: &RepoPath, found: &Uncommitted) -> Result<Option<Stands>, Trouble> {
        if found.is_unmerged {
            return Err(Trouble::Unfit("it is in conflict".to_owned()));
        }
        let committed = self.committed(path)?;
        let Some(entry) = self.entry(path)? else { return Ok(committed.map(|_| Stands::Nothing)) };
        match entry.seen.kind() {
            Kind::File | Kind::Symlink => self.content(&entry, committed),
            Kind::Directory if matches!(committed, Some((Mode::Submodule, _))) => {
                Err(Trouble::Unfit("it is a submodule that is not as the commit says".to_owned()))
            }
            Kind::Directory if found.is_untracked => Err(Trouble::Unfit("it is a repository of its own".to_owned())),
            Kind::Directory => Ok(committed.map(|_| Stands::Nothing)),
            Kind::Fifo | Kind::Socket | Kind::Device => Err(Trouble::Unfit("it is no file".to_owned())),
        }
    }

    fn content(&mut self, entry: &Entry, committed: Option<(Mode, GitOid)>) -> Result<Option<Stands>, Trouble> {
        if entry.seen.stat.size > LONGEST_FILE {
            return Err(Trouble::Unfit(format!("it is longer than {} MiB", LONGEST_FILE >> 20)));
        }
        let mut content =
            Content::open(entry, &mut self.holes_left).map_err(|reason| Trouble::Unfit(words(&reason)))?;
        let mode = match (content.mode(), &committed) {
            // A file system that keeps no executable bits says nothing about them.
            (Mode::File | Mode::Executable, Some((committed @ (Mode::File | Mode::Executable), _)))
                if !self.target.trusts_exec_bit =>
            {
                *committed
            }
            (mode, _) => mode,
        };
        if let Some((committed, oid)) = &committed
            && *committed == mode
            && self.is_blob(entry, &mut content, mode, oid)?
        {
            return Ok(None);
        }
        Ok(Some(Stands::Content(mode, content)))
    }

    /// Whether Git would name what stands there as the commit does.
    fn is_blob(&self, entry: &Entry, content: &mut Content, mode: Mode, oid: &GitOid) -> io::Result<bool> {
        let is_blob = content.is_blob(oid)?;
        if is_blob || mode == Mode::Symlink {
            return Ok(is_blob);
        }
        let file = beneath::open_file(&*entry.directory, entry.path.file_name())?;
        Ok(self.target.normalised_oid(&entry.path, file)? == *oid)
    }

    fn committed(&self, path: &RepoPath) -> io::Result<Option<(Mode, GitOid)>> {
        let found = self.tree.lookup_entry_by_path(Path::new(OsStr::from_bytes(path.as_bytes())));
        let found = found.map_err(io::Error::other)?;
        Ok(found.and_then(|entry| Some((tree::mode(entry.mode().kind())?, oid::from_gix(&entry.object_id())))))
    }

    /// What stands at `path`, links not followed: nothing where a directory above it is none, or is a link.
    fn entry(&self, path: &RepoPath) -> Result<Option<Entry>, Trouble> {
        let name = path.file_name();
        let parent = path.as_bytes().strip_suffix(name).and_then(|parent| parent.strip_suffix(b"/"));
        let directory = match beneath::open_directory(&self.root, parent.unwrap_or(b".")) {
            Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP) => return Ok(None),
            Err(Errno::EXDEV) => return Err(Trouble::Unfit("it lies on another file system".to_owned())),
            directory => directory.map_err(io::Error::from)?,
        };
        let seen = match beneath::look(&directory, name) {
            Err(Errno::ENOENT) => return Ok(None),
            seen => seen.map_err(io::Error::from)?,
        };
        Ok(Some(Entry { path: path.clone(), directory: Rc::new(directory), seen, base: None, submodule: None }))
    }
}

fn words(reason: &NotCapturedReason) -> String {
    match reason {
        NotCapturedReason::TooLarge { length } => format!("its {length} bytes are too many"),
        NotCapturedReason::Unreadable(why) => why.clone(),
        NotCapturedReason::OtherFileSystem => "it lies on another file system".to_owned(),
        _ => "it cannot be read".to_owned(),
    }
}
