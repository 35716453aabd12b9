//! What is measured: isobox in its ways, and what people do without it.

use crate::measure::{Measured, median, peak_kib, time};
use crate::open;
use crate::repository::{self, Size};
use isobox_tests::{Project, User};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::process::Command;
use std::time::{Duration, Instant};

// What comes before the blank is the order of the rows.
pub(crate) const BARE: &str = "01 bare bwrap";
pub(crate) const WARM: &str = "02 isobox tool, warm";
pub(crate) const COLD: &str = "03 isobox tool, cold";
pub(crate) const NEXT: &str = "04 isobox tool, next commit";
pub(crate) const COPY: &str = "05 isobox tool --workspace copy";
pub(crate) const MANY: &str = "06 isobox tool, many changes";
pub(crate) const STATUS: &str = "07 git status";
pub(crate) const CLONE: &str = "08 git clone";
pub(crate) const SHARED: &str = "09 git clone --shared, diff, remove";
pub(crate) const WORKTREE: &str = "10 git worktree add, diff, remove";
pub(crate) const DIFF: &str = "11 git diff of many changes";

/// Parts of a warm call, as its record has them.
pub(crate) const CREATION: &str = "02 of it the workspace";
pub(crate) const CAPTURE: &str = "02 of it the capture";
pub(crate) const CAPTURE_MANY: &str = "06 of it the capture";

/// Files that change where many do.
pub(crate) const MANY_FILES: usize = 10_000;
/// Files that the next commit changes.
const NEXT_FILES: usize = 100;

const EDIT: &str = "echo more >> README.md";
/// A clone in which many files are changed.
const CHANGED: &str = "../scratch/changed";

/// Tasks that are open at once.
pub(crate) const OPEN_AT_ONCE: usize = 100;

/// Says how far a measurement is.
struct Progress {
    what: String,
    since: Instant,
}

impl Progress {
    fn begin(user: User, size: Size) -> Self {
        Self { what: format!("{user:?} user, {size:?}"), since: Instant::now() }
    }

    #[expect(clippy::print_stdout, reason = "it takes minutes")]
    fn tell(&self, what: &str) {
        println!("{}: {what}, after {:.0} s", self.what, self.since.elapsed().as_secs_f64());
    }
}

/// What was found of one contestant so far.
#[derive(Default)]
struct Times(BTreeMap<&'static str, Vec<Duration>>);

impl Times {
    fn took(&mut self, name: &'static str, time: Duration) {
        self.0.entry(name).or_default().push(time);
    }
}

/// Measures every contestant in turn in a repository of `size`.
pub(crate) fn measure(size: Size, user: User, runs: usize) -> Measured {
    let progress = Progress::begin(user, size);
    let project = repository::make(size, user);
    // The first call also makes the store, and finds out what works here.
    time(tool(&project, &[], EDIT));
    if size.files() >= MANY_FILES {
        time(git(&project, &format!("git clone -q --shared . {CHANGED} && cd {CHANGED} && {}", edit_many())));
    }
    progress.tell("made the repository");
    let (mut times, mut peaks) = (Times::default(), BTreeMap::new());
    for run in 0..runs {
        // Nobody is to wait for the disk to take what others left.
        nix::unistd::sync();
        times.took(BARE, time(bare(&project)));
        warm(&project, &mut times);
        times.took(STATUS, time(git(&project, "git status --porcelain")));
        without_overlays(&project, &mut times);
        cold(&project, size, run, &mut times);
        progress.tell(&format!("run {} of {runs}", run + 1));
    }
    let mut peak = |name, command: Command| peaks.insert(name, peak_kib(&command, &project.scratch()));
    peak(WARM, tool(&project, &[], EDIT));
    peak(COPY, tool(&project, &["--workspace", "copy"], EDIT));
    if size.files() >= MANY_FILES {
        peak(MANY, tool(&project, &[], &edit_many()));
        commit_some(&project, runs);
        peak(NEXT, tool(&project, &[], EDIT));
    }
    forget(&project);
    peak(COLD, tool(&project, &[], EDIT));
    progress.tell("measured memory");
    let medians = times.0.into_iter().map(|(name, times)| (name, median(&times))).collect();
    Measured { size, medians, peaks_kib: peaks, open: open::measure(&project) }
}

/// A call whose copy is there, and the share of it that is making the Workspace, and capturing what changed in it.
fn warm(project: &Project, times: &mut Times) {
    times.took(WARM, time(tool(project, &[], EDIT)));
    time(tool(project, &["--timings"], EDIT));
    times.took(CREATION, phase(project, "lay_out") + phase(project, "workspace"));
    times.took(CAPTURE, phase(project, "capture"));
}

/// A part of the newest call, whose record has such.
fn phase(project: &Project, name: &str) -> Duration {
    let record = project.isobox(&["show", "--json", "@latest"]).stdout;
    let record: serde_json::Value = serde_json::from_str(&record).expect("a document");
    Duration::from_micros(record["timings_us"][name].as_u64().expect("a number"))
}

/// What there is besides overlays.
fn without_overlays(project: &Project, times: &mut Times) {
    let [shared, worktree] = [
        ["git clone -q --shared . ../scratch/copy", "rm -rf ../scratch/copy"],
        ["git worktree add -q --detach ../scratch/copy", "git worktree remove --force ../scratch/copy"],
    ]
    .map(|[make, remove]| without_isobox(make, remove));
    times.took(COPY, time(tool(project, &["--workspace", "copy"], EDIT)));
    times.took(CLONE, time(git(project, "git clone -q . ../scratch/clone")));
    time(git(project, "rm -rf ../scratch/clone"));
    times.took(SHARED, time(git(project, &shared)));
    times.took(WORKTREE, time(git(project, &worktree)));
}

/// A call that makes its copy, from nothing and from that of the commit before.
fn cold(project: &Project, size: Size, run: usize, times: &mut Times) {
    forget(project);
    times.took(COLD, time(tool(project, &[], EDIT)));
    if size.files() >= MANY_FILES {
        many(project, times);
        commit_some(project, run);
        times.took(NEXT, time(tool(project, &[], EDIT)));
    }
}

/// Many files changed, in a Sandbox and in a clone that was made before.
fn many(project: &Project, times: &mut Times) {
    times.took(DIFF, time(git(project, &format!("git -C {CHANGED} diff"))));
    times.took(MANY, time(tool(project, &["--timings"], &edit_many())));
    times.took(CAPTURE_MANY, phase(project, "capture"));
}

fn edit_many() -> String {
    format!("find tree -type f | LC_ALL=C sort | head -n {MANY_FILES} | while read -r f; do echo more >> \"$f\"; done")
}

fn bare(project: &Project) -> Command {
    let mut command = project.command("bwrap");
    command.args(["--ro-bind", "/", "/", "--unshare-all", "--dev", "/dev", "--proc", "/proc", "sh", "-c", "true"]);
    command
}

fn tool(project: &Project, flags: &[&str], script: &str) -> Command {
    project.isobox_command(&[&["tool", "-q"], flags, &["--", "sh", "-c", script]].concat())
}

fn git(project: &Project, script: &str) -> Command {
    let mut command = project.command("sh");
    command.args(["-c", script]);
    command
}

/// A private copy, the same edit, what it changed, and away with it.
fn without_isobox(make: &str, remove: &str) -> String {
    format!("{make} && (cd ../scratch/copy && {EDIT} && git diff) && {remove}")
}

/// Removes what isobox keeps for the next call.
fn forget(project: &Project) {
    let cache = project.home().join(".cache/isobox/pristine");
    loop {
        match fs::remove_dir_all(&cache) {
            // The last call may still tidy up there.
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return,
            removed => return removed.expect("the cache is removed"),
        }
    }
}

/// Commits a change of a hundred files, so that the source is clean again.
fn commit_some(project: &Project, run: usize) {
    let files = (0..NEXT_FILES).map(|n| repository::path((run * NEXT_FILES + n) * 7 % Size::Large.files()));
    for file in files {
        let path = project.repository().join(file);
        let text = fs::read_to_string(&path).expect("a file");
        fs::write(&path, format!("{text}// {run}\n")).expect("a file");
    }
    project.commit_all("Change a hundred files");
}
