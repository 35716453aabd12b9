//! Workspaces that lie as overlays on others of the same commit: mounted by the kernel, or made by hand.

use super::edits::{Edit, Site};
use super::{Kept, Scene, with_git_arguments};
use isobox_ports::{Overlay, OverlayKind, Workspace, WorkspaceMount};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// The kinds of overlays that can be mounted here. The reason why another cannot is printed.
pub fn kinds() -> Vec<OverlayKind> {
    static KINDS: OnceLock<Vec<OverlayKind>> = OnceLock::new();
    let probe = |kind: &OverlayKind| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let lower = directory.path().join("lower");
        fs::create_dir(&lower).expect("a directory is made");
        let place = directory.path().join("place");
        let mounted = make_place(&place, vec![lower], *kind).and_then(|overlay| Mounted::new(&overlay)).map(drop);
        remove_place(&place);
        mounted
    };
    let is_possible = |kind: &OverlayKind| match probe(kind) {
        Ok(()) => true,
        Err(why) => {
            say_ignored(&format!("{kind:?} overlays: {why}"));
            false
        }
    };
    let all = [OverlayKind::Privileged, OverlayKind::Unprivileged];
    KINDS.get_or_init(|| all.into_iter().filter(is_possible).collect()).clone()
}

#[allow(clippy::print_stderr, reason = "a test that cannot run here says why")]
fn say_ignored(what: &str) {
    // Not where a list of tests is read from.
    eprintln!("ignored: {what}");
}

/// A Workspace that lies on another one.
pub struct Laid<'a> {
    scene: &'a Scene,
    lower: &'a Workspace,
    /// How it is mounted.
    pub overlay: Overlay,
}

impl<'a> Laid<'a> {
    /// One that lies on `lower`, a Workspace of the scene that nobody changes, with an empty upper directory.
    pub fn on(scene: &'a Scene, lower: &'a Workspace, kind: OverlayKind) -> Self {
        let place = tempfile::tempdir_in(scene.directory.path()).expect("a temporary directory").keep();
        let lowers = vec![lower.mount.host_path().to_owned()];
        Self { scene, lower, overlay: make_place(&place, lowers, kind).expect("a place is made") }
    }

    /// Performs edits in it while it is mounted.
    pub fn edit(&self, edits: &[Edit]) {
        self.with_mounted(|mounted| mounted.site().perform_all(edits));
    }

    /// Does something in it while it is mounted.
    pub fn with_mounted(&self, action: impl FnOnce(&Mounted)) {
        action(&Mounted::new(&self.overlay).expect("an overlay is mounted"));
    }

    /// Its upper directory.
    pub fn upper(&self) -> PathBuf {
        self.overlay.upper()
    }

    /// Captures it.
    pub fn capture(&self) -> Kept {
        let mut kept = Kept::default();
        let mount = WorkspaceMount::Overlay(self.overlay.clone());
        self.scene.capture_mount(self.lower, &mount, &mut kept).expect("the workspace is captured");
        kept
    }
}

impl Drop for Laid<'_> {
    fn drop(&mut self) {
        remove_place(&self.overlay.place);
    }
}

/// Removes a place: the kernel's own directory in it has mode 000, and so have some of the tests.
fn remove_place(place: &Path) {
    for (program, arguments) in [("chmod", &["-Rf", "u+rwX"][..]), ("rm", &["-rf"])] {
        Command::new(program).args(arguments).arg(place).status().expect("a program of the system starts");
    }
}

fn make_place(place: &Path, lowers: Vec<PathBuf>, kind: OverlayKind) -> Result<Overlay, String> {
    let overlay = Overlay { lowers, place: place.to_owned(), kind, memory: None };
    for directory in [overlay.upper(), overlay.work()] {
        fs::create_dir_all(directory).map_err(|error| error.to_string())?;
    }
    Ok(overlay)
}

/// An overlay that is mounted in a namespace of its own, as long as this lives.
pub struct Mounted {
    holder: Child,
    place: PathBuf,
    root: PathBuf,
    kind: OverlayKind,
}

impl Mounted {
    fn new(overlay: &Overlay) -> Result<Self, String> {
        let lowers: Vec<_> = overlay.lowers.iter().map(|lower| lower.display().to_string()).collect();
        let userxattr = if overlay.kind == OverlayKind::Unprivileged { ",userxattr" } else { "" };
        let options = format!(
            "lowerdir={},upperdir={},workdir={},redirect_dir=nofollow,metacopy=off,index=off,volatile{userxattr}",
            lowers.join(":"),
            overlay.upper().display(),
            overlay.work().display(),
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private"]);
        if overlay.kind == OverlayKind::Unprivileged {
            command.args(["--user", "--map-current-user", "--keep-caps"]);
        }
        let script = "mount -t overlay overlay -o \"$0\" \"$1\" && echo mounted && exec cat";
        command.args(["sh", "-c", script, &options]).arg(&overlay.place);
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut holder = pipes.spawn().map_err(|error| format!("unshare does not start: {error}"))?;
        let mut said = String::new();
        BufReader::new(holder.stdout.take().expect("a pipe")).read_line(&mut said).expect("it is read");
        if said != "mounted\n" {
            let output = holder.wait_with_output().expect("it ends");
            return Err(String::from_utf8_lossy(&output.stderr).trim_end().to_owned());
        }
        let place = overlay.place.clone();
        let root = PathBuf::from(format!("/proc/{}/root{}", holder.id(), place.display()));
        Ok(Self { holder, place, root, kind: overlay.kind })
    }

    /// Its root, as it is seen from outside of its namespace.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// It as a tree that is edited.
    pub fn site(&self) -> Site<'_> {
        Site::with_git(self.root(), |arguments| self.git(arguments))
    }

    /// Runs `git` in it.
    pub fn git(&self, arguments: &[&str]) {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.holder.id().to_string(), "--mount"]);
        if self.kind == OverlayKind::Unprivileged {
            command.args(["--user", "--preserve-credentials"]);
        }
        command.args(["sh", "-c", "cd \"$0\" && exec git \"$@\""]).arg(&self.place);
        drop(with_git_arguments(&mut command, arguments).output().expect("git starts"));
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // With the last process of its namespace the mount ends.
        drop(self.holder.stdin.take());
        self.holder.wait().expect("it ends");
    }
}
