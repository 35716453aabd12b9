//! Many Workspaces of one repository, open at the same time.

use crate::contestants::OPEN_AT_ONCE;
use isobox_tests::Project;
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Stdio};

/// What they cost.
pub(crate) struct Open {
    /// Blocks of what lies where Workspaces do.
    pub(crate) disk_bytes: u64,
    /// Proportional share of memory of the processes of isobox that supervise them.
    pub(crate) memory_bytes: u64,
}

/// Opens them, measures, and ends them.
pub(crate) fn measure(project: &Project) -> Open {
    let mut tasks: Vec<Child> = (0..OPEN_AT_ONCE).map(|_| start(project)).collect();
    for task in &mut tasks {
        let mut began = [0; 6];
        task.stdout.as_mut().expect("a pipe").read_exact(&mut began).expect("it runs");
    }
    let memory_bytes = tasks.iter().map(|task| pss_bytes(task.id())).sum();
    let disk_bytes = project.workspaces().iter().map(|place| blocks_bytes(place)).sum();
    for mut task in tasks {
        drop(task.stdin.take());
        assert!(task.wait().expect("it ends").success());
    }
    Open { disk_bytes, memory_bytes }
}

fn start(project: &Project) -> Child {
    let script = "echo more >> README.md; echo began; read -r go || true";
    let mut command = project.isobox_command(&["tool", "-q", "--", "sh", "-c", script]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().expect("start isobox")
}

/// See proc_pid_smaps(5): what is shared counts in part.
fn pss_bytes(process: u32) -> u64 {
    let rollup = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).expect("the kernel tells");
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:")).expect("it is told");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

fn blocks_bytes(root: &Path) -> u64 {
    let Ok(metadata) = root.symlink_metadata() else { return 0 };
    let below = fs::read_dir(root).into_iter().flatten().flatten();
    metadata.blocks() * 512 + below.map(|entry| blocks_bytes(&entry.path())).sum::<u64>()
}
