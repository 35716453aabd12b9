//! Workspaces of files that a test names.

use crate::{
    CaptureSink, Cause, ChangeLines, LaidOut, ObjectStore, Workspace, WorkspaceError, WorkspaceForm, WorkspaceMount,
    WorkspaceRequest, Workspaces,
};
use isobox_domain::change::{After, Before, Change, ChangeLine, Mode, NotCaptured, NotCapturedReason};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::git_oid::GitOid;
use isobox_domain::policy::WorkspaceKind;
use isobox_domain::repo_path::RepoPath;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Files by their path: kind and content.
pub type Files = BTreeMap<RepoPath, (Mode, Vec<u8>)>;

/// Makes Workspaces as directories with the same files each time, and captures by reading all of them. Knows no
/// `.gitignore` and writes no patch.
pub struct DirectoryWorkspaces {
    files: Files,
    /// The working tree, where it is not as committed.
    uncommitted: Mutex<Option<Files>>,
    root: PathBuf,
    kind: WorkspaceKind,
}

static NEXT: AtomicU64 = AtomicU64::new(0);
/// What Workspaces began with, by their states, which are never the same: a later instance finds it here.
static SNAPSHOTS: Mutex<BTreeMap<Vec<u8>, Files>> = Mutex::new(BTreeMap::new());

impl DirectoryWorkspaces {
    /// Workspaces with `files` (no submodule among them) below the absolute directory `root`.
    pub fn new(files: Files, root: PathBuf) -> Self {
        Self { files, uncommitted: Mutex::default(), root, kind: WorkspaceKind::Copy }
    }

    /// The same, as on a file system where files share blocks.
    #[must_use]
    pub fn sharing_blocks(self) -> Self {
        Self { kind: WorkspaceKind::Reflink, ..self }
    }

    /// Says what the working tree of the source holds from now on, committed or not.
    pub fn edit_source(&self, files: Files) {
        *hold(&self.uncommitted) = Some(files);
    }

    fn began_with(&self, state: &[u8]) -> Files {
        hold(&SNAPSHOTS).get(state).unwrap_or(&self.files).clone()
    }

    fn write(files: &Files, root: &Path) -> io::Result<()> {
        fs::create_dir_all(root.join(".git"))?;
        for (path, (mode, content)) in files {
            let file = root.join(OsStr::from_bytes(path.as_bytes()));
            fs::create_dir_all(file.parent().unwrap_or(root))?;
            if *mode == Mode::Symlink {
                symlink(OsStr::from_bytes(content), file)?;
                continue;
            }
            fs::write(&file, content)?;
            let permissions = if *mode == Mode::Executable { 0o755 } else { 0o644 };
            fs::set_permissions(&file, fs::Permissions::from_mode(permissions))?;
        }
        Ok(())
    }

    fn compare(began: &Files, root: &Path, sink: &mut dyn CaptureSink) -> Result<(), Cause> {
        let mut lines: BTreeMap<Vec<u8>, ChangeLine> = BTreeMap::new();
        let mut found = Files::new();
        let mut pending = vec![root.to_owned()];
        while let Some(directory) = pending.pop() {
            for entry in fs::read_dir(&directory)? {
                let entry = entry?.path();
                let path = entry.strip_prefix(root)?.as_os_str().as_bytes().to_vec();
                let kind = entry.symlink_metadata()?.file_type();
                match special(kind) {
                    _ if path == b".git" => {}
                    Some(reason) => {
                        let line = NotCaptured { workspace_path: path.clone(), reason };
                        lines.insert(path, ChangeLine::NotCaptured(line));
                    }
                    None if kind.is_dir() => pending.push(entry),
                    None => drop(found.insert(RepoPath::parse(path)?, read(&entry)?)),
                }
            }
        }
        for change in changes(began, &found, sink)? {
            lines.insert(change.path.as_bytes().to_vec(), ChangeLine::Change(change));
        }
        lines.into_values().try_for_each(|line| sink.line(line))
    }
}

impl Workspaces for DirectoryWorkspaces {
    fn directory(&self) -> &Path {
        &self.root
    }

    fn reserve(&self, _request: &WorkspaceRequest<'_>) -> Result<Vec<u8>, WorkspaceError> {
        let name = format!("ws-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Ok(self.root.join(name).into_os_string().into_encoded_bytes())
    }

    fn is_prepared(&self, _reserved: &[u8]) -> bool {
        true
    }

    fn lay_out(&self, reserved: &[u8], request: &WorkspaceRequest<'_>) -> Result<LaidOut, WorkspaceError> {
        let host_path = container(reserved).join("root");
        fs::create_dir_all(&host_path).map_err(|e| failure("make the workspace's directory", e))?;
        let why_copy = match request.form {
            WorkspaceForm::Copy => None,
            WorkspaceForm::Overlay { .. } => Some("these are directories alone".to_owned()),
        };
        Ok(LaidOut { mount: WorkspaceMount::Directory { host_path }, why_copy })
    }

    fn create(&self, reserved: &[u8], request: &WorkspaceRequest<'_>) -> Result<Workspace, WorkspaceError> {
        if let Some(directory) = &request.source.working_directory
            && !self.files.keys().any(|path| path.is_below(directory))
        {
            return Err(WorkspaceError::not_committed(directory, &request.source.commit));
        }
        let host_path = container(reserved).join("root");
        Self::write(&self.files, &host_path).map_err(|e| failure("write the workspace", e))?;
        let notices = match request.form {
            WorkspaceForm::Copy => Vec::new(),
            WorkspaceForm::Overlay { .. } => vec!["the workspace is a copy: these are directories alone".to_owned()],
        };
        let (mount, kind) = (WorkspaceMount::Directory { host_path }, self.kind);
        Ok(Workspace { mount, kind, state: reserved.to_vec(), notices })
    }

    fn add_snapshot(&self, state: &[u8], _request: &WorkspaceRequest<'_>) -> Result<(), WorkspaceError> {
        let Some(files) = hold(&self.uncommitted).clone() else { return Ok(()) };
        let root = container(state).join("root");
        let written = fs::remove_dir_all(&root).and_then(|()| Self::write(&files, &root));
        written.map_err(|e| failure("put the snapshot into the workspace", e))?;
        hold(&SNAPSHOTS).insert(state.to_vec(), files);
        Ok(())
    }

    fn put_snapshot(
        &self,
        state: &[u8],
        lines: ChangeLines<'_>,
        objects: &dyn ObjectStore,
    ) -> Result<(), WorkspaceError> {
        let failed = |cause: Cause| failure("put the snapshot into the workspace", cause);
        let mut files = self.files.clone();
        for line in lines {
            let ChangeLine::Change(Change { path, after, .. }) = line.map_err(failed)? else { continue };
            files.remove(&path);
            if let Some(After { mode, content, .. }) = after {
                files.insert(path, (mode, content_of(objects, &content).map_err(failed)?));
            }
        }
        let root = container(state).join("root");
        let written = fs::remove_dir_all(&root).and_then(|()| Self::write(&files, &root));
        written.map_err(|e| failure("put the snapshot into the workspace", e))?;
        hold(&SNAPSHOTS).insert(state.to_vec(), files);
        Ok(())
    }

    fn snapshot(&self, state: &[u8], sink: &mut dyn CaptureSink) -> Result<(), WorkspaceError> {
        let changes = changes(&self.files, &self.began_with(state), sink);
        let changes = changes.map_err(|e| failure("read the snapshot", e))?;
        let told = changes.into_iter().map(ChangeLine::Change).try_for_each(|line| sink.line(line));
        told.map_err(|e| failure("tell the snapshot", e))
    }

    fn capture(
        &self,
        state: &[u8],
        mounted: &WorkspaceMount,
        sink: &mut dyn CaptureSink,
    ) -> Result<(), WorkspaceError> {
        Self::compare(&self.began_with(state), mounted.host_path(), sink)
            .map_err(|e| failure("capture the workspace", e))
    }

    fn dispose(&self, state: &[u8]) -> Result<(), WorkspaceError> {
        let container = container(state);
        let removed = open_up(&container).and_then(|()| fs::remove_dir_all(&container));
        match removed {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(failure("remove the workspace", e)),
            _ => Ok(()),
        }
    }

    fn retain(&self, state: &[u8]) -> Result<PathBuf, WorkspaceError> {
        Ok(container(state).join("root"))
    }
}

fn hold<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is different, in ascending order of paths.
fn changes(began: &Files, found: &Files, sink: &mut dyn CaptureSink) -> Result<Vec<Change>, Cause> {
    let paths: BTreeSet<_> = found.keys().chain(began.keys()).collect();
    let mut changes = Vec::new();
    for path in paths {
        let (before, after) = (began.get(path), found.get(path));
        if before != after {
            let before = before.map(|(mode, content)| before_of(*mode, content));
            let after = after.map(|(mode, content)| after_of(*mode, content, sink)).transpose()?;
            changes.push(Change { path: path.clone(), before, after, renamed_from: None, submodule: None });
        }
    }
    Ok(changes)
}

fn container(state: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(state))
}

/// Gives every directory back to its owner.
fn open_up(directory: &Path) -> io::Result<()> {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}

fn special(kind: fs::FileType) -> Option<NotCapturedReason> {
    if kind.is_fifo() {
        Some(NotCapturedReason::Fifo)
    } else if kind.is_socket() {
        Some(NotCapturedReason::Socket)
    } else {
        None
    }
}

fn read(path: &Path) -> io::Result<(Mode, Vec<u8>)> {
    let metadata = path.symlink_metadata()?;
    if metadata.is_symlink() {
        return Ok((Mode::Symlink, fs::read_link(path)?.into_os_string().into_encoded_bytes()));
    }
    let mode = if metadata.permissions().mode() & 0o100 == 0 { Mode::File } else { Mode::Executable };
    Ok((mode, fs::read(path)?))
}

fn before_of(mode: Mode, content: &[u8]) -> Before {
    let hash = *blake3::hash(content).as_bytes();
    let content = ContentRef { id: ContentId::new(hash), length: content.len() as u64 };
    Before { mode, oid: GitOid::Sha256(hash), content: Some(content) }
}

fn after_of(mode: Mode, mut content: &[u8], sink: &mut dyn CaptureSink) -> Result<After, Cause> {
    let binary = content.iter().take(8000).any(|&byte| byte == 0);
    Ok(After { mode, content: sink.content(&mut content)?, binary })
}

fn content_of(objects: &dyn ObjectStore, content: &ContentRef) -> Result<Vec<u8>, Cause> {
    let mut bytes = Vec::new();
    objects.open(&content.id)?.ok_or("the content is not there")?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn failure(operation: &str, source: impl Into<Cause>) -> WorkspaceError {
    WorkspaceError::Io { operation: operation.to_owned(), source: source.into() }
}
