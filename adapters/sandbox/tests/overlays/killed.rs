//! Whatever is killed, nothing stays mounted.

use crate::memory::in_memory;
use crate::stand::{Heard, Stand};
use crate::{fill, mounted_by, print};
use isobox_ports::{MemorySize, Overlay, OverlayKind, WorkspaceMount};
use isobox_sandbox::BubblewrapBackend;
use libtest_mimic::Failed;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longest that anything here may take on a busy machine.
const PROMPTLY: Duration = Duration::from_secs(30);

/// Launches in what `kind` says, at `directory`, until it is killed.
pub(crate) fn supervise(kind: &str, directory: &Path) -> Result<(), Failed> {
    let kind = if kind == "privileged" { OverlayKind::Privileged } else { OverlayKind::Unprivileged };
    let memory = Some(MemorySize { bytes: 1 << 20, inodes: 100 });
    let (lowers, place) = (vec![directory.join("lower")], directory.join("place"));
    let backend = BubblewrapBackend::new();
    let mut stand = Stand::new(&backend)?;
    stand.mount = WorkspaceMount::Overlay(Overlay { lowers, place, kind, memory });
    let mut sandbox = stand.launch(&["sleep", "1000"])?;
    print("up\n");
    sandbox.supervise(&mut Heard::default())?;
    Ok(())
}

pub(crate) fn a_killed_supervisor_leaves_no_mount(stand: &mut Stand<'_>) -> Result<(), Failed> {
    in_memory(stand, 1 << 20, 100)?;
    let kind = match stand.overlay().kind {
        OverlayKind::Privileged => "privileged",
        OverlayKind::Unprivileged => "unprivileged",
    };
    let mut supervisor = Command::new("/proc/self/exe")
        .args(["supervise", kind])
        .arg(stand.host_path())
        .env("TMPDIR", stand.host_path())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut up = [0; 3];
    supervisor.stdout.as_mut().ok_or("no standard output")?.read_exact(&mut up)?;
    let place = stand.overlay().place.clone();
    assert_ne!(mounted_by(&place), Vec::<String>::new());
    supervisor.kill()?;
    supervisor.wait()?;
    ends(|| mounted_by(&place).is_empty())
}

/// Killed from outside, `bwrap` takes the Sandbox with it.
pub(crate) fn a_killed_program_leaves_no_mount(stand: &mut Stand<'_>) -> Result<(), Failed> {
    fill(stand)?;
    let mut sandbox = stand.launch(&["sleep", "1000"])?;
    let place = stand.overlay().place.clone();
    let programs = mounted_by(&place);
    assert_ne!(programs, Vec::<String>::new());
    for program in programs {
        let program: i32 = program.parse()?;
        // SAFETY: kill(2) takes two numbers; a process of this test's own launch has the place mounted, and no other.
        unsafe { libc::kill(program, libc::SIGKILL) };
    }
    assert!(sandbox.supervise(&mut Heard::default()).is_err());
    ends(|| mounted_by(&place).is_empty())
}

fn ends(is_over: impl Fn() -> bool) -> Result<(), Failed> {
    let deadline = Instant::now() + PROMPTLY;
    while !is_over() {
        if Instant::now() > deadline {
            return Err("it is still there".into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
