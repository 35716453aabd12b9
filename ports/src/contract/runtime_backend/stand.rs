//! A backend under test: launching in it, and hearing what comes out.

use super::act::{Act, command};
use crate::{
    CallerTerminal, Content, Ending, Exposed, Filled, Flow, LaunchError, LaunchRequest, Overlay, RuntimeBackend,
    Sandbox, Streams, TerminalRequest, WorkspaceForm, WorkspaceMount,
};
use isobox_domain::command::WorkloadCommand;
use isobox_domain::policy::{EffectivePolicy, SandboxPolicy};
use isobox_domain::repo_path::RepoPath;
use isobox_domain::terminal::TerminalSize;
use libtest_mimic::Failed;
use std::io::{self, Cursor};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A backend and a Workspace for one case.
pub(super) struct Stand {
    pub(super) backend: Arc<dyn RuntimeBackend>,
    mount: WorkspaceMount,
    directory: PathBuf,
}

impl Stand {
    /// A backend with a Workspace of its own, which is removed with it.
    pub(super) fn new(backend: Arc<dyn RuntimeBackend>, form: WorkspaceForm) -> Result<Self, Failed> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("isobox-backend-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir(&directory)?;
        let mount = match form {
            WorkspaceForm::Copy => WorkspaceMount::Directory { host_path: directory.clone() },
            WorkspaceForm::Overlay { kind, memory } => {
                let (lowers, place) = (vec![directory.join("lower")], directory.join("place"));
                WorkspaceMount::Overlay(Overlay { lowers, place, kind, memory })
            }
        };
        if let WorkspaceMount::Overlay(overlay) = &mount {
            let on_disk = overlay.memory.is_none().then(|| [overlay.upper(), overlay.work()]);
            let all = overlay.lowers.iter().chain([&overlay.place]).cloned().chain(on_disk.into_iter().flatten());
            all.into_iter().try_for_each(std::fs::create_dir)?;
        }
        Ok(Self { backend, mount, directory })
    }

    /// Where a file is put that the Workspace has from the beginning.
    pub(super) fn beginning(&self) -> &Path {
        match &self.mount {
            WorkspaceMount::Directory { host_path } => host_path,
            WorkspaceMount::Overlay(overlay) => &overlay.lowers[0],
        }
    }

    /// Where a Workspace is filled while its Sandbox comes up; `None` if all of it lies below what is in memory.
    pub(super) fn filled(&self) -> Option<PathBuf> {
        let in_memory = matches!(&self.mount, WorkspaceMount::Overlay(Overlay { memory: Some(_), .. }));
        (!in_memory).then(|| written(&self.mount))
    }

    /// Launches `command` in `directory` of the Workspace, or at its root.
    pub(super) fn launch(
        &self,
        command: &WorkloadCommand,
        directory: Option<&RepoPath>,
    ) -> Result<Box<dyn Sandbox>, Failed> {
        Ok(self.launch_filling(command, directory, &mut || Filled::Whole)?)
    }

    /// The same, with what `fill` does to the Workspace while the Sandbox comes up.
    pub(super) fn launch_filling(
        &self,
        command: &WorkloadCommand,
        directory: Option<&RepoPath>,
        fill: &mut dyn FnMut() -> Filled,
    ) -> Result<Box<dyn Sandbox>, LaunchError> {
        self.launch_on(command, directory, None, fill)
    }

    fn launch_on(
        &self,
        command: &WorkloadCommand,
        directory: Option<&RepoPath>,
        terminal: Option<TerminalRequest>,
        fill: &mut dyn FnMut() -> Filled,
    ) -> Result<Box<dyn Sandbox>, LaunchError> {
        let policy = EffectivePolicy::claimed(SandboxPolicy::default(), self.backend.capabilities());
        let mount = &self.mount;
        let request = LaunchRequest {
            name: "contract",
            command,
            policy: &policy,
            mount,
            working_directory: directory,
            caller_path: None,
            terminal,
            exposed: &Exposed::default(),
        };
        let sandbox = self.backend.launch(&request, fill)?;
        if self.filled().is_some() {
            assert_eq!(sandbox.workspace(), *mount);
        }
        Ok(sandbox)
    }

    /// Launches `command` and supervises it to its end.
    pub(super) fn run(&self, command: &WorkloadCommand, heard: &mut Heard) -> Result<Ending, Failed> {
        Ok(self.launch(command, None)?.supervise(heard)?)
    }

    /// The same for `act` on a terminal.
    pub(super) fn play_on(&self, act: Act, terminal: TerminalRequest) -> Result<(Ending, Heard), Failed> {
        let mut heard = Heard { terminal: Some(Still(terminal.size)), ..Heard::default() };
        let launched = self.launch_on(&command(act, &[])?, None, Some(terminal), &mut || Filled::Whole);
        let ending = launched?.supervise(&mut heard)?;
        Ok((ending, heard))
    }

    /// The same for `act`: how it ended, and what came out.
    pub(super) fn play(&self, act: Act, further: &[&[u8]]) -> Result<(Ending, Heard), Failed> {
        let mut heard = Heard::default();
        let ending = self.run(&command(act, further)?, &mut heard)?;
        Ok((ending, heard))
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        // The kernel's own directories there have mode 000, which keeps an ordinary user from removing them.
        let own = self.directory.join("place/work/work");
        for directory in [own.clone(), own.join("incompat"), own.join("incompat/volatile")] {
            std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700)).ok();
        }
        if let Err(error) = std::fs::remove_dir_all(&self.directory) {
            assert!(std::thread::panicking(), "remove {}: {error}", self.directory.display());
        }
    }
}

/// The directory that has what was written in a Workspace.
pub(super) fn written(mount: &WorkspaceMount) -> PathBuf {
    match mount {
        WorkspaceMount::Directory { host_path } => host_path.clone(),
        WorkspaceMount::Overlay(overlay) => overlay.upper(),
    }
}

/// The caller's ends of the streams, and what came out of them.
#[derive(Default)]
pub(super) struct Heard {
    /// What to pass to the workload.
    pub(super) input: Option<Vec<u8>>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    /// In bytes.
    pub(super) longest_piece: usize,
    /// Whether the reader of standard output goes away.
    pub(super) closes_stdout: bool,
    pub(super) terminal: Option<Still>,
}

/// A caller's terminal that is there alone, and keeps its size.
pub(super) struct Still(TerminalSize);

impl CallerTerminal for Still {
    fn size(&self) -> TerminalSize {
        self.0
    }

    fn take(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn give_back(&mut self) {}
}

impl Streams for Heard {
    fn stdin(&mut self) -> Option<Content> {
        self.input.take().map(|bytes| Box::new(Cursor::new(bytes)) as Content)
    }

    fn stdout(&mut self, bytes: &[u8]) -> Flow {
        self.stdout.extend_from_slice(bytes);
        self.longest_piece = self.longest_piece.max(bytes.len());
        if self.closes_stdout { Flow::Closed } else { Flow::Continue }
    }

    fn stderr(&mut self, bytes: &[u8]) -> Flow {
        self.stderr.extend_from_slice(bytes);
        self.longest_piece = self.longest_piece.max(bytes.len());
        Flow::Continue
    }

    fn terminal(&mut self) -> Option<&mut dyn CallerTerminal> {
        self.terminal.as_mut().map(|terminal| terminal as _)
    }
}
