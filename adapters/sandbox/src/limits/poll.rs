//! Adding up the processes of a workload where no control group does: proc(5).

use nix::sys::statfs::statfs;
use nix::unistd::{SysconfVar, sysconf};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What all processes of a tree have in use at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    /// Processes and threads, without the root of the tree.
    pub(super) tasks: u64,
    pub(super) memory_bytes: u64,
    pub(super) cpu_ms: u64,
}

/// The processes below a Stage.
pub(super) struct Tree {
    stage: i32,
    page_bytes: u64,
    ticks_per_s: u64,
    /// File systems in memory that the Sandbox alone has, as this process reaches them; found with the first look.
    in_memory: Option<Vec<PathBuf>>,
}

/// The fields of proc_pid_stat(5) that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    parent: i32,
    /// Own CPU time and that of children that were waited for, in ticks.
    own: u64,
    waited_for: u64,
    threads: u64,
    resident_pages: u64,
}

impl Tree {
    pub(super) fn below(stage: i32) -> Self {
        let of =
            |variable, usual| sysconf(variable).ok().flatten().and_then(|n| u64::try_from(n).ok()).unwrap_or(usual);
        let (page_bytes, ticks_per_s) = (of(SysconfVar::PAGE_SIZE, 4096), of(SysconfVar::CLK_TCK, 100));
        Self { stage, page_bytes, ticks_per_s: ticks_per_s.max(1), in_memory: None }
    }

    /// Adds up. Memory that processes share counts once where that decides whether it is more than `most_memory`.
    /// `written_bytes` are in memory besides.
    pub(super) fn look(&mut self, most_memory: Option<u64>, written_bytes: u64) -> Sum {
        let processes = self.processes();
        let mut sum = Sum::default();
        let mut ticks = 0_u64;
        for (pid, stat) in &processes {
            ticks += stat.own + stat.waited_for;
            if *pid != self.stage {
                sum.tasks += stat.threads;
                sum.memory_bytes += stat.resident_pages.saturating_mul(self.page_bytes);
            }
        }
        sum.cpu_ms = ticks.saturating_mul(1000) / self.ticks_per_s;
        if let Some(most) = most_memory {
            let files = self.files_in_memory() + written_bytes;
            if sum.memory_bytes + files > most {
                let pids = processes.iter().filter(|(pid, _)| *pid != self.stage);
                sum.memory_bytes =
                    pids.map(|(pid, stat)| proportional(*pid).unwrap_or(stat.resident_pages * self.page_bytes)).sum();
            }
            sum.memory_bytes += files;
        }
        sum
    }

    /// The Stage and everything below it. What ended meanwhile is not there any more.
    fn processes(&self) -> Vec<(i32, Stat)> {
        // Kernels built without CONFIG_PROC_CHILDREN list none.
        let is_listed = Path::new(&format!("/proc/{0}/task/{0}/children", self.stage)).exists();
        if is_listed { by_children(self.stage) } else { by_parents(self.stage) }
    }

    fn files_in_memory(&mut self) -> u64 {
        let stage = self.stage;
        let roots = self.in_memory.get_or_insert_with(|| own_file_systems(stage));
        let used = |path: &PathBuf| {
            let found = statfs(path).ok()?;
            let blocks = found.blocks().saturating_sub(found.blocks_free());
            Some(blocks.saturating_mul(u64::try_from(found.block_size()).ok()?))
        };
        roots.iter().filter_map(used).sum()
    }
}

fn by_children(root: i32) -> Vec<(i32, Stat)> {
    let (mut found, mut pending) = (Vec::new(), vec![root]);
    while let Some(pid) = pending.pop() {
        let Some(stat) = stat_of(pid) else { continue };
        found.push((pid, stat));
        children(pid, stat.threads, &mut pending);
    }
    found
}

/// The same from what every process of the machine says of its parent, which costs a look at each of them.
fn by_parents(root: i32) -> Vec<(i32, Stat)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let mut left: Vec<(i32, Stat)> = pids.filter_map(|pid| Some((pid, stat_of(pid)?))).collect();
    let mut found: Vec<(i32, Stat)> = left.extract_if(.., |(pid, _)| *pid == root).collect();
    let mut seen = 0;
    while let Some((parent, _)) = found.get(seen).copied() {
        found.extend(left.extract_if(.., |(_, stat)| stat.parent == parent));
        seen += 1;
    }
    found
}

fn stat_of(pid: i32) -> Option<Stat> {
    stat_in(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// How many processes and threads this user has on the machine, as far as can be seen; `None` for root, whom RLIMIT_NPROC does
/// not bind.
pub(super) fn tasks_of_user() -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    let user = nix::unistd::getuid();
    let is_own = |entry: &fs::DirEntry| entry.metadata().is_ok_and(|metadata| metadata.uid() == user.as_raw());
    let processes = fs::read_dir("/proc").ok()?.flatten().filter(is_own);
    let threads = |entry: fs::DirEntry| Some(stat_in(&fs::read(entry.path().join("stat")).ok()?)?.threads);
    (!user.is_root()).then(|| processes.filter_map(threads).sum())
}

/// Adds the children of each thread of a process.
fn children(pid: i32, threads: u64, pending: &mut Vec<i32>) {
    let mut add = |path: &Path| {
        let listed = fs::read_to_string(path).unwrap_or_default();
        pending.extend(listed.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
    };
    if threads <= 1 {
        return add(Path::new(&format!("/proc/{pid}/task/{pid}/children")));
    }
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return };
    tasks.flatten().for_each(|task| add(&task.path().join("children")));
}

/// The name of a process may itself hold `)` and blanks.
fn stat_in(line: &[u8]) -> Option<Stat> {
    let end_of_name = line.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(line.get(end_of_name + 1..)?).ok()?;
    // The first field after the name is the third.
    let field = |number: usize| rest.split_ascii_whitespace().nth(number - 3)?.parse::<u64>().ok();
    Some(Stat {
        parent: i32::try_from(field(4)?).ok()?,
        own: field(14)? + field(15)?,
        waited_for: field(16)? + field(17)?,
        threads: field(20)?,
        resident_pages: field(24)?,
    })
}

/// The memory of a process, what it shares divided by how many share it: proc_pid_smaps(5). It costs a walk over all that it
/// has, so that it is asked for only when much depends on it.
fn proportional(pid: i32) -> Option<u64> {
    let told = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// File systems in memory that are mounted in the Sandbox and not here: its `/tmp`, its HOME, its `/dev/shm`.
fn own_file_systems(stage: i32) -> Vec<PathBuf> {
    let mounts = |path: String| fs::read_to_string(path).unwrap_or_default();
    let (here, there) = (mounts("/proc/self/mountinfo".to_owned()), mounts(format!("/proc/{stage}/mountinfo")));
    let of_host: HashSet<&str> = here.lines().filter_map(|line| line.split(' ').nth(2)).collect();
    let mut seen = HashSet::new();
    let own = there.lines().filter_map(|line| {
        let (front, back) = line.split_once(" - ")?;
        let mut fields = front.split(' ').skip(2);
        let (device, _root, point) = (fields.next()?, fields.next()?, fields.next()?);
        let is_own = back.starts_with("tmpfs ") && !of_host.contains(device) && seen.insert(device);
        is_own.then(|| PathBuf::from(format!("/proc/{stage}/root{point}")))
    });
    own.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_cannot_forge_what_it_uses() {
        let line = b"7 (a) S 1 1 1 1) R 1 7 7 0 -1 0 1 2 3 4 10 20 30 40 20 0 5 0 99 4096 250 1 2";
        let expected = Stat { parent: 1, own: 30, waited_for: 70, threads: 5, resident_pages: 250 };
        assert_eq!(stat_in(line), Some(expected));
        assert_eq!(stat_in(b"7 (a) R 1"), None);
    }

    #[test]
    fn a_child_is_seen_with_its_memory_and_its_time() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("it starts");
        let mut tree = Tree::below(i32::try_from(std::process::id()).expect("a pid"));
        // It has no memory of its own until it executes.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        let mut sum = Sum::default();
        while sum.memory_bytes == 0 && std::time::Instant::now() < deadline {
            sum = tree.look(Some(1), 0);
        }
        let own = i32::try_from(std::process::id()).expect("a pid");
        let pids = |found: Vec<(i32, Stat)>| found.into_iter().map(|(pid, _)| pid).collect::<HashSet<_>>();
        let (by_children, by_parents) = (pids(by_children(own)), pids(by_parents(own)));
        let pid = i32::try_from(child.id()).expect("a pid");
        child.kill().expect("it is a child");
        child.wait().expect("it is a child");
        assert!(by_children.is_superset(&HashSet::from([own, pid])), "{by_children:?}");
        assert!(by_parents.is_superset(&HashSet::from([own, pid])), "{by_parents:?}");
        assert!(!by_parents.contains(&1), "{by_parents:?}");
        assert!(sum.tasks >= 1 && sum.memory_bytes > 0, "{sum:?}");
    }
}
