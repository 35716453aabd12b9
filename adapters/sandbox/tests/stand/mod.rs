//! A backend with a Workspace, and what a workload said in it.
#![allow(dead_code, reason = "each test program uses a part of it")]

use isobox_domain::command::WorkloadCommand;
use isobox_domain::policy::{Capabilities, EffectivePolicy, SandboxPolicy};
use isobox_ports::{
    Content, Ending, Exposed, Filled, Flow, LaunchError, LaunchRequest, MemorySize, Overlay, OverlayKind,
    RuntimeBackend, Sandbox, Streams, WorkspaceMount,
};
use libtest_mimic::Failed;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::TempDir;

/// Where a workload finds the program of this test, under whose name it is no Stage unless it has the descriptors of one.
pub(crate) const SELF_INSIDE: &str = "/.isobox/isobox-stage";

/// Everything a workload wrote.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl Heard {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    pub(crate) fn complaints(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

impl Streams for Heard {
    fn stdin(&mut self) -> Option<Content> {
        None
    }

    fn stdout(&mut self, bytes: &[u8]) -> Flow {
        self.stdout.extend_from_slice(bytes);
        Flow::Continue
    }

    fn stderr(&mut self, bytes: &[u8]) -> Flow {
        self.stderr.extend_from_slice(bytes);
        Flow::Continue
    }
}

/// A backend, a policy and a Workspace.
pub(crate) struct Stand<'a> {
    pub(crate) backend: &'a dyn RuntimeBackend,
    /// What the attempt is called.
    pub(crate) name: &'a str,
    pub(crate) policy: SandboxPolicy,
    pub(crate) exposed: Exposed,
    pub(crate) mount: WorkspaceMount,
    workspace: TempDir,
}

impl<'a> Stand<'a> {
    pub(crate) fn new(backend: &'a dyn RuntimeBackend) -> Result<Self, Failed> {
        let workspace = TempDir::new()?;
        let mount = WorkspaceMount::Directory { host_path: workspace.path().to_owned() };
        Ok(Self {
            backend,
            name: "test",
            policy: SandboxPolicy::default(),
            exposed: Exposed::default(),
            mount,
            workspace,
        })
    }

    /// With a Workspace that is an overlay with one lower directory, which is empty.
    pub(crate) fn on_overlay(
        backend: &'a dyn RuntimeBackend,
        kind: OverlayKind,
        memory: Option<MemorySize>,
    ) -> Result<Self, Failed> {
        let mut stand = Self::new(backend)?;
        let (lower, place) = (stand.host_path().join("lower"), stand.host_path().join("place"));
        let overlay = Overlay { lowers: vec![lower], place, kind, memory };
        std::fs::create_dir(&overlay.lowers[0])?;
        std::fs::create_dir(&overlay.place)?;
        if memory.is_none() {
            std::fs::create_dir(overlay.upper())?;
            std::fs::create_dir(overlay.work())?;
        }
        stand.mount = WorkspaceMount::Overlay(overlay);
        Ok(stand)
    }

    /// The overlay that its Workspace is.
    pub(crate) fn overlay(&self) -> &Overlay {
        match &self.mount {
            WorkspaceMount::Overlay(overlay) => overlay,
            WorkspaceMount::Directory { .. } => panic!("it is a directory"),
        }
    }

    pub(crate) fn capabilities(&self) -> Capabilities {
        self.backend.capabilities()
    }

    pub(crate) fn host_path(&self) -> &Path {
        self.workspace.path()
    }

    pub(crate) fn launch(&self, arguments: &[&str]) -> Result<Box<dyn Sandbox>, LaunchError> {
        let command = arguments.iter().map(|argument| argument.as_bytes().to_vec()).collect();
        let command = WorkloadCommand::parse(command).expect("a command of a test is one");
        let policy = EffectivePolicy::claimed(self.policy.clone(), self.backend.capabilities());
        let request = LaunchRequest {
            name: self.name,
            command: &command,
            policy: &policy,
            mount: &self.mount,
            working_directory: None,
            caller_path: None,
            terminal: None,
            exposed: &self.exposed,
        };
        self.backend.launch(&request, &mut || Filled::Whole)
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Result<(Ending, Heard), Failed> {
        let mut heard = Heard::default();
        let ending = self.launch(arguments)?.supervise(&mut heard)?;
        Ok((ending, heard))
    }

    /// What a shell script printed.
    pub(crate) fn shell(&self, script: &str) -> Result<String, Failed> {
        Ok(self.run(&["sh", "-c", script])?.1.text())
    }
}

impl Drop for Stand<'_> {
    fn drop(&mut self) {
        // The kernel's directories in `work` have mode 000, which keeps an ordinary user from removing them.
        if let WorkspaceMount::Overlay(overlay) = &self.mount {
            let own = overlay.work().join("work");
            for directory in [own.clone(), own.join("incompat"), own.join("incompat/volatile")] {
                std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700)).ok();
            }
        }
    }
}
