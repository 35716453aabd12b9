//! From a recipe to a Sandbox whose Stage is up.

use super::process::{Child, PidHandle, timeout};
use super::signals::EndingSignals;
use super::streams::Output;
use super::{PATIENCE, RunningSandbox};
use crate::descriptors::file_of;
use crate::limits::{Containment, Force, Upper};
use crate::private_directory::PrivateDirectory;
use crate::protocol::{Channel, Message, Plan, Received};
use crate::spawn::{Namespaces, spawn};
use crate::stage::devices::WayBack;
use isobox_domain::limit::Limit;
use isobox_domain::policy::BackendName;
use isobox_ports::{Cause, Filled, LaunchError, LaunchRequest, WorkspaceMount};
use nix::poll::{PollFd, PollFlags, poll};
use nix::unistd::Pid;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

/// What has to be executed so that a Stage with `plan` comes up.
pub(crate) struct Recipe {
    /// Whose recipe it is.
    pub(crate) backend: BackendName,
    /// The program: an absolute host path.
    pub(crate) program: CString,
    /// Its arguments, its name included.
    pub(crate) arguments: Vec<CString>,
    /// Its descriptors after the control socket and the plan, from 5 up.
    pub(crate) descriptors: Vec<OwnedFd>,
    /// The namespaces that the program is the first process of; `None` if it is in those of this process.
    pub(crate) namespaces: Option<Namespaces>,
    /// What the Stage is to do.
    pub(crate) plan: Plan,
    /// The directory in memory that what is written lies in, if this process mounted it.
    pub(crate) written: Option<OwnedFd>,
    /// Where this thread goes once the program is started.
    pub(crate) way_back: Option<WayBack>,
    /// A directory that is the Sandbox's own, and goes with it.
    pub(crate) private: Option<PrivateDirectory>,
    /// What keeps the workload from its limits.
    pub(crate) containment: Containment,
}

/// Brings the Sandbox up, fills the Workspace meanwhile, and starts the workload in it.
pub(crate) fn start(
    mut recipe: Recipe,
    request: &LaunchRequest<'_>,
    fill: &mut dyn FnMut() -> Filled,
) -> Result<RunningSandbox, LaunchError> {
    let asked = &request.policy.asked.limits;
    let force = Force::prepare(asked, recipe.containment, upper(request.mount), request.name);
    recipe.plan.rlimits = force.rlimits();
    let (backend, wanted) = (recipe.backend, recipe.plan.terminal);
    let (mut sandbox, pid) = bring_up(recipe, request.mount, fill)?;
    if !asked.is_empty() {
        let reports = sandbox.limit(force, pid).map_err(io_error("put the limits in force"))?;
        // It was expected to hold, or there would be no launch; what holds is known only by now.
        if let Some(unmet) = request.policy.clone().with_limits(asked.in_force(reports)).unmet_limits() {
            return Err(LaunchError::Refused { backend, reason: unmet.to_string() });
        }
    }
    if asked.of(Limit::Disk).is_some() {
        sandbox.hold_written().map_err(io_error("keep what is written in memory"))?;
    }
    sandbox.control.send(b"G").map_err(io_error("start the workload"))?;
    if wanted.is_some() {
        let master = terminal_of(&sandbox.control, backend)?;
        sandbox.hold_terminal(master).map_err(io_error("hold the workload's terminal"))?;
    }
    Ok(sandbox)
}

/// The side of the workload's terminal that its Stage passes out, before it executes anything.
fn terminal_of(control: &Channel, backend: BackendName) -> Result<OwnedFd, LaunchError> {
    let refused = |reason: &str| LaunchError::Refused { backend, reason: reason.to_owned() };
    let received = control.receive_whole().map_err(io_error("wait for the workload's terminal"))?;
    let Received { bytes, descriptor, .. } = received.ok_or_else(|| refused("its stage ended without a word"))?;
    match (Message::decode(&bytes), descriptor) {
        (Some(Message::Terminal), Some(master)) => Ok(master),
        (Some(Message::Failed(reason)), _) => Err(refused(&reason)),
        _ => Err(refused("its stage passed no terminal out")),
    }
}

/// Whether what is written to a Workspace has a size of its own.
fn upper(mount: &WorkspaceMount) -> Upper {
    match mount {
        WorkspaceMount::Overlay(overlay) if overlay.memory.is_some() => Ok(()),
        WorkspaceMount::Overlay(_) => Err("the workspace is written on disk".to_owned()),
        WorkspaceMount::Directory { .. } => Err("the workspace has files of its own, on disk".to_owned()),
    }
}

/// Brings the Sandbox up and takes it down again.
pub(crate) fn try_out(recipe: Recipe, mount: &WorkspaceMount) -> Result<(), LaunchError> {
    bring_up(recipe, mount, &mut || Filled::Whole).map(drop)
}

pub(crate) fn io_error<E: Into<Cause>>(operation: &str) -> impl Fn(E) -> LaunchError {
    move |source| LaunchError::Io { operation: operation.to_owned(), source: source.into() }
}

/// What a failed launch says, in one line.
pub(crate) fn reason_of(error: &LaunchError) -> String {
    match error {
        LaunchError::Refused { reason, .. } => reason.clone(),
        LaunchError::Io { operation, source } => format!("{operation}: {source}"),
        error @ LaunchError::NotFilled => error.to_string(),
    }
}

fn bring_up(
    recipe: Recipe,
    mount: &WorkspaceMount,
    fill: &mut dyn FnMut() -> Filled,
) -> Result<(RunningSandbox, Pid), LaunchError> {
    let backend = recipe.backend;
    let signals = EndingSignals::hold(recipe.plan.terminal).map_err(io_error("hold signals back"))?;
    let mut young = Young::spawn(recipe).map_err(io_error("start the sandbox's first process"))?;
    if fill() == Filled::Not {
        young.last_words().map_err(io_error("end the sandbox"))?;
        return Err(LaunchError::NotFilled);
    }
    let (stage, pid) = young.wait_until_ready().map_err(|stillbirth| match stillbirth {
        Stillbirth::Refused(reason) => LaunchError::Refused { backend, reason },
        Stillbirth::Io(source) => io_error("wait for the sandbox to come up")(source),
    })?;
    let Young { child, control, stdin, stdout, stderr, written, private } = young;
    let mount = mount.clone();
    let (stdin, terminal, made, limits, holder) = (Some(stdin), None, Vec::new(), None, None);
    let sandbox = RunningSandbox {
        child,
        stage,
        control,
        stdin,
        stdout,
        stderr,
        terminal,
        signals,
        mount,
        written,
        holder,
        made,
        private,
        limits,
    };
    Ok((sandbox, pid))
}

/// A Sandbox on its way up.
struct Young {
    child: Child,
    control: Channel,
    stdin: File,
    stdout: Output,
    stderr: Output,
    written: Option<OwnedFd>,
    private: Option<PrivateDirectory>,
}

enum Stillbirth {
    Refused(String),
    Io(io::Error),
}

impl From<io::Error> for Stillbirth {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Young {
    fn spawn(recipe: Recipe) -> io::Result<Self> {
        let (control, theirs) = Channel::pair()?;
        let (stdin_end, stdin) = io::pipe()?;
        let (stdout, stdout_end) = io::pipe()?;
        let (stderr, stderr_end) = io::pipe()?;
        let plan = file_of(&recipe.plan.encode())?;
        let mut descriptors = vec![stdin_end.into(), stdout_end.into(), stderr_end.into(), theirs, plan];
        descriptors.extend(recipe.descriptors);
        let spawned = spawn(&recipe.program, &recipe.arguments, descriptors, recipe.namespaces.as_ref());
        // Should that fail, the program ends with the control socket that is dropped here.
        recipe.way_back.map_or(Ok(()), WayBack::go)?;
        let pid = spawned?;
        Ok(Self {
            child: Child::of(pid)?,
            control,
            stdin: File::from(OwnedFd::from(stdin)),
            stdout: Output::of(File::from(OwnedFd::from(stdout))),
            stderr: Output::of(File::from(OwnedFd::from(stderr))),
            written: recipe.written,
            private: recipe.private,
        })
    }

    /// Waits for the Stage's first word. Until then nothing of the workload runs, so that whatever arrived on standard
    /// error is the backend's own: the reason if there is one, dropped if the Sandbox came up all the same.
    fn wait_until_ready(&mut self) -> Result<(PidHandle, Pid), Stillbirth> {
        if !self.hears_something()? {
            return Err(self.bury(Some("it did not come up in time".to_owned())));
        }
        let Some(Received { bytes, sender, descriptor }) = self.control.receive_whole()? else {
            return Err(self.bury(None));
        };
        match (Message::decode(&bytes), sender) {
            (Some(Message::Mounted), _) if self.written.is_none() && descriptor.is_some() => {
                self.written = descriptor;
                self.wait_until_ready()
            }
            (Some(Message::Ready), Some(pid)) => {
                self.stderr.take_unread()?;
                Ok((PidHandle::open(pid)?, pid))
            }
            (Some(Message::Failed(reason)), _) => Err(self.bury(Some(reason))),
            _ => Err(self.bury(Some("its stage does not speak this version's language".to_owned()))),
        }
    }

    fn hears_something(&self) -> io::Result<bool> {
        let deadline = Instant::now() + 3 * PATIENCE;
        loop {
            match poll(&mut [PollFd::new(self.control.as_fd(), PollFlags::POLLIN)], timeout(Some(deadline))) {
                Ok(ready) => return Ok(ready > 0),
                Err(nix::errno::Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Ends what there is, and says why it did not come up.
    fn bury(&mut self, reason: Option<String>) -> Stillbirth {
        match self.last_words() {
            Err(error) => Stillbirth::Io(error),
            Ok(words) => {
                let words = (!words.is_empty()).then_some(words);
                let silence = || self.child.ending().unwrap_or_default();
                Stillbirth::Refused(reason.or(words).unwrap_or_else(silence))
            }
        }
    }

    fn last_words(&mut self) -> io::Result<String> {
        self.control.hang_up();
        if !self.child.wait_until(Instant::now() + PATIENCE)? {
            self.child.kill()?;
        }
        self.child.wait()?;
        let words = self.stderr.take_unread()?;
        Ok(String::from_utf8_lossy(&words).trim().replace('\n', "; "))
    }
}
