//! A backend with a Workspace, and what a workload said in it.
#![allow(dead_code, reason = "each test program uses a part of it")]

use isobox_domain::command::WorkloadCommand;
use isobox_domain::policy::{EffectivePolicy, SandboxPolicy};
use isobox_ports::{
    Content, Ending, Filled, Flow, LaunchError, LaunchRequest, RuntimeBackend, Sandbox, Streams, WorkspaceMount,
};
use libtest_mimic::Failed;
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
    backend: &'a dyn RuntimeBackend,
    pub(crate) policy: SandboxPolicy,
    workspace: TempDir,
}

impl<'a> Stand<'a> {
    pub(crate) fn new(backend: &'a dyn RuntimeBackend) -> Result<Self, Failed> {
        Ok(Self { backend, policy: SandboxPolicy::default(), workspace: TempDir::new()? })
    }

    pub(crate) fn host_path(&self) -> &Path {
        self.workspace.path()
    }

    pub(crate) fn launch(&self, arguments: &[&str]) -> Result<Box<dyn Sandbox>, LaunchError> {
        let command = arguments.iter().map(|argument| argument.as_bytes().to_vec()).collect();
        let command = WorkloadCommand::parse(command).expect("a command of a test is one");
        let capabilities = self.backend.capabilities();
        let policy = EffectivePolicy {
            backend: capabilities.backend,
            asked: self.policy.clone(),
            controls: capabilities.controls,
            limitations: capabilities.limitations,
            workspace: None,
        };
        let mount = WorkspaceMount::Directory { host_path: self.host_path().to_owned() };
        let request = LaunchRequest {
            command: &command,
            policy: &policy,
            mount: &mount,
            working_directory: None,
            caller_path: None,
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
