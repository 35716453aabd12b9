//! Machines that lack something, made of this one by a system call filter around a program and all that it starts.

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};
use std::collections::BTreeMap;
use std::io;
use std::process::{Command, Output, Stdio};

/// What a machine lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// Nothing that this one has.
    Whole,
    /// User namespaces: nobody makes one, as where `user.max_user_namespaces` is 0.
    WithoutUserNamespaces,
    /// Landlock: its calls are unknown, as before Linux 5.13 or where it is not built in.
    WithoutLandlock,
    /// What came to Landlock after this ABI, which is at most 7; 0 is none at all.
    OldLandlock(u8),
    /// The same, and user namespaces.
    OldLandlockAlone(u8),
    /// Room for one more ruleset of Landlock around a process.
    WithoutLandlockLayers,
}

/// clone(2) and unshare(2) with this flag make a user namespace. clone3(2) has it in memory, where no filter looks: it is
/// unknown, and the C library falls back to the other two.
const USER_NAMESPACE: u64 = 0x1000_0000;

impl Machine {
    /// Why it cannot be made of this one, if it cannot.
    pub fn obstacle(self) -> Option<&'static str> {
        (self.landlock_abi().is_some() && !nix::unistd::geteuid().is_root())
            .then_some("only root can read what a stage asks of Landlock, which others cannot trace")
    }

    /// The version that it has of Landlock, if that is an older one.
    pub const fn landlock_abi(self) -> Option<u8> {
        match self {
            Self::OldLandlock(abi) | Self::OldLandlockAlone(abi) => Some(abi),
            _ => None,
        }
    }

    /// Whether nobody makes a user namespace on it.
    pub const fn lacks_user_namespaces(self) -> bool {
        matches!(self, Self::WithoutUserNamespaces | Self::OldLandlockAlone(_))
    }

    /// Runs a command on it to its end, and returns what it printed.
    pub fn output(self, mut command: Command) -> io::Result<Output> {
        let filters = match self {
            Self::Whole => return command.output(),
            Self::OldLandlock(abi) => return old_landlock(abi, &command).output(),
            Self::WithoutLandlockLayers => return launched(LAYERED, &[], &command).output(),
            Self::OldLandlockAlone(abi) => {
                command = old_landlock(abi, &command);
                without_user_namespaces()?
            }
            Self::WithoutUserNamespaces => without_user_namespaces()?,
            Self::WithoutLandlock => unknown(&[444, 445, 446])?,
        };
        // A filter holds for a thread and what it starts, and cannot be taken off again.
        let running = std::thread::spawn(move || {
            filters.iter().try_for_each(|filter| apply_filter(filter)).map_err(io::Error::other)?;
            command.output()
        });
        running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Answers calls of Landlock as an older kernel does.
const LAUNCHER: &str = include_str!("landlock_abi.py");

/// Puts itself behind as many rulesets as the kernel lets a process have. They forbid to make block devices, and nothing else.
const LAYERED: &str = r#"
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
rights = ctypes.c_uint64(1 << 11)
ruleset = libc.syscall(444, ctypes.byref(rights), 8, 0)
assert ruleset >= 0
while libc.syscall(446, ruleset, 0) == 0:
    pass
os.close(ruleset)
os.execvp(sys.argv[1], sys.argv[1:])
"#;

/// The same command behind a process that answers its calls of Landlock.
fn old_landlock(abi: u8, command: &Command) -> Command {
    launched(LAUNCHER, &[&abi.to_string()], command)
}

/// The same command, started by a Python program. Its streams are not taken over: it has no input.
fn launched(program: &str, arguments: &[&str], command: &Command) -> Command {
    let mut launcher = Command::new("/usr/bin/python3");
    launcher.args(["-c", program]).args(arguments).arg(command.get_program()).args(command.get_args());
    launcher.env_clear().stdin(Stdio::null());
    launcher.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(directory) = command.get_current_dir() {
        launcher.current_dir(directory);
    }
    launcher
}

fn without_user_namespaces() -> io::Result<Vec<BpfProgram>> {
    let flag =
        SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(USER_NAMESPACE), USER_NAMESPACE);
    let rule = SeccompRule::new(vec![flag.map_err(io::Error::other)?]).map_err(io::Error::other)?;
    let calls = [nix::libc::SYS_clone, nix::libc::SYS_unshare].map(|call| (call, vec![rule.clone()]));
    let mut filters = vec![filter(calls.into(), nix::libc::ENOSPC)?];
    filters.extend(unknown(&[nix::libc::SYS_clone3])?);
    Ok(filters)
}

fn unknown(calls: &[i64]) -> io::Result<Vec<BpfProgram>> {
    Ok(vec![filter(calls.iter().map(|call| (*call, Vec::new())).collect(), nix::libc::ENOSYS)?])
}

fn filter(rules: BTreeMap<i64, Vec<SeccompRule>>, errno: i32) -> io::Result<BpfProgram> {
    let architecture = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
    let refusal = SeccompAction::Errno(errno.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refusal, architecture).map_err(io::Error::other)?;
    filter.try_into().map_err(io::Error::other)
}
