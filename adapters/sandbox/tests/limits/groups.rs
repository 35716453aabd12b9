//! What is in force, and what is made for it.

use crate::stand::{Heard, Stand};
use crate::{limited, run};
use isobox_domain::limit::Limit;
use isobox_ports::RuntimeBackend;
use libtest_mimic::Failed;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) fn without_limits_nothing_is_reported(stand: &mut Stand<'_>) -> Result<(), Failed> {
    let (ending, reports, _) = run(stand, ":")?;
    assert_eq!((reports.as_slice(), ending.exceeded.as_slice()), (&[][..], &[][..]));
    Ok(())
}

pub(crate) fn what_is_in_force_is_what_was_asked_for(stand: &mut Stand<'_>) -> Result<(), Failed> {
    for (limit, text) in [
        (Limit::Time, "1h"),
        (Limit::IdleTime, "1h"),
        (Limit::Memory, "512MiB"),
        (Limit::Cpu, "1.5"),
        (Limit::CpuTime, "1h"),
        (Limit::Processes, "400"),
        (Limit::Disk, "1GiB"),
        (Limit::OpenFiles, "100"),
        (Limit::FileSize, "1GiB"),
        (Limit::Output, "1MiB"),
    ] {
        limited(stand, limit, text);
    }
    let forecast = stand.backend.limits(&stand.policy.limits);
    let (_, reports, _) = run(stand, ":")?;
    let named: Vec<_> = reports.iter().map(|report| report.limit).collect();
    // The output is kept by somebody else.
    let expected: Vec<_> = stand.policy.limits.iter().map(|(limit, _)| limit).filter(|l| *l != Limit::Output).collect();
    assert_eq!(named, expected);
    for report in &reports {
        let is_there = report.enforcement.word() != "not_enforced";
        assert_eq!(report.applied, is_there.then_some(report.asked), "{report:?}");
    }
    // A Workspace on disk has no size of its own; all else is as it was foretold.
    let others = |reports: &[isobox_domain::limit::LimitReport]| {
        reports.iter().filter(|report| report.limit != Limit::Disk).cloned().collect::<Vec<_>>()
    };
    assert_eq!(others(&reports), others(&forecast));
    let disk = reports.iter().find(|report| report.limit == Limit::Disk).expect("a report");
    assert_eq!(disk.enforcement.word(), "not_enforced");
    Ok(())
}

/// Groups of isobox whose names tell that they are of this name, in every hierarchy.
fn groups(name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if entry.file_name().to_string_lossy().starts_with(&format!("isobox-task.{name}.")) {
                    found.push(entry.path());
                }
                pending.push(entry.path());
            }
        }
    }
    found
}

pub(crate) fn no_group_is_left(stand: &mut Stand<'_>) -> Result<(), Failed> {
    limited(stand, Limit::Memory, "64MiB");
    stand.name = "no-group-is-left";
    let mut sandbox = stand.launch(&["sh", "-c", "sleep 0.1"])?;
    let is_grouped = sandbox.limits()[0].enforcement.is_enforced();
    let during = groups(stand.name);
    assert_eq!(!during.is_empty(), is_grouped || !during.is_empty());
    sandbox.supervise(&mut Heard::default())?;
    drop(sandbox);
    assert_eq!(groups(stand.name), Vec::<PathBuf>::new());
    Ok(())
}

/// Runs a workload that does not end, and says that it runs.
#[allow(clippy::print_stdout, reason = "whoever started this process waits for the word")]
pub(crate) fn supervise(backend: &dyn RuntimeBackend) -> Result<(), Failed> {
    let mut stand = Stand::new(backend)?;
    limited(&mut stand, Limit::Memory, "64MiB");
    stand.name = "killed";
    let mut sandbox = stand.launch(&["sh", "-c", "sleep 3600"])?;
    std::io::Write::write_all(&mut std::io::stdout(), b"up\n")?;
    sandbox.supervise(&mut Heard::default())?;
    Ok(())
}

pub(crate) fn what_a_killed_start_left_is_removed(stand: &mut Stand<'_>) -> Result<(), Failed> {
    let name = stand.backend.name().name();
    let mut killed = Command::new(std::env::current_exe()?).args(["supervise", name]).stdout(Stdio::piped()).spawn()?;
    let mut byte = [0];
    std::io::Read::read_exact(killed.stdout.as_mut().ok_or("a pipe")?, &mut byte)?;
    killed.kill()?;
    killed.wait()?;
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        limited(stand, Limit::Memory, "64MiB");
        run(stand, ":")?;
        let left: Vec<_> = groups("killed").into_iter().filter(|group| !is_held(group)).collect();
        if left.is_empty() {
            return Ok(());
        }
        // Its processes may take a moment to die.
        assert!(Instant::now() < deadline, "{left:?}");
    }
}

/// The other backend's case may run now.
fn is_held(group: &Path) -> bool {
    use nix::fcntl::{Flock, FlockArg};
    let opened = fs::File::open(group);
    opened.is_err() || opened.is_ok_and(|file| Flock::lock(file, FlockArg::LockSharedNonblock).is_err())
}

pub(crate) fn no_group_is_in_sight(stand: &mut Stand<'_>) -> Result<(), Failed> {
    limited(stand, Limit::Memory, "64MiB");
    let (_, reports, heard) = run(stand, "ls /sys/fs/cgroup 2> /dev/null; grep cgroup /proc/self/mounts")?;
    // A backend that contains nothing shows everything, and the report says that this may be escaped.
    assert!(heard.text().is_empty() || !reports[0].enforcement.is_enforced(), "{}", heard.text());
    Ok(())
}
