"""Runs a command where the kernel has an older Landlock: its calls are answered as that one would.

usage: landlock_abi.py ABI COMMAND..., with ABI from 0, which is none, to 7. The command and all that it starts ask through a
filter of system calls, whose questions this process answers.
"""

import ctypes
import errno
import fcntl
import os
import platform
import select
import socket
import struct
import sys

CREATE, ADD, RESTRICT = 444, 445, 446
SECCOMP = {"x86_64": 317, "aarch64": 277}[platform.machine()]
NOTIF_RECV, NOTIF_SEND = 0xC0502100, 0xC0182101
CONTINUE = 1

abi, command = int(sys.argv[1]), sys.argv[2:]
libc = ctypes.CDLL(None, use_errno=True)

# What each version can rule on, by linux/landlock.h.
FILES = (1 << (13 + (abi >= 2) + (abi >= 3) + (abi >= 5))) - 1
NETWORK = 3 if abi >= 4 else 0
SCOPES = 3 if abi >= 6 else 0
LENGTH = 8 if abi < 4 else 16 if abi < 6 else 24


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def listen():
    """Puts this process behind the filter; the descriptor on which questions arrive."""
    step = struct.Struct("=HBBI").pack
    program = step(0x20, 0, 0, 0)
    for left, call in ((2, CREATE), (1, ADD), (0, RESTRICT)):
        program += step(0x15, left + 1, 0, call)
    program += step(0x06, 0, 0, 0x7FFF0000) + step(0x06, 0, 0, 0x7FC00000)
    kept = ctypes.create_string_buffer(program)
    filter_ = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(kept))
    checked(libc.prctl(38, 1, 0, 0, 0))
    return checked(libc.syscall(SECCOMP, 1, 8, filter_))


def created(pid, attributes, size, flags):
    if flags == 1 and attributes == 0 and size == 0:
        return abi
    if flags:
        return -errno.EINVAL
    if not 8 <= size <= 4096:
        return None
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        memory.seek(attributes)
        asked = memory.read(size)
    if any(asked[LENGTH:]):
        return -errno.E2BIG
    files, network, scopes = struct.unpack("=QQQ", asked[:24].ljust(24, b"\0"))
    return -errno.EINVAL if files & ~FILES or network & ~NETWORK or scopes & ~SCOPES else None


def answered(pid, call, arguments):
    """What the older Landlock says; None where it says what this one does."""
    if abi == 0:
        return -errno.ENOSYS
    if call == CREATE:
        return created(pid, *arguments[:3])
    if call == ADD:
        return -errno.EINVAL if arguments[1] == 2 and not NETWORK else None
    return -errno.EINVAL if arguments[1] and abi < 7 else None


def answer(listener):
    question = bytearray(80)
    try:
        fcntl.ioctl(listener, NOTIF_RECV, question)
        number, pid, _, call, _, _, *arguments = struct.unpack("=QIIiIQ6Q", question)
        said = answered(pid, call, arguments)
        value, error, flags = (0, 0, CONTINUE) if said is None else (max(said, 0), min(said, 0), 0)
        fcntl.ioctl(listener, NOTIF_SEND, struct.pack("=QqiI", number, value, error, flags))
    except OSError as failed:
        # Whoever asked is gone.
        if failed.errno not in (errno.ENOENT, errno.ESRCH, errno.EINTR):
            raise


def main():
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        listener = listen()
        socket.send_fds(theirs, [b"x"], [listener])
        os.close(listener)
        os.execvp(command[0], command)
    theirs.close()
    listener = socket.recv_fds(ours, 1, 1)[1][0]
    ended = os.pidfd_open(child)
    while True:
        ready, _, _ = select.select([listener, ended], [], [])
        if ended in ready:
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            sys.exit(code if code >= 0 else 128 - code)
        answer(listener)


main()
