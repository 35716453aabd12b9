//! Faults in the system calls of `isobox`, by strace: the n-th call fails, or the process dies there.

use crate::{Outcome, Project, outcome};
use std::fs;
use std::process::Command;

/// What happens at a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The call returns this error and does nothing.
    Error(&'static str),
    /// The process is killed before the call has an effect.
    Kill,
}

/// Calls that strace counts together; names that a machine does not have are ignored (`?`).
pub const CALL_GROUPS: [&str; 4] = [
    "write,writev,pwrite64,copy_file_range,sendfile,ftruncate,?fallocate",
    "fsync,fdatasync",
    "?rename,?renameat,renameat2",
    "?link,linkat,?symlink,symlinkat,?mkdir,mkdirat,?unlink,unlinkat,?rmdir",
];

/// The faults that every call meets.
pub const FAULTS: [Fault; 3] = [Fault::Error("ENOSPC"), Fault::Error("EIO"), Fault::Kill];

/// How a command went whose n-th call met a fault.
#[derive(Debug)]
pub struct Injected {
    /// What it left.
    pub outcome: Outcome,
    /// Whether it made as many calls at all.
    pub was_hit: bool,
}

/// Runs `isobox` with a fault at the `nth` call of `calls` in its main thread.
pub fn run_with_fault(project: &Project, arguments: &[&str], calls: &str, fault: Fault, nth: u32) -> Injected {
    let log = project.scratch().join("strace.log");
    let action = match fault {
        Fault::Error(errno) => format!("error={errno}"),
        Fault::Kill => "signal=KILL".to_owned(),
    };
    let mut command: Command = project.command("strace");
    command.args(["-q", "-o"]).arg(&log).arg(format!("--trace={calls}"));
    command.arg(format!("--inject={calls}:{action}:when={nth}"));
    command.arg(crate::isobox_program()).args(arguments).stdin(std::process::Stdio::null());
    let outcome = outcome(command.output().expect("run strace"));
    let trace = String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()).into_owned();
    fs::remove_file(&log).ok();
    let was_hit = trace.contains("(INJECTED)") || trace.contains("killed by SIGKILL");
    Injected { outcome, was_hit }
}
