//! A hostile workload tries to get out of a real Sandbox of each backend that contains it.
//!
//! The program of this test is its own workload: started again inside, it makes the system calls of an attack and prints
//! what the kernel answered.
#![allow(unsafe_code, reason = "an attack makes system calls that no safe interface has")]

mod stand;

use isobox_domain::enforcement::{Control, Enforcement};
use isobox_domain::outcome::Exit;
use isobox_domain::policy::{NetworkAccess, WorkspaceExposure};
use isobox_ports::{Access, EndCause, Place, RuntimeBackend, Shown, WorkspaceMount};
use isobox_sandbox::{BubblewrapBackend, LandlockBackend};
use libtest_mimic::{Arguments, Failed, Trial};
use stand::{SELF_INSIDE, Stand};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::Arc;

type Attack = fn(&mut Stand<'_>) -> Result<(), Failed>;

const ATTACKS: &[(&str, Attack)] = &[
    ("nothing_of_the_host_is_visible_but_programs", nothing_of_the_host_is_visible_but_programs),
    ("secrets_of_the_machine_cannot_be_read", secrets_of_the_machine_cannot_be_read),
    ("only_private_places_can_be_written", only_private_places_can_be_written),
    ("kernel_settings_cannot_be_written", kernel_settings_cannot_be_written),
    ("devices_of_the_host_cannot_be_changed", devices_of_the_host_cannot_be_changed),
    ("no_capability_is_held", no_capability_is_held),
    ("set_user_id_programs_gain_nothing", set_user_id_programs_gain_nothing),
    ("host_processes_are_out_of_sight", host_processes_are_out_of_sight),
    ("the_stage_cannot_be_touched", the_stage_cannot_be_touched),
    ("host_paths_are_not_on_the_stages_command_line", host_paths_are_not_on_the_stages_command_line),
    ("a_descriptor_of_the_caller_is_not_inherited", a_descriptor_of_the_caller_is_not_inherited),
    ("forbidden_system_calls_are_refused", forbidden_system_calls_are_refused),
    ("the_other_doors_to_system_calls_are_shut", the_other_doors_to_system_calls_are_shut),
    ("nothing_types_into_a_terminal", nothing_types_into_a_terminal),
    ("host_sockets_are_out_of_reach", host_sockets_are_out_of_reach),
    ("no_packet_leaves", no_packet_leaves),
    ("loopback_and_socket_pairs_work", loopback_and_socket_pairs_work),
    ("the_machine_has_no_name", the_machine_has_no_name),
    ("a_read_path_can_be_read_and_not_written", a_read_path_can_be_read_and_not_written),
    ("a_read_only_workspace_cannot_be_written", a_read_only_workspace_cannot_be_written),
    ("an_inherited_network_is_the_hosts", an_inherited_network_is_the_hosts),
    ("what_leaks_is_said", what_leaks_is_said),
];

/// What cannot be kept where the kernel refuses a fresh `/proc`.
const NEED_FRESH_PROC: [&str; 2] = ["host_processes_are_out_of_sight", "host_paths_are_not_on_the_stages_command_line"];

fn main() {
    isobox_sandbox::stage::enter_if_asked();
    let words: Vec<String> = std::env::args().collect();
    match words.get(1).map(String::as_str) {
        Some("system-call") => system_call(&words[2..]),
        Some("old-door") => old_door(),
        Some("connect") => connect(&words[2]),
        Some("use-loopback") => use_loopback().expect("loopback works"),
        Some("send-datagram") => send_datagram(&words[2]),
        _ => run_attacks(),
    }
}

fn run_attacks() {
    let arguments = Arguments::from_args();
    let bubblewrap = on("bubblewrap", Arc::new(BubblewrapBackend::new()));
    let landlock = on("landlock", Arc::new(LandlockBackend::new()));
    libtest_mimic::run(&arguments, bubblewrap.into_iter().chain(landlock).collect()).exit();
}

/// Every attack, in a directory and on an overlay.
fn on(name: &'static str, backend: Arc<dyn RuntimeBackend>) -> Vec<Trial> {
    let capabilities = backend.capabilities();
    let is_fresh = capabilities.enforcement(Control::Processes).is_some_and(Enforcement::is_enforced);
    let obstacle = |attack: &str| match &capabilities.unavailable {
        None if !is_fresh && NEED_FRESH_PROC.contains(&attack) => Some("the kernel refuses a fresh /proc".to_owned()),
        other => other.clone(),
    };
    let in_directory = |&(title, attack): &(&'static str, Attack)| {
        let backend = Arc::clone(&backend);
        let test = move || attack(&mut Stand::new(&*backend)?);
        trial(&format!("{name}::{title}"), obstacle(title), test)
    };
    let overlay = backend.overlay(Some(&std::env::temp_dir()));
    let on_overlay = |&(title, attack): &(&'static str, Attack)| {
        let (backend, overlay) = (Arc::clone(&backend), overlay.clone());
        let obstacle = obstacle(title).or_else(|| overlay.clone().err());
        let test = move || attack(&mut Stand::on_overlay(&*backend, overlay?, None)?);
        trial(&format!("{name}::overlay::{title}"), obstacle, test)
    };
    ATTACKS.iter().map(in_directory).chain(ATTACKS.iter().map(on_overlay)).collect()
}

fn trial(name: &str, obstacle: Option<String>, test: impl FnOnce() -> Result<(), Failed> + Send + 'static) -> Trial {
    match obstacle {
        None => Trial::test(name, test),
        Some(reason) => Trial::test(format!("{name} ({reason})"), || Ok(())).with_ignored_flag(true),
    }
}

// ---- inside ----

/// Makes the system call of the given number with up to six numbers; prints the errno, or `ok`.
fn system_call(words: &[String]) {
    let mut numbers = words.iter().map(|word| word.parse::<i64>().expect("a number"));
    let call = numbers.next().expect("the number of a system call");
    let mut argument = || numbers.next().unwrap_or(0);
    let a = [argument(), argument(), argument(), argument(), argument(), argument()];
    // SAFETY: all the suite passes is refused before the kernel looks at an address, or has null addresses.
    let result = unsafe { libc::syscall(call, a[0], a[1], a[2], a[3], a[4], a[5]) };
    report(if result < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) });
}

fn report(result: std::io::Result<()>) {
    let word = result.map_or_else(|error| error.raw_os_error().unwrap_or(-1).to_string(), |()| "ok".to_owned());
    std::io::stdout().write_all(word.as_bytes()).expect("standard output is open");
}

/// Asks for its PID by the 32-bit entry of the kernel.
fn old_door() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: getpid of the 32-bit table takes no argument and touches no memory.
    unsafe {
        std::arch::asm!("int 0x80", inout("rax") 20_u64 => _, out("r8") _, out("r9") _, out("r10") _, out("r11") _);
    }
    report(Ok(()));
}

/// Connects to `tcp:PORT`, `abstract:NAME` or `path:PATH`.
fn connect(target: &str) {
    let (kind, name) = target.split_once(':').expect("a kind of address");
    report(match kind {
        "tcp" => TcpStream::connect(format!("127.0.0.1:{name}")).map(drop),
        "abstract" => SocketAddr::from_abstract_name(name).and_then(|to| UnixStream::connect_addr(&to)).map(drop),
        _ => UnixStream::connect(name).map(drop),
    });
}

fn send_datagram(to: &str) {
    let bound = if to.starts_with('[') { "[::]:0" } else { "0.0.0.0:0" };
    report(UdpSocket::bind(bound).and_then(|socket| socket.send_to(b"x", to)).map(drop));
}

fn use_loopback() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut client = TcpStream::connect(listener.local_addr()?)?;
    client.write_all(b"tcp")?;
    let mut word = [0; 3];
    listener.accept()?.0.read_exact(&mut word)?;
    let (one, other) = (UdpSocket::bind("[::1]:0")?, UdpSocket::bind("[::1]:0")?);
    one.send_to(b"udp", other.local_addr()?)?;
    other.recv(&mut word)?;
    let (mut left, mut right) = UnixStream::pair()?;
    left.write_all(&word)?;
    right.read_exact(&mut word)?;
    std::io::stdout().write_all(&word)
}

// ---- outside ----

fn answer(stand: &Stand<'_>, words: &[&str]) -> Result<String, Failed> {
    let (ending, heard) = stand.run(&[&[SELF_INSIDE], words].concat())?;
    assert_eq!(ending.cause, EndCause::Exited(Exit::Code(0)), "{words:?}: {}", heard.complaints());
    Ok(heard.text())
}

fn errno_of(stand: &Stand<'_>, call: i64, arguments: &[i64]) -> Result<String, Failed> {
    let numbers: Vec<String> = [&[call], arguments].concat().iter().map(i64::to_string).collect();
    let words: Vec<&str> = numbers.iter().map(String::as_str).collect();
    answer(stand, &[&["system-call"], &words[..]].concat())
}

fn nothing_of_the_host_is_visible_but_programs(stand: &mut Stand<'_>) -> Result<(), Failed> {
    let top = stand.shell("ls -A /")?;
    let expected = [".isobox", "bin", "dev", "etc", "home", "lib", "proc", "sbin", "tmp", "usr", "var", "workspace"];
    let unexpected: Vec<_> = top.lines().filter(|name| !expected.contains(name) && !name.starts_with("lib")).collect();
    assert!(unexpected.is_empty(), "{unexpected:?}");
    assert_eq!(
        stand.shell("ls -A /home /tmp /var/tmp /home/isobox")?,
        "/home:\nisobox\n\n/home/isobox:\n\n/tmp:\n\n/var/tmp:\n"
    );
    assert_eq!(stand.shell("cut -d: -f1 /etc/passwd")?.lines().nth(1), Some("nobody"));
    assert_eq!(stand.shell("stat -c %a /etc /etc/ssl /home /home/isobox")?, "755\n755\n755\n700\n");
    assert_eq!(stand.shell("test -e /run -o -e /sys -o -e /root -o -e /etc/machine-id || echo none")?, "none\n");
    Ok(())
}

fn secrets_of_the_machine_cannot_be_read(stand: &mut Stand<'_>) -> Result<(), Failed> {
    let files = "/etc/shadow /etc/gshadow /etc/sudoers /root/.bashrc /etc/ssl/private/x /proc/kcore /proc/keys \
        /proc/kmsg /proc/1/environ /proc/1/root/etc/passwd /proc/1/maps /dev/mem /dev/kmsg /dev/vda /dev/sda";
    let script = format!("for file in {files}; do head -c 1 $file 2>/dev/null >&2 && echo $file; done; true");
    assert_eq!(stand.shell(&script)?, "");
    Ok(())
}

fn only_private_places_can_be_written(stand: &mut Stand<'_>) -> Result<(), Failed> {
    let places = "/ /usr /usr/bin /etc /bin /proc /var /home /.isobox /tmp /var/tmp /home/isobox /workspace /dev/shm";
    let script = format!("for place in {places}; do touch $place/x 2>/dev/null && echo $place; done; true");
    assert_eq!(stand.shell(&script)?, "/tmp\n/var/tmp\n/home/isobox\n/workspace\n/dev/shm\n");
    assert_eq!(
        stand.shell("cd && echo $HOME && pwd && echo x > .profile && cat ~/.profile")?,
        "/home/isobox\n/home/isobox\nx\n"
    );
    let attack = format!("(echo x >> {SELF_INSIDE}) 2>/dev/null || (echo x >> /etc/passwd) 2>/dev/null || echo none");
    assert_eq!(stand.shell(&attack)?, "none\n");
    Ok(())
}

fn kernel_settings_cannot_be_written(stand: &mut Stand<'_>) -> Result<(), Failed> {
    assert_eq!(
        stand.shell("find /proc/sys /proc/sysrq-trigger /proc/irq /proc/bus -type f -writable 2>/dev/null")?,
        ""
    );
    let script = "for file in $(find /proc/sys/kernel /proc/sys/net /proc/sys/user -type f); do \
        (: > $file) 2>/dev/null && echo $file; done; true";
    assert_eq!(stand.shell(script)?, "");
    Ok(())
}

fn devices_of_the_host_cannot_be_changed(stand: &mut Stand<'_>) -> Result<(), Failed> {
    let script = "for device in /dev/[!p]*; do test -c $device || continue; \
        (chmod $(stat -c %a $device) $device || chown 0 $device) 2>/dev/null && echo $device; done; \
        echo x > /dev/null && head -c 1 /dev/zero | wc -c";
    assert_eq!(stand.shell(script)?, "1\n");
    Ok(())
}

fn no_capability_is_held(stand: &mut Stand<'_>) -> Result<(), Failed> {
    let status =
        stand.shell("grep -E '^(CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status")?;
    let none = "0000000000000000";
    let expected = format!(
        "CapInh:\t{none}\nCapPrm:\t{none}\nCapEff:\t{none}\nCapBnd:\t{none}\nCapAmb:\t{none}\nNoNewPrivs:\t1\nSeccomp:\t2\n"
    );
    assert_eq!(status, expected);
    Ok(())
}

fn set_user_id_programs_gain_nothing(stand: &mut Stand<'_>) -> Result<(), Failed> {
    let unguarded = stand.shell("awk '$5 != \"/\" && $6 !~ /nosuid/ {print $5}' /proc/self/mountinfo")?;
    assert_eq!(unguarded, "");
    let script =
        "cp /bin/sh /workspace/sh && chmod 6755 /workspace/sh && /workspace/sh -p -c 'grep CapEff /proc/self/status'";
    assert_eq!(stand.shell(script)?, "CapEff:\t0000000000000000\n");
    Ok(())
}

fn host_processes_are_out_of_sight(stand: &mut Stand<'_>) -> Result<(), Failed> {
    assert_eq!(stand.shell("cat /proc/1/comm; set -- /proc/[0-9]*; echo $# $$")?, "isobox-stage\n2 2\n");
    Ok(())
}

fn the_stage_cannot_be_touched(stand: &mut Stand<'_>) -> Result<(), Failed> {
    const PTRACE_SEIZE: i64 = 0x4206;
    let eperm = libc::EPERM.to_string();
    assert_eq!(errno_of(stand, libc::SYS_ptrace, &[i64::from(libc::PTRACE_ATTACH), 1])?, eperm);
    assert_eq!(errno_of(stand, libc::SYS_ptrace, &[PTRACE_SEIZE, 1])?, eperm);
    assert_eq!(errno_of(stand, libc::SYS_prlimit64, &[1, i64::from(libc::RLIMIT_CPU), 0, 0])?, eperm);
    let script = "kill -KILL 1; kill -STOP 1; kill -TERM 1; for name in exe cwd root fd/3 mem environ; do \
        (head -c 1 /proc/1/$name) > /dev/null 2>&1 && echo $name; (: > /proc/1/$name) 2> /dev/null && echo $name; done; exit 7";
    let (ending, heard) = stand.run(&["sh", "-c", script])?;
    assert_eq!((ending.cause, heard.text().as_str()), (EndCause::Exited(Exit::Code(7)), ""));
    Ok(())
}

fn host_paths_are_not_on_the_stages_command_line(stand: &mut Stand<'_>) -> Result<(), Failed> {
    assert_eq!(stand.shell("tr '\\0' ' ' < /proc/1/cmdline")?, "/.isobox/isobox-stage 3 ");
    Ok(())
}

fn a_descriptor_of_the_caller_is_not_inherited(stand: &mut Stand<'_>) -> Result<(), Failed> {
    let secret = std::fs::File::open("/proc/self/status")?;
    // SAFETY: takes a number that nothing uses, from 50 up; without FD_CLOEXEC, as a careless caller of isobox leaves it.
    let copy = unsafe { libc::fcntl(secret.as_raw_fd(), libc::F_DUPFD, 50) };
    assert!(copy >= 50);
    let listed = stand.shell("exec ls /proc/self/fd");
    // SAFETY: the number was opened above, and nothing else owns it.
    unsafe { libc::close(copy) };
    assert_eq!(listed?, "0\n1\n2\n3\n");
    Ok(())
}

fn forbidden_system_calls_are_refused(stand: &mut Stand<'_>) -> Result<(), Failed> {
    use libc::*;
    let family = |family: c_int| [i64::from(family), i64::from(SOCK_DGRAM), 0];
    let flags = |flags: c_int| [i64::from(flags)];
    let packet = [i64::from(AF_PACKET), i64::from(SOCK_RAW), 0];
    let mptcp = [i64::from(AF_INET), i64::from(SOCK_STREAM), 262];
    let raw = [i64::from(AF_INET), i64::from(SOCK_RAW), i64::from(IPPROTO_ICMP)];
    let stream = |family: c_int| [i64::from(family), i64::from(SOCK_STREAM), 0];
    let clone_user = [i64::from(CLONE_NEWUSER | SIGCHLD)];
    let calls: &[(&str, i64, &[i64], i32)] = &[
        ("keyctl", SYS_keyctl, &[0, -3, 0], EPERM),
        ("add_key", SYS_add_key, &[], EPERM),
        ("request_key", SYS_request_key, &[], EPERM),
        ("io_uring_setup", SYS_io_uring_setup, &[8, 0], ENOSYS),
        ("userfaultfd", SYS_userfaultfd, &[1], EPERM),
        ("mount", SYS_mount, &[], EPERM),
        ("umount2", SYS_umount2, &[], EPERM),
        ("pivot_root", SYS_pivot_root, &[], EPERM),
        ("fsopen", SYS_fsopen, &[], EPERM),
        ("open_tree", SYS_open_tree, &[], EPERM),
        // Linux without it says ENOSYS to whoever may call it.
        ("open_tree_attr", 467, &[], EPERM),
        ("mount_setattr", SYS_mount_setattr, &[], EPERM),
        ("setns", SYS_setns, &[0, 0], EPERM),
        ("bpf", SYS_bpf, &[], EPERM),
        ("perf_event_open", SYS_perf_event_open, &[], EPERM),
        ("finit_module", SYS_finit_module, &[], EPERM),
        ("open_by_handle_at", SYS_open_by_handle_at, &[], EPERM),
        ("unshare user", SYS_unshare, &flags(CLONE_NEWUSER), EPERM),
        ("unshare mount", SYS_unshare, &flags(CLONE_NEWNS), EPERM),
        ("unshare time", SYS_unshare, &flags(0x80), EPERM),
        ("clone user", SYS_clone, &clone_user, EPERM),
        ("clone3", SYS_clone3, &[], ENOSYS),
        ("vsock", SYS_socket, &stream(AF_VSOCK), EPROTONOSUPPORT),
        ("packet", SYS_socket, &packet, EPROTONOSUPPORT),
        ("alg", SYS_socket, &family(AF_ALG), EPROTONOSUPPORT),
        ("vsock, high bits set", SYS_socket, &[i64::from(AF_VSOCK) | 1 << 32, 1, 0], EPROTONOSUPPORT),
        ("mptcp", SYS_socket, &mptcp, EPROTONOSUPPORT),
        ("raw icmp", SYS_socket, &raw, EPERM),
        ("mknod", SYS_mknodat, &[], EFAULT),
    ];
    for (name, call, arguments, expected) in calls {
        assert_eq!(errno_of(stand, *call, arguments)?, expected.to_string(), "{name}");
    }
    Ok(())
}

fn the_other_doors_to_system_calls_are_shut(stand: &mut Stand<'_>) -> Result<(), Failed> {
    if cfg!(not(target_arch = "x86_64")) {
        return Ok(());
    }
    const X32: i64 = 0x4000_0000;
    assert_eq!(errno_of(stand, X32 | libc::SYS_getpid, &[])?, libc::ENOSYS.to_string());
    let (ending, heard) = stand.run(&[SELF_INSIDE, "old-door"])?;
    assert_eq!((ending.cause, heard.text()), (EndCause::Exited(Exit::Signal(libc::SIGSYS as u8)), String::new()));
    Ok(())
}

fn nothing_types_into_a_terminal(stand: &mut Stand<'_>) -> Result<(), Failed> {
    let eperm = libc::EPERM.to_string();
    let requests = [libc::TIOCSTI, libc::TIOCLINUX].map(|request| i64::try_from(request).unwrap_or(0));
    for request in requests.into_iter().chain(requests.map(|request| request | 1 << 32)) {
        assert_eq!(errno_of(stand, libc::SYS_ioctl, &[0, request, 0])?, eperm, "{request:#x}");
    }
    assert_eq!(stand.shell("(: < /dev/tty) 2>/dev/null || echo none; cut -d' ' -f7 /proc/self/stat")?, "none\n0\n");
    Ok(())
}

fn host_sockets_are_out_of_reach(stand: &mut Stand<'_>) -> Result<(), Failed> {
    let name = format!("isobox-attack-{}", std::process::id());
    let _abstract = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
    let tcp = TcpListener::bind("127.0.0.1:0")?;
    let directory = tempfile::TempDir::new()?;
    let path = directory.path().join("socket");
    let _path = UnixListener::bind(&path)?;
    let refused = libc::ECONNREFUSED.to_string();
    assert_eq!(answer(stand, &["connect", &format!("abstract:{name}")])?, refused);
    assert_eq!(answer(stand, &["connect", &format!("tcp:{}", tcp.local_addr()?.port())])?, refused);
    assert_eq!(answer(stand, &["connect", &format!("path:{}", path.display())])?, libc::ENOENT.to_string());
    Ok(())
}

fn no_packet_leaves(stand: &mut Stand<'_>) -> Result<(), Failed> {
    assert_eq!(stand.shell("tail -n +3 /proc/net/dev | cut -d: -f1")?.trim(), "lo");
    let unreachable = libc::ENETUNREACH.to_string();
    for to in ["192.0.2.1:53", "255.255.255.255:67", "224.0.0.251:5353", "[2001:db8::1]:53"] {
        assert_eq!(answer(stand, &["send-datagram", to])?, unreachable, "{to}");
    }
    Ok(())
}

fn loopback_and_socket_pairs_work(stand: &mut Stand<'_>) -> Result<(), Failed> {
    assert_eq!(answer(stand, &["use-loopback"])?, "udp");
    Ok(())
}

fn the_machine_has_no_name(stand: &mut Stand<'_>) -> Result<(), Failed> {
    assert_eq!(stand.shell("uname -n")?, "isobox\n");
    Ok(())
}

fn a_read_path_can_be_read_and_not_written(stand: &mut Stand<'_>) -> Result<(), Failed> {
    let toolchain = tempfile::TempDir::new()?;
    let file = toolchain.path().join("file");
    std::fs::write(&file, "tool\n")?;
    let (source, places) = (toolchain.path().to_owned(), vec![Place::At(toolchain.path().to_owned())]);
    stand.exposed.shown = vec![Shown { source, places, access: Access::ReadOnly }];
    let script = format!("cat {0}; (echo x > {0}) 2>/dev/null || echo unwritten", file.display());
    assert_eq!(stand.shell(&script)?, "tool\nunwritten\n");
    Ok(())
}

fn a_read_only_workspace_cannot_be_written(stand: &mut Stand<'_>) -> Result<(), Failed> {
    stand.policy.workspace = WorkspaceExposure::ReadOnly;
    assert_eq!(stand.shell("touch x 2>/dev/null || echo unwritten")?, "unwritten\n");
    assert!(!stand.host_path().join("x").exists());
    Ok(())
}

fn an_inherited_network_is_the_hosts(stand: &mut Stand<'_>) -> Result<(), Failed> {
    stand.policy.network = NetworkAccess::Inherited;
    let tcp = TcpListener::bind("127.0.0.1:0")?;
    assert_eq!(answer(stand, &["connect", &format!("tcp:{}", tcp.local_addr()?.port())])?, "ok");
    assert_eq!(stand.shell("test -f /etc/resolv.conf && echo there")?, "there\n");
    Ok(())
}

fn what_leaks_is_said(stand: &mut Stand<'_>) -> Result<(), Failed> {
    let name = stand.host_path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let leaks = stand.shell("cat /proc/self/mountinfo")?.contains(&name);
    let said = stand.capabilities().limitations.iter().any(|said| said.contains("mountinfo"));
    // An overlay is shown without a path.
    assert_eq!(leaks, said && matches!(stand.mount, WorkspaceMount::Directory { .. }));
    Ok(())
}
