//! What attacks share that runs inside: Python, since every call of the kernel can be made from it.

use std::process::Command;
use std::sync::LazyLock;

/// Why nothing can be attacked here.
pub(crate) static PYTHON_IS_MISSING: LazyLock<Option<String>> = LazyLock::new(|| {
    let answers = Command::new("/usr/bin/python3").arg("--version").output();
    match answers.is_ok_and(|output| output.status.success()) {
        true => None,
        false => Some("there is no /usr/bin/python3".to_owned()),
    }
});

/// `attempt(what, action)` says `through WHAT` if the action returns anything but `False`, and `stopped WHAT: WHY` if it
/// raises or returns that. `call` makes a system call by its numbers on x86-64 and on aarch64.
pub(crate) const PRELUDE: &str = r#"
import ctypes, errno, fcntl, os, platform, signal, socket, struct, subprocess, sys, time
libc = ctypes.CDLL(None, use_errno=True)
arm = platform.machine() == "aarch64"
def checked(result):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
def call(x86, aarch64, *arguments):
    return checked(libc.syscall(aarch64 if arm else x86, *arguments))
def attempt(what, action):
    try:
        result = action()
    except Exception as error:
        print("stopped", what + ":", errno.errorcode.get(getattr(error, "errno", None), repr(error)), flush=True)
        return False
    print("stopped" if result is False else "through", what, flush=True)
    return result is not False
def read(path):
    with open(path, "rb") as file:
        return file.read()
def release(process, request):
    "Lets a traced process go on as if nothing had been."
    if request != 16:
        checked(libc.ptrace(0x4207, process, None, None))
    os.waitpid(process, 0x40000000)
    checked(libc.ptrace(17, process, None, None))
def in_a_child(action):
    "Does something in a process of its own, which changes nothing of this one; raises what it raised."
    child = os.fork()
    if child == 0:
        try:
            action()
            os._exit(0)
        except OSError as error:
            os._exit(error.errno or 255)
        except BaseException:
            os._exit(255)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        raise OSError(code, os.strerror(code))
"#;

/// A whole program.
pub(crate) fn program(text: &str) -> String {
    format!("{PRELUDE}{text}")
}
