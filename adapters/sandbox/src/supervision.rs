//! A running Sandbox: its streams passed on, its end seen, its processes ended.

mod process;
mod signals;
mod start;
mod streams;

pub(crate) use start::{Recipe, io_error, reason_of, start, try_out};

use crate::holder::Holder;
use crate::limits::{Force, Watched};
use crate::private_directory::PrivateDirectory;
use crate::protocol::{Channel, Message, Report};
use crate::terminal::resize;
use isobox_domain::limit::LimitReport;
use isobox_domain::outcome::{Exit, MemoryScope, ResourceUsage};
use isobox_ports::{Cause, EndCause, Ending, Overlay, Sandbox, Streams, SupervisionError, WorkspaceMount};
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::signal::{Signal, raise};
use nix::unistd::Pid;
pub(crate) use process::{Child, PidHandle};
use signals::{EndingSignals, Wish};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use streams::Output;

/// How long a Stage may take to end the workload before its whole namespace is killed.
const PATIENCE: Duration = Duration::from_secs(10);

/// A Sandbox whose Stage is up.
pub(crate) struct RunningSandbox {
    child: Child,
    stage: PidHandle,
    control: Channel,
    stdin: Option<File>,
    stdout: Output,
    stderr: Output,
    /// This side of the workload's terminal.
    terminal: Option<OwnedFd>,
    signals: EndingSignals,
    mount: WorkspaceMount,
    /// Keeps what was written in memory, which nothing else does once every process is dead.
    written: Option<OwnedFd>,
    /// Keeps the same should isobox be killed, until the Workspace is removed.
    holder: Option<Holder>,
    /// Directories of the Workspace that are only places for something, the innermost first.
    made: Vec<PathBuf>,
    /// Removed when every process is dead. The stage removes it, too, for isobox may be killed.
    #[expect(dead_code, reason = "it is held to be dropped")]
    private: Option<PrivateDirectory>,
    /// Where there are any.
    limits: Option<Watched>,
}

/// What made the loop stop.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Reported(Report),
    /// With the reason, if it told one.
    Vanished(Option<String>),
}

impl End {
    /// What the Stage's last word means, if there was one.
    fn of(word: Option<Message>) -> Self {
        match word {
            Some(Message::Ended(report)) => Self::Reported(report),
            Some(Message::Failed(reason)) => Self::Vanished(Some(reason)),
            _ => Self::Vanished(None),
        }
    }
}

impl Sandbox for RunningSandbox {
    fn supervise(&mut self, streams: &mut dyn Streams) -> Result<Ending, SupervisionError> {
        self.take_terminal(streams).map_err(while_doing("take the terminal"))?;
        if let (Some(content), Some(pipe)) = (streams.stdin(), self.stdin.take()) {
            streams::pump(content, pipe).map_err(while_doing("pass standard input on"))?;
        }
        self.stdin = None;
        let mut interruption = None;
        let end = self.watch(streams, &mut interruption).map_err(while_doing("watch the sandbox"))?;
        match end {
            // Every process but the Stage is dead, and it ends by itself; whoever drops this value waits for it.
            End::Reported(_) => self.control.hang_up(),
            End::Vanished(_) => self.end().map_err(while_doing("end the sandbox"))?,
        }
        self.remove_made();
        self.stdout.drain(|bytes| streams.stdout(bytes)).map_err(while_doing("read standard output"))?;
        self.stderr.drain(|bytes| streams.stderr(bytes)).map_err(while_doing("read standard error"))?;
        give_back(streams);
        let report = match &end {
            End::Reported(report) => Some(report),
            End::Vanished(_) => None,
        };
        let exceeded = self.limits.as_mut().map(|limits| limits.conclude(report)).unwrap_or_default();
        let ending = match (end, interruption) {
            (End::Reported(report), signal) => ending(report, signal),
            (End::Vanished(_), Some(signal)) => vanished(EndCause::Interrupted { signal }),
            // The Stage went with the workload.
            (End::Vanished(None), None) if !exceeded.is_empty() => {
                vanished(EndCause::Exited(Exit::Signal(Signal::SIGKILL as u8)))
            }
            (End::Vanished(reason), None) => {
                let why = reason.map_or_else(
                    || "its stage ended without a report".to_owned(),
                    |reason| format!("its stage could not go on: {reason}"),
                );
                return Err(while_doing("watch the sandbox")(io::Error::other(why)));
            }
        };
        Ok(Ending { usage: self.usage(ending.usage), exceeded, ..ending })
    }

    fn limits(&self) -> Vec<LimitReport> {
        self.limits.as_ref().map(Watched::reports).unwrap_or_default()
    }

    fn workspace(&self) -> WorkspaceMount {
        match (&self.mount, &self.written) {
            (WorkspaceMount::Overlay(overlay), Some(written)) => {
                let place = PathBuf::from(format!("/proc/self/fd/{}", written.as_raw_fd()));
                WorkspaceMount::Overlay(Overlay { place, ..overlay.clone() })
            }
            (mount, _) => mount.clone(),
        }
    }
}

fn give_back(streams: &mut dyn Streams) {
    if let Some(terminal) = streams.terminal() {
        terminal.give_back();
    }
}

/// Does what may take as long as the caller likes, which is no idle time of the workload.
fn unheard<T>(limits: Option<&Watched>, what: impl FnOnce() -> T) -> T {
    match limits {
        Some(limits) => limits.unheard(what),
        None => what(),
    }
}

fn while_doing(operation: &'static str) -> impl Fn(io::Error) -> SupervisionError {
    move |source| SupervisionError { operation, source: Cause::from(source) }
}

fn ending(report: Report, interruption: Option<u8>) -> Ending {
    Ending {
        cause: interruption.map_or(report.cause, |signal| EndCause::Interrupted { signal }),
        usage: ResourceUsage {
            user_cpu_us: Some(report.user_cpu_us),
            system_cpu_us: Some(report.system_cpu_us),
            peak_memory_bytes: Some(report.peak_memory_bytes),
            peak_memory_of: Some(MemoryScope::LargestProcess),
        },
        killed_processes: Some(report.killed_processes),
        exceeded: Vec::new(),
    }
}

fn vanished(cause: EndCause) -> Ending {
    Ending { cause, usage: ResourceUsage::default(), killed_processes: None, exceeded: Vec::new() }
}

impl RunningSandbox {
    /// The same, with directories of the Workspace that go away with the workload.
    pub(crate) fn with_made(mut self, made: Vec<PathBuf>) -> Self {
        self.made = made;
        self
    }

    /// Every process is dead, and what leads to these directories could not be replaced. One that is gone, or that is not
    /// empty, is left to capture.
    fn remove_made(&self) {
        let root = match self.workspace() {
            WorkspaceMount::Directory { host_path } => host_path,
            WorkspaceMount::Overlay(overlay) => overlay.upper(),
        };
        for directory in &self.made {
            drop(std::fs::remove_dir(root.join(directory)));
        }
    }

    /// Puts limits in force, before the Stage starts anything. Should that fail, what was made for them goes with the
    /// Sandbox, after its last process.
    fn limit(&mut self, force: Force, stage: Pid) -> io::Result<Vec<LimitReport>> {
        let limits = self.limits.insert(Watched::of(force));
        limits.begin(&self.control, &self.stage, stage, self.written.as_ref())?;
        Ok(limits.reports())
    }

    /// Has what is written in memory held by a process that outlives this one.
    fn hold_written(&mut self) -> io::Result<()> {
        if let (WorkspaceMount::Overlay(overlay), Some(written)) = (&self.mount, &self.written) {
            self.holder = Some(Holder::start(written, &self.stage, &overlay.place)?);
        }
        Ok(())
    }

    fn usage(&self, usage: ResourceUsage) -> ResourceUsage {
        match self.limits.as_ref().and_then(Watched::peak_memory) {
            Some(peak) => {
                ResourceUsage { peak_memory_bytes: Some(peak), peak_memory_of: Some(MemoryScope::Tree), ..usage }
            }
            None => usage,
        }
    }

    /// Passes output on until the Stage has reported or is gone. A signal makes the Stage end the workload.
    fn watch(&mut self, streams: &mut dyn Streams, interruption: &mut Option<u8>) -> io::Result<End> {
        let mut deadline: Option<Instant> = None;
        loop {
            let ready = self.wait(deadline)?;
            if ready.stdout {
                let pass = || self.stdout.pass_on(|bytes| streams.stdout(bytes));
                unheard(self.limits.as_ref(), pass)?;
            }
            if ready.stderr {
                let pass = || self.stderr.pass_on(|bytes| streams.stderr(bytes));
                unheard(self.limits.as_ref(), pass)?;
            }
            if ready.signals
                && let Some(wish) = self.signals.take()?
            {
                match wish {
                    Wish::End(signal) if interruption.is_none() => {
                        *interruption = Some(signal);
                        self.control.hang_up();
                        deadline = Some(Instant::now() + PATIENCE);
                    }
                    Wish::End(_) => {}
                    Wish::Stop => {
                        give_back(streams);
                        unheard(self.limits.as_ref(), || raise(Signal::SIGSTOP))?;
                        self.take_terminal(streams)?;
                    }
                    Wish::Continued | Wish::Resize => self.take_terminal(streams)?,
                }
            }
            if ready.control {
                // It is the end, whatever is said; before what is said there is nowhere else to be seen.
                self.limits.iter().for_each(Watched::over);
                let message = self.control.receive()?.as_deref().and_then(Message::decode);
                return Ok(End::of(message));
            }
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                self.stage.kill()?;
                deadline = None;
            }
        }
    }

    /// Streams to and from the workload's terminal, of which `master` is this side, in place of its pipes.
    fn hold_terminal(&mut self, master: OwnedFd) -> io::Result<()> {
        self.stdin = Some(File::from(master.try_clone()?));
        self.stdout = Output::of(File::from(master.try_clone()?));
        self.terminal = Some(master);
        Ok(())
    }

    /// Takes the caller's terminal, if the workload has one, and gives that the size of the caller's.
    fn take_terminal(&self, streams: &mut dyn Streams) -> io::Result<()> {
        if let (Some(own), Some(callers)) = (&self.terminal, streams.terminal()) {
            callers.take()?;
            resize(own, callers.size())?;
        }
        Ok(())
    }

    fn wait(&self, deadline: Option<Instant>) -> io::Result<Ready> {
        let sources =
            [Some(self.control.as_fd()), Some(self.signals.as_fd()), self.stdout.as_fd(), self.stderr.as_fd()];
        let mut open: Vec<_> = sources.iter().flatten().map(|fd| PollFd::new(*fd, PollFlags::POLLIN)).collect();
        match poll(&mut open, process::timeout(deadline)) {
            Ok(_) => {}
            Err(nix::errno::Errno::EINTR) => return Ok(Ready::default()),
            Err(errno) => return Err(errno.into()),
        }
        let mut answers = open.iter().map(|fd| fd.any().unwrap_or(false));
        let mut answer = |is_open: bool| is_open && answers.next().unwrap_or(false);
        let (control, signals) = (answer(true), answer(true));
        let (stdout, stderr) = (answer(self.stdout.as_fd().is_some()), answer(self.stderr.as_fd().is_some()));
        Ok(Ready { control, signals, stdout, stderr })
    }

    /// Ends every process of the Sandbox and waits for that. A second time it does nothing.
    fn end(&mut self) -> io::Result<()> {
        self.control.hang_up();
        if !self.child.wait_until(Instant::now() + PATIENCE)? {
            self.stage.kill()?;
            if !self.child.wait_until(Instant::now() + PATIENCE)? {
                self.child.kill()?;
            }
        }
        self.child.wait()
    }
}

impl Drop for RunningSandbox {
    fn drop(&mut self) {
        // Nobody is left to be told. Closing the socket makes the Stage end the workload in any case.
        drop(self.end());
        if let Some(limits) = &mut self.limits {
            limits.dissolve();
        }
    }
}

/// Which sources have something to say.
#[derive(Clone, Copy, Debug, Default)]
struct Ready {
    control: bool,
    signals: bool,
    stdout: bool,
    stderr: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_a_stage_cannot_go_on_is_passed_on() {
        let reason = || "fork: Resource temporarily unavailable".to_owned();
        assert_eq!(End::of(Some(Message::Failed(reason()))), End::Vanished(Some(reason())));
        assert_eq!(End::of(None), End::Vanished(None));
    }
}
