//! Starting a program as the first process of namespaces of its own.

use nix::errno::Errno;
use nix::sched::CloneFlags;
use nix::sys::signal::{SigSet, SigmaskHow};
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, getegid, geteuid};
use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int, c_long, c_void};
use std::io;
use std::os::fd::RawFd;
use std::ptr;

/// What the child needs to stand on until it executes the program, in bytes: it calls nothing that takes much.
const STACK_BYTES: usize = 64 * 1024;

/// The namespaces that a program is the first process of.
#[derive(Clone, Debug)]
pub(crate) struct Namespaces {
    flags: CloneFlags,
    /// Files of a user namespace and what is written to them.
    maps: Vec<(&'static CStr, String)>,
}

impl Namespaces {
    /// The kinds that `flags` name. In a user namespace this user and this group alone are known, and the program holds every
    /// capability.
    pub(crate) fn of(flags: CloneFlags) -> Self {
        let (user, group) = (geteuid(), getegid());
        let maps = vec![
            // Without privileges a group can be mapped only where groups can no longer be dropped: user_namespaces(7).
            (c"/proc/self/setgroups", "deny".to_owned()),
            (c"/proc/self/uid_map", format!("{user} {user} 1")),
            (c"/proc/self/gid_map", format!("{group} {group} 1")),
        ];
        let maps = if flags.contains(CloneFlags::CLONE_NEWUSER) { maps } else { Vec::new() };
        Self { flags, maps }
    }
}

/// What the child does, made before it is there: it may neither allocate nor take a lock.
struct Birth<'a> {
    program: &'a CStr,
    arguments: Vec<*const c_char>,
    descriptors: &'a [RawFd],
    maps: &'a [(&'static CStr, String)],
    /// Which step failed, and why.
    failed: Cell<Option<(&'static str, c_int)>>,
}

/// Starts `program` in a session of its own with an empty environment, default signals, and `descriptors` as its descriptors
/// 0, 1, 2, …; all of them are above those numbers, and every other one is closed on exec.
pub(super) fn spawn(
    namespaces: &Namespaces,
    program: &CStr,
    arguments: &[CString],
    descriptors: &[RawFd],
) -> io::Result<Pid> {
    let arguments = arguments.iter().map(|argument| argument.as_ptr()).chain([ptr::null()]).collect();
    let maps = &namespaces.maps;
    let birth = Birth { program, arguments, descriptors, maps, failed: Cell::new(None) };
    let mut stack = vec![0_u128; STACK_BYTES / size_of::<u128>()];
    let flags = namespaces.flags.bits() | libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // A handler that ran in the child would change this process.
    let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
    // SAFETY: the child runs on a stack of its own and makes system calls alone, on values that outlive it: CLONE_VFORK keeps
    // this thread here until it has executed the program or is gone. It does not return. It shares `failed` with this
    // thread, which sleeps. See clone(2) and vfork(2).
    let pid = unsafe {
        libc::clone(be_born, stack.as_mut_ptr_range().end.cast(), flags, (&raw const birth).cast_mut().cast())
    };
    let pid = Errno::result(pid);
    before.thread_set_mask()?;
    let pid = Pid::from_raw(pid.map_err(|errno| while_doing("make namespaces", errno as c_int))?);
    match birth.failed.get() {
        None => Ok(pid),
        Some((step, errno)) => {
            waitpid(pid, None).ok();
            Err(while_doing(step, errno))
        }
    }
}

fn while_doing(step: &str, errno: c_int) -> io::Error {
    let errno = Errno::from_raw(errno);
    io::Error::new(io::Error::from(errno).kind(), format!("{step}: {}", errno.desc()))
}

extern "C" fn be_born(birth: *mut c_void) -> c_int {
    // SAFETY: `spawn` passes a `Birth` that outlives this call, and does nothing with it meanwhile.
    let birth = unsafe { &*birth.cast::<Birth<'_>>() };
    let (step, errno) = birth.execute();
    birth.failed.set(Some((step, errno)));
    // SAFETY: ends this process without running anything of its parent's.
    unsafe { libc::_exit(127) }
}

type Failed = (&'static str, c_int);

impl Birth<'_> {
    /// Returns only what kept it from executing the program.
    fn execute(&self) -> Failed {
        let Err(failed) = self.prepare();
        failed
    }

    fn prepare(&self) -> Result<std::convert::Infallible, Failed> {
        // SAFETY: takes nothing and touches no memory.
        tried("make a session", unsafe { libc::setsid() }.into())?;
        self.maps.iter().try_for_each(|(file, text)| put(file, text.as_bytes()))?;
        if !self.maps.is_empty() {
            keep_capabilities()?;
        }
        for (place, &descriptor) in (0..).zip(self.descriptors) {
            // SAFETY: touches no memory; the numbers are a child's own.
            tried("pass descriptors", unsafe { libc::dup2(descriptor, place) }.into())?;
        }
        reset_signals();
        let environment = [ptr::null::<c_char>()];
        // SAFETY: the program and each argument end with a NUL, and both lists with a null pointer.
        let result = unsafe { libc::execve(self.program.as_ptr(), self.arguments.as_ptr(), environment.as_ptr()) };
        Err(("execute the stage", last_errno(result.into())))
    }
}

fn last_errno(_failed: c_long) -> c_int {
    // SAFETY: reads a number of this thread, which the child shares with its sleeping parent.
    unsafe { *libc::__errno_location() }
}

fn tried(step: &'static str, result: c_long) -> Result<c_long, Failed> {
    if result < 0 { Err((step, last_errno(result))) } else { Ok(result) }
}

fn put(file: &CStr, bytes: &[u8]) -> Result<(), Failed> {
    const STEP: &str = "map this user into a user namespace";
    // SAFETY: the path ends with a NUL; bytes and length are of one slice; the descriptor is this function's.
    unsafe {
        let descriptor = libc::open(file.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        tried(STEP, descriptor.into())?;
        let written = tried(STEP, libc::write(descriptor, bytes.as_ptr().cast(), bytes.len()) as c_long);
        libc::close(descriptor);
        written.map(drop)
    }
}

/// Who is not root loses its capabilities by executing a program, unless they are ambient. See capabilities(7).
fn keep_capabilities() -> Result<(), Failed> {
    const STEP: &str = "keep the capabilities of a user namespace";
    let header = [crate::capabilities::VERSION_3, 0];
    let mut sets = [[0_u32; 3]; 2];
    // SAFETY: version 3 of the header has two words, and its sets are twice three: effective, permitted, inheritable.
    unsafe {
        tried(STEP, libc::syscall(libc::SYS_capget, header.as_ptr(), sets.as_mut_ptr()))?;
        for [_, permitted, inheritable] in &mut sets {
            *inheritable = *permitted;
        }
        tried(STEP, libc::syscall(libc::SYS_capset, header.as_ptr(), sets.as_ptr()))?;
    }
    let raise = libc::c_long::from(libc::PR_CAP_AMBIENT_RAISE);
    for capability in 0..crate::capabilities::MOST {
        let is_held = sets[(capability / 32) as usize][1] & (1 << (capability % 32)) != 0;
        if is_held {
            // SAFETY: takes numbers and touches no memory.
            let raised = unsafe { libc::prctl(libc::PR_CAP_AMBIENT, raise, c_long::from(capability), 0_i64, 0_i64) };
            tried(STEP, raised.into())?;
        }
    }
    Ok(())
}

/// Every signal as a program expects it. A Rust program ignores SIGPIPE, and isobox holds back those that end it.
fn reset_signals() {
    (1..=crate::signals::LAST).for_each(crate::signals::set_default);
    let none = 0_u64;
    let nothing = ptr::null_mut::<u64>();
    // SAFETY: the kernel reads 8 bytes of `none`, the size that is passed, and writes nothing.
    unsafe {
        libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const none, nothing, size_of::<u64>());
    }
}
