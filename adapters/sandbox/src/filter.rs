//! The system calls that a workload may not make.

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};
use std::collections::BTreeMap;
use std::io;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Answered as if the kernel did not have them. clone3(2) passes its flags in memory, where a filter cannot look; libc
/// falls back to clone(2) on this very error.
const ABSENT: [i64; 4] =
    [libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

/// open_tree_attr(2) of Linux 6.15, which has this number on every architecture; libc does not name it yet.
const OPEN_TREE_ATTR: i64 = 467;

/// Not permitted, whatever the arguments: kernel keyrings, mounts and namespaces, modules and new kernels, and interfaces
/// into the kernel with a history of holes that a development tool does not need.
const FORBIDDEN: [i64; 38] = [
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_userfaultfd,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_lookup_dcookie,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_acct,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

/// Flags of clone(2) and unshare(2) that make a namespace.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// CLONE_NEWTIME: for clone(2) this bit is part of the exit signal's number, so that only unshare(2) is asked about it.
const NEW_TIME: i32 = 0x80;

/// ioctl(2) requests that type into a terminal as if its user had: TIOCSTI and TIOCLINUX of asm-generic/ioctls.h. C
/// libraries do not agree on their type.
const TERMINAL_INJECTION: [u64; 2] = [0x5412, 0x541c];

/// The address families a workload may use. All others are refused: vsock, packet, Bluetooth, and whatever comes.
const FAMILIES: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Without a mount namespace every Unix socket of the host has its name, and nothing but this keeps a workload from it.
const FAMILIES_ALONE: [i32; 3] = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Kinds of Unix socket whose pairs cannot be told to talk to somebody else. See unix(7).
const BOUND_PAIRS: [i32; 2] = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET];
const KIND_MASK: i32 = 0xf;

/// What an IPC namespace would keep apart.
const IPC: [i64; 13] = [
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Multipath TCP is not seen by rules on TCP. `IPPROTO_MPTCP` of linux/in.h.
const MPTCP: i32 = 262;

fn architecture() -> io::Result<TargetArch> {
    std::env::consts::ARCH.try_into().map_err(io::Error::other)
}

/// How much is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// What a Sandbox in namespaces of its own does not need.
    InNamespaces,
    /// Besides, what its namespaces would keep apart, and every socket but pairs.
    AloneDenyingNetwork,
    /// The same, with sockets for the host's network.
    AloneOnHostNetwork,
}

/// The filters, each as an array of the kernel's `struct sock_filter`. A system call passes if all let it pass. A process of
/// a foreign architecture is killed.
pub(crate) fn programs(strictness: Strictness) -> io::Result<Vec<Vec<u8>>> {
    Ok(compiled(strictness)?.iter().map(encode).collect())
}

/// Puts this process and all that it starts under the filters. It can gain no privileges any more.
pub(crate) fn apply(strictness: Strictness) -> io::Result<()> {
    compiled(strictness)?.iter().try_for_each(|program| seccompiler::apply_filter(program).map_err(io::Error::other))
}

fn compiled(strictness: Strictness) -> io::Result<Vec<BpfProgram>> {
    let mut forbidden = forbidden()?;
    if strictness != Strictness::InNamespaces {
        forbidden.extend(IPC.map(|call| (call, Vec::new())));
        // Whoever has the same user has limits that are not the workload's business, and no namespace hides them.
        forbidden.insert(libc::SYS_prlimit64, vec![rule(vec![(0, SeccompCmpOp::Ne, 0)])?]);
    }
    let rules = [(absent(), libc::ENOSYS), (forbidden, libc::EPERM), (sockets(strictness)?, libc::EPROTONOSUPPORT)];
    let mut programs = Vec::new();
    for (rules, errno) in rules {
        programs.push(compile(rules, errno)?);
    }
    #[cfg(target_arch = "x86_64")]
    programs.push(no_x32());
    Ok(programs)
}

fn compile(rules: Rules, errno: i32) -> io::Result<BpfProgram> {
    let refusal = SeccompAction::Errno(errno.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refusal, architecture()?).map_err(io::Error::other)?;
    filter.try_into().map_err(io::Error::other)
}

fn absent() -> Rules {
    ABSENT.into_iter().map(|call| (call, Vec::new())).collect()
}

fn forbidden() -> io::Result<Rules> {
    let mut rules: Rules = FORBIDDEN.into_iter().map(|call| (call, Vec::new())).collect();
    #[cfg(target_arch = "x86_64")]
    rules.extend([libc::SYS_kexec_file_load, libc::SYS_ioperm, libc::SYS_iopl].map(|call| (call, Vec::new())));
    rules.insert(libc::SYS_clone, any_bit_of(&NAMESPACES)?);
    rules.insert(libc::SYS_unshare, any_bit_of(&[&NAMESPACES[..], &[NEW_TIME]].concat())?);
    // The kernel looks at the low 32 bits of a request, and so must this.
    let requests = TERMINAL_INJECTION.into_iter().map(|request| rule(vec![(1, SeccompCmpOp::Eq, request)]));
    rules.insert(libc::SYS_ioctl, requests.collect::<io::Result<_>>()?);
    // The limits of the Stage, which has the same user, are not the workload's business.
    rules.insert(libc::SYS_prlimit64, vec![rule(vec![(0, SeccompCmpOp::Eq, 1)])?]);
    Ok(rules)
}

fn any_bit_of(flags: &[i32]) -> io::Result<Vec<SeccompRule>> {
    let flag_is_set = |flag: &i32| {
        let flag = u64::from(flag.unsigned_abs());
        rule(vec![(0, SeccompCmpOp::MaskedEq(flag), flag)])
    };
    flags.iter().map(flag_is_set).collect()
}

fn sockets(strictness: Strictness) -> io::Result<Rules> {
    let is_none_of = |families: &[i32]| {
        rule(families.iter().map(|family| (0, SeccompCmpOp::Ne, u64::from(family.unsigned_abs()))).collect())
    };
    let is_mptcp = rule(vec![(2, SeccompCmpOp::Eq, u64::from(MPTCP.unsigned_abs()))])?;
    let sockets = match strictness {
        Strictness::InNamespaces => vec![is_none_of(&FAMILIES)?, is_mptcp],
        Strictness::AloneOnHostNetwork => vec![is_none_of(&FAMILIES_ALONE)?, is_mptcp],
        Strictness::AloneDenyingNetwork => Vec::new(),
    };
    let pairs = match strictness {
        Strictness::InNamespaces => vec![is_none_of(&FAMILIES)?],
        _ => [vec![is_none_of(&[libc::AF_UNIX])?], kinds_that_find_others()?].concat(),
    };
    Ok(Rules::from([(libc::SYS_socket, sockets), (libc::SYS_socketpair, pairs)]))
}

fn kinds_that_find_others() -> io::Result<Vec<SeccompRule>> {
    let others = (0..=KIND_MASK).filter(|kind| !BOUND_PAIRS.contains(kind));
    let mask = u64::from(KIND_MASK.unsigned_abs());
    others.map(|kind| rule(vec![(1, SeccompCmpOp::MaskedEq(mask), u64::from(kind.unsigned_abs()))])).collect()
}

/// A rule that holds if all conditions on 32-bit arguments (index, comparison, value) do.
fn rule(conditions: Vec<(u8, SeccompCmpOp, u64)>) -> io::Result<SeccompRule> {
    let condition =
        |(index, comparison, value)| SeccompCondition::new(index, SeccompCmpArgLen::Dword, comparison, value);
    let conditions = conditions.into_iter().map(condition).collect::<Result<_, _>>().map_err(io::Error::other)?;
    SeccompRule::new(conditions).map_err(io::Error::other)
}

/// x32 has the architecture of x86-64 and other numbers, from 2^30 up: a second door to the same calls, so it is shut.
#[cfg(target_arch = "x86_64")]
fn no_x32() -> BpfProgram {
    use seccompiler::sock_filter;
    const X32_BIT: u32 = 0x4000_0000;
    const fn step(code: u32, jt: u8, jf: u8, k: u32) -> sock_filter {
        sock_filter { code: code as u16, jt, jf, k }
    }
    vec![
        // The first word of seccomp_data is the number of the call.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, X32_BIT),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs()),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

/// The program as an array of the kernel's `struct sock_filter`.
fn encode(program: &BpfProgram) -> Vec<u8> {
    let encode_one = |step: &seccompiler::sock_filter| {
        let mut bytes = [0; 8];
        bytes[..2].copy_from_slice(&step.code.to_ne_bytes());
        bytes[2..4].copy_from_slice(&[step.jt, step.jf]);
        bytes[4..].copy_from_slice(&step.k.to_ne_bytes());
        bytes
    };
    program.iter().flat_map(encode_one).collect()
}
