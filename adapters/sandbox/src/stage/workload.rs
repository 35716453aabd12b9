//! Executing the Workload Command itself.

use super::enclosure::Ruleset;
use super::terminal::Slave;
use crate::descriptors::close_on_exec_from;
use crate::limits::{Rlimit, apply_rlimits};
use crate::protocol::Plan;
use crate::signals;
use isobox_domain::escape::Escaped;
use isobox_ports::EndCause;
use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{ForkResult, Pid, fork};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What came of starting a command.
pub(super) enum Started {
    /// It runs.
    Process(Pid),
    /// It could not be executed.
    Nothing(EndCause),
}

/// Before what a child tells: why it could not confine itself, in words, which is not the command's failure.
const PREPARING: u8 = 0;

/// Before the error number of execve(2).
const EXECUTING: u8 = 1;

/// Everything that execve(2) needs, made before the fork.
struct Execution {
    /// Where the program may be, in the order in which execvp(3) tries.
    candidates: Vec<CString>,
    arguments: Vec<CString>,
    environment: Vec<CString>,
}

/// Starts the command of `plan` as execvp(3) would, with the PATH of its environment, on `terminal` if there is one, behind
/// `ruleset`.
pub(super) fn start(plan: &Plan, terminal: Option<&Slave>, ruleset: Option<Ruleset>) -> io::Result<Started> {
    let Plan { arguments, environment, .. } = plan;
    let program = arguments.first().ok_or_else(|| io::Error::other("the plan names no command"))?;
    let execution = Execution {
        candidates: c_strings(&candidates(program, path_in(environment)))?,
        arguments: c_strings(arguments)?,
        environment: c_strings(environment)?,
    };
    let (mut errors, writer) = io::pipe()?;
    // SAFETY: the Stage has a single thread, so that the child may do everything that its parent may.
    match unsafe { fork() }? {
        ForkResult::Child => {
            become_workload(&execution, plan, (terminal, ruleset), &mut File::from(std::os::fd::OwnedFd::from(writer)))
        }
        ForkResult::Parent { child } => {
            drop(writer);
            let mut error = Vec::new();
            errors.read_to_end(&mut error)?;
            match error.as_slice() {
                &[EXECUTING, a, b, c, d] => {
                    Ok(Started::Nothing(refusal(program, &execution, i32::from_le_bytes([a, b, c, d]))))
                }
                [PREPARING, why @ ..] => Err(io::Error::other(String::from_utf8_lossy(why).into_owned())),
                // The pipe closed without a word: the program is executed, or the child was killed and will be reaped.
                _ => Ok(Started::Process(child)),
            }
        }
    }
}

fn c_strings(items: &[Vec<u8>]) -> io::Result<Vec<CString>> {
    items.iter().map(|item| CString::new(item.as_slice()).map_err(io::Error::other)).collect()
}

fn path_in(environment: &[Vec<u8>]) -> &[u8] {
    environment.iter().find_map(|variable| variable.strip_prefix(b"PATH=")).unwrap_or_default()
}

fn candidates(program: &[u8], path: &[u8]) -> Vec<Vec<u8>> {
    if program.contains(&b'/') {
        return vec![program.to_vec()];
    }
    let join = |directory: &[u8]| match directory {
        // An empty element is the current directory: environ(7).
        b"" => program.to_vec(),
        _ => [directory, b"/", program].concat(),
    };
    path.split(|&byte| byte == b':').map(join).collect()
}

/// Runs in the child: never returns, and reports on `errors` why nothing could be executed.
fn become_workload(
    execution: &Execution,
    plan: &Plan,
    (terminal, ruleset): (Option<&Slave>, Option<Ruleset>),
    errors: &mut File,
) -> ! {
    let told = match prepare(&plan.rlimits, terminal, ruleset) {
        Ok(()) => [&[EXECUTING][..], &(execute(execution) as i32).to_le_bytes()].concat(),
        Err(error) => [&[PREPARING][..], error.to_string().as_bytes()].concat(),
    };
    // If the parent is gone, the child goes, too.
    drop(errors.write_all(&told));
    // SAFETY: _exit(2) ends this process without running anything of the parent's.
    unsafe { libc::_exit(127) }
}

fn prepare(rlimits: &[Rlimit], terminal: Option<&Slave>, ruleset: Option<Ruleset>) -> io::Result<()> {
    nix::unistd::setsid()?;
    terminal.map_or(Ok(()), Slave::become_streams)?;
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
    (1..=signals::LAST).for_each(signals::set_default);
    SigSet::empty().thread_set_mask()?;
    close_on_exec_from(3)?;
    apply_rlimits(rlimits)?;
    ruleset.map_or(Ok(()), Ruleset::enforce)
}

/// Tries every candidate; returns the error that says most, as execvp(3) does.
fn execute(execution: &Execution) -> Errno {
    let mut worst = Errno::ENOENT;
    for candidate in &execution.candidates {
        let Err(errno) = nix::unistd::execve(candidate, &execution.arguments, &execution.environment);
        match errno {
            Errno::ENOENT | Errno::ENOTDIR => {}
            Errno::EACCES => worst = Errno::EACCES,
            Errno::ENOEXEC => return execute_by_shell(candidate, execution),
            other => return other,
        }
    }
    worst
}

/// A text without `#!` is a script of the standard shell: exec(3), "execvp".
fn execute_by_shell(script: &CStr, execution: &Execution) -> Errno {
    let mut arguments = vec![c"/bin/sh", script];
    arguments.extend(execution.arguments.iter().skip(1).map(CString::as_c_str));
    let Err(errno) = nix::unistd::execve(c"/bin/sh", &arguments, &execution.environment);
    errno
}

fn refusal(program: &[u8], execution: &Execution, number: i32) -> EndCause {
    let (shown, errno) = (Escaped(program), Errno::from_raw(number));
    let exists = |candidate: &CString| Path::new(std::ffi::OsStr::from_bytes(candidate.to_bytes())).exists();
    match errno {
        Errno::ENOENT | Errno::ENOTDIR if execution.candidates.iter().any(exists) => {
            EndCause::NotFound(format!("the interpreter of `{shown}` is not in the sandbox"))
        }
        Errno::ENOENT | Errno::ENOTDIR if program.contains(&b'/') => {
            EndCause::NotFound(format!("`{shown}` is not in the sandbox"))
        }
        Errno::ENOENT | Errno::ENOTDIR => EndCause::NotFound(format!("`{shown}` is not on the PATH of the sandbox")),
        errno => EndCause::NotExecutable(format!("`{shown}` cannot be executed: {}", errno.desc())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_looked_up_in_every_directory_of_path_and_a_path_is_not() {
        assert_eq!(candidates(b"ls", b"/a::/b/"), [&b"/a/ls"[..], b"ls", b"/b//ls"]);
        assert_eq!(candidates(b"./ls", b"/a"), [b"./ls"]);
    }
}
