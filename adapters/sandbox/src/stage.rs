//! The Stage: isobox's own small process inside every Sandbox, which starts the workload and reports how it ended.
//!
//! It is PID 1 of the Sandbox's PID namespace, or on `host` the subreaper of the workload's tree. When isobox is gone
//! its socket reads as ended, and the Stage ends the workload: so it is the watchdog, too.

pub(crate) mod attacks;
mod confinement;
pub(crate) mod devices;
pub(crate) mod enclosure;
mod holder;
pub(crate) mod mounter;
mod terminal;
mod tree;
mod workload;

use crate::descriptors::close_on_exec_from;
use crate::limits::TERMINATE;
use crate::protocol::{CONTROL_FD, Channel, Message, PLAN_FD, Plan, Reach, Report, STAGE_NAME};
use enclosure::Ruleset;
use isobox_domain::outcome::Exit;
use isobox_ports::EndCause;
use nix::fcntl::{FcntlArg, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use workload::Started;

/// Becomes the Stage, the mounter that there is before one, a holder of what is written in memory, or a workload that attacks its Sandbox, if this process was started
/// as such, and then never returns.
///
/// Called first thing in `main`, before any thread. A process is a Stage if its first argument (its name) ends in
/// `isobox-stage`, its second and last is the number of its control socket, and that and its plan are open.
pub fn enter_if_asked() {
    attacks::attack_if_asked();
    let outcome = match mounter::is_asked() {
        Some(told_at) => mounter::run(told_at),
        None if is_asked() => run(),
        None if holder::is_asked() => holder::run(),
        None => return,
    };
    let failure = match outcome {
        Ok(never) => match never {},
        Err(failure) => failure,
    };
    // SAFETY: descriptor 3 is the control socket by the protocol, and nothing uses it after this.
    let control = Channel::of(unsafe { OwnedFd::from_raw_fd(CONTROL_FD) });
    // If isobox is gone, nobody is left to be told.
    drop(control.send(&Message::Failed(failure.to_string()).encode()));
    std::process::exit(1);
}

fn is_asked() -> bool {
    let mut arguments = std::env::args_os();
    let is_named = arguments.next().is_some_and(|name| Path::new(&name).ends_with(STAGE_NAME));
    let is_numbered = arguments.next().is_some_and(|word| word.as_bytes() == CONTROL_FD.to_string().as_bytes());
    is_named && is_numbered && arguments.next().is_none() && is_open(CONTROL_FD) && is_open(PLAN_FD)
}

fn is_open(fd: i32) -> bool {
    // SAFETY: the number is used for one query, which fails with EBADF if it is not open.
    fcntl(unsafe { BorrowedFd::borrow_raw(fd) }, FcntlArg::F_GETFD).is_ok()
}

fn run() -> io::Result<Infallible> {
    // No other process of the Sandbox may trace this one, look through its descriptors or write to its memory: all run
    // as the same user. See ptrace(2), "Ptrace access mode checking".
    prctl::set_dumpable(false)?;
    close_on_exec_from(CONTROL_FD)?;
    // SAFETY: descriptor 3 is the control socket by the protocol. Its other owner, `enter_if_asked`, takes over only
    // when this function returned an error, and `ManuallyDrop` keeps it open until then.
    let control = std::mem::ManuallyDrop::new(Channel::of(unsafe { OwnedFd::from_raw_fd(CONTROL_FD) }));
    let plan = read_plan()?;
    let children = children_signal()?;
    if plan.reach == Reach::Tree {
        prctl::set_child_subreaper(true)?;
    }
    let ruleset = plan.enclosure.as_ref().map(|enclosure| enclosure::enter(enclosure, &control)).transpose()?;
    if plan.reach == Reach::Namespace || plan.enclosure.is_some() {
        confinement::verify(plan.reach)?;
    }
    control.send(&Message::Ready.encode())?;
    if control.receive()?.is_none() {
        plan.enclosure.as_ref().inspect(|enclosure| enclosure::leave(enclosure));
        std::process::exit(0);
    }
    let report = perform(&plan, ruleset, &control, &children)?;
    plan.enclosure.as_ref().inspect(|enclosure| enclosure::leave(enclosure));
    control.send(&Message::Ended(report).encode())?;
    std::process::exit(0);
}

fn read_plan() -> io::Result<Plan> {
    // SAFETY: descriptor 4 is the plan by the protocol, and nothing else owns it.
    let mut file = unsafe { File::from_raw_fd(PLAN_FD) };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Plan::decode(&bytes).ok_or_else(|| io::Error::other("the plan of the stage cannot be decoded"))
}

/// Blocks every signal for this process and gives a descriptor that reads as ready when a child ended.
fn children_signal() -> io::Result<SignalFd> {
    SigSet::all().thread_block()?;
    let mut children = SigSet::empty();
    children.add(Signal::SIGCHLD);
    Ok(SignalFd::with_flags(&children, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?)
}

/// Enters the working directory, or says why not.
fn enter(directory: &[u8]) -> Result<(), String> {
    let path = Path::new(std::ffi::OsStr::from_bytes(directory));
    std::env::set_current_dir(path).map_err(|error| {
        let shown = isobox_domain::escape::Escaped(directory);
        format!("the working directory {shown} cannot be entered: {error}")
    })
}

/// Runs the workload to its end, and ends whatever it left.
fn perform(plan: &Plan, ruleset: Option<Ruleset>, control: &Channel, children: &SignalFd) -> io::Result<Report> {
    let slave = match plan.terminal {
        Some(wanted) => {
            let terminal = terminal::open(wanted)
                .map_err(|error| io::Error::new(error.kind(), format!("open a terminal in the sandbox: {error}")))?;
            control.send_with(&Message::Terminal.encode(), terminal.master.as_fd())?;
            Some(terminal.slave)
        }
        None => None,
    };
    // Not before: the Workspace is filled while the Sandbox comes up.
    let started = match enter(&plan.directory) {
        Ok(()) => workload::start(plan, slave.as_ref(), ruleset)?,
        Err(refusal) => Started::Nothing(EndCause::NotExecutable(refusal)),
    };
    let cause = match started {
        Started::Process(pid) => {
            release_streams()?;
            watch(pid, plan.reach, control, children)?
        }
        Started::Nothing(cause) => cause,
    };
    let killed_processes = tree::end(plan.reach)?;
    report(cause, killed_processes)
}

/// Lets go of the workload's streams: whoever is at their other end sees when the workload closes them.
fn release_streams() -> io::Result<()> {
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    nix::unistd::dup2_stdin(&nothing)?;
    nix::unistd::dup2_stdout(&nothing)?;
    nix::unistd::dup2_stderr(&nothing)?;
    Ok(())
}

/// Waits until `pid` ended, or isobox hung up: then it is killed. Meanwhile isobox may ask the workload to end.
fn watch(pid: Pid, reach: Reach, control: &Channel, children: &SignalFd) -> io::Result<EndCause> {
    loop {
        while let Some((ended, exit)) = tree::reap()? {
            if ended == pid {
                return Ok(EndCause::Exited(exit));
            }
        }
        let mut awaited =
            [PollFd::new(control.as_fd(), PollFlags::POLLIN), PollFd::new(children.as_fd(), PollFlags::POLLIN)];
        match poll(&mut awaited, PollTimeout::NONE) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        if awaited[0].any().unwrap_or(false) {
            match control.receive()?.as_deref() {
                // isobox knows what it hung up for; this value only says that the command did not end by itself.
                None => return Ok(EndCause::Exited(Exit::Signal(Signal::SIGKILL as u8))),
                Some(TERMINATE) => tree::terminate(reach)?,
                Some(_) => {}
            }
        }
        while children.read_signal()?.is_some() {}
    }
}

fn report(cause: EndCause, killed_processes: u64) -> io::Result<Report> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let microseconds =
        |time: nix::sys::time::TimeVal| u64::try_from(time.tv_sec() * 1_000_000 + time.tv_usec()).unwrap_or(0);
    Ok(Report {
        cause,
        user_cpu_us: microseconds(usage.user_time()),
        system_cpu_us: microseconds(usage.system_time()),
        // getrusage(2) counts in KiB on Linux.
        peak_memory_bytes: u64::try_from(usage.max_rss()).unwrap_or(0).saturating_mul(1024),
        killed_processes,
    })
}
