//! A repository, a cache, and overlays mounted for the thread that looks at them.

pub(crate) use crate::fixture::disks::own_mounts;
use crate::fixture::{Place, chain, commit};
use isobox_domain::source::WorkspaceSource;
use isobox_git::{GixRepository, GixWorkspaces};
use isobox_ports::{
    Overlay, OverlayKind, TrustedRepository, Workspace, WorkspaceError, WorkspaceForm, WorkspaceMount,
    WorkspaceRequest, Workspaces,
};
use nix::mount::{MsFlags, mount};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub(crate) fn as_overlay() -> WorkspaceForm {
    let is_root = nix::unistd::geteuid().is_root();
    let kind = if is_root { OverlayKind::Privileged } else { OverlayKind::Unprivileged };
    WorkspaceForm::Overlay { kind, memory: None }
}

pub(crate) struct Scene {
    pub(crate) place: Place,
    pub(crate) app: PathBuf,
}

impl Scene {
    /// A repository with a few files.
    pub(crate) fn new() -> Self {
        Self::within(Place::new())
    }

    /// The same in a place that is there.
    pub(crate) fn within(place: Place) -> Self {
        let app = place.repository("app");
        fs::create_dir_all(app.join("src/deep")).expect("directories are made");
        fs::write(app.join("src/deep/one"), "1\n").expect("a file is written");
        fs::write(app.join("src/two"), "2\n").expect("a file is written");
        commit(&app);
        Self { place, app }
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.place.join("cache/pristine")
    }

    /// As a process of its own would have them.
    pub(crate) fn workspaces(&self) -> GixWorkspaces {
        GixWorkspaces::new(self.repository(), self.place.workspaces_root(), Some(self.cache()))
    }

    pub(crate) fn repository(&self) -> GixRepository {
        GixRepository::discover(&self.app).expect("the repository is found")
    }

    pub(crate) fn source(&self) -> WorkspaceSource {
        self.repository().source().expect("it is a source")
    }

    pub(crate) fn try_create(&self, workspaces: &GixWorkspaces) -> Result<Workspace, WorkspaceError> {
        let source = self.source();
        let request = WorkspaceRequest { source: &source, form: as_overlay() };
        let reserved = workspaces.reserve(&request).expect("a place is reserved");
        workspaces.lay_out(&reserved, &request)?;
        workspaces.create(&reserved, &request)
    }

    pub(crate) fn create(&self, workspaces: &GixWorkspaces) -> Workspace {
        self.try_create(workspaces).unwrap_or_else(|error| panic!("{}", chain(&error)))
    }

    /// The uppermost directory of a fresh overlay.
    pub(crate) fn tree(&self) -> PathBuf {
        overlay(&self.create(&self.workspaces())).lowers[0].clone()
    }

    /// How many layers a fresh overlay lies on.
    pub(crate) fn layers(&self) -> usize {
        overlay(&self.create(&self.workspaces())).lowers.len()
    }

    /// Everything in the directory of the one repository in the cache, but its lock.
    pub(crate) fn cached(&self) -> Vec<PathBuf> {
        let entries = |path: &Path| fs::read_dir(path).into_iter().flatten().map(|entry| entry.expect("a name").path());
        let copies = entries(&self.cache()).flat_map(|repository| entries(&repository).collect::<Vec<_>>());
        let mut copies: Vec<_> = copies.filter(|path| !path.ends_with("lock")).collect();
        copies.sort();
        copies
    }
}

pub(crate) fn overlay(workspace: &Workspace) -> &Overlay {
    match &workspace.mount {
        WorkspaceMount::Overlay(overlay) => overlay,
        WorkspaceMount::Directory { .. } => panic!("it is a copy: {:?}", workspace.notices),
    }
}

pub(crate) fn inode(path: &Path) -> u64 {
    path.symlink_metadata().unwrap_or_else(|error| panic!("{}: {error}", path.display())).ino()
}

/// Mounts an overlay at its place, for this thread alone: its root.
pub(crate) fn mounted(overlay: &Overlay) -> PathBuf {
    own_mounts();
    let lowers: Vec<_> = overlay.lowers.iter().map(|lower| lower.display().to_string()).collect();
    let options = format!(
        "lowerdir={},upperdir={},workdir={},index=off,redirect_dir=off,metacopy=off",
        lowers.join(":"),
        overlay.upper().display(),
        overlay.work().display(),
    );
    mount(Some("overlay"), &overlay.place, Some("overlay"), MsFlags::empty(), Some(&*options)).expect("it is mounted");
    overlay.place.clone()
}

/// What lies below a directory: path, mode and content. A directory's content is empty.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Listed {
    pub(crate) path: String,
    pub(crate) mode: u32,
    pub(crate) content: Vec<u8>,
}

/// Everything below `root`, and the root itself. Of an index, which has other numbers at every place, nothing but
/// that it is there.
pub(crate) fn listing(root: &Path) -> Vec<Listed> {
    let mut pending = vec![root.to_owned()];
    let mut found = Vec::new();
    while let Some(path) = pending.pop() {
        let metadata = path.symlink_metadata().expect("it is there");
        let content = match metadata.file_type() {
            kind if kind.is_symlink() => {
                fs::read_link(&path).expect("it is read").into_os_string().into_encoded_bytes()
            }
            kind if kind.is_dir() || path.ends_with(".git/index") => vec![],
            kind if kind.is_file() => fs::read(&path).expect("it is read"),
            kind => panic!("{} is a {kind:?}", path.display()),
        };
        if metadata.is_dir() {
            pending.extend(fs::read_dir(&path).expect("it is read").map(|entry| entry.expect("a name").path()));
        }
        let path = path.strip_prefix(root).expect("it is below").to_string_lossy().into_owned();
        found.push(Listed { path, mode: metadata.mode(), content });
    }
    found.sort();
    found
}
