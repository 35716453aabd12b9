//! What is measured: isobox in its ways, and what people do without it.

use crate::measure::{Measured, median, peak_kib, time};
use crate::repository::{self, Size};
use isobox_tests::{Project, User};
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::time::Duration;

pub(crate) const BARE: &str = "1 bare bwrap";
pub(crate) const WARM: &str = "2 isobox tool, warm";
pub(crate) const COLD: &str = "3 isobox tool, cold";
pub(crate) const NEXT: &str = "4 isobox tool, next commit";
pub(crate) const COPY: &str = "5 isobox tool --workspace copy";
pub(crate) const MANY: &str = "6 isobox tool, many changes";
pub(crate) const STATUS: &str = "7 git status";
pub(crate) const CLONE: &str = "8 git clone";
pub(crate) const SHARED: &str = "9 git clone --shared, diff, remove";
pub(crate) const WORKTREE: &str = "10 git worktree add, diff, remove";
pub(crate) const DIFF: &str = "11 git diff of many changes";

/// Files that change where many do.
pub(crate) const MANY_FILES: usize = 10_000;
/// Files that the next commit changes.
const NEXT_FILES: usize = 100;

const EDIT: &str = "echo more >> README.md";

/// Measures every contestant in turn in a repository of `size`.
pub(crate) fn measure(size: Size, user: User, runs: usize) -> Measured {
    let project = repository::make(size, user);
    // The first call also makes the store, and finds out what works here.
    time(tool(&project, &[], EDIT));
    let mut times: BTreeMap<&'static str, Vec<Duration>> = BTreeMap::new();
    for run in 0..runs {
        let mut took = |name, time| times.entry(name).or_default().push(time);
        took(BARE, time(bare(&project)));
        took(WARM, time(tool(&project, &[], EDIT)));
        took(STATUS, time(git(&project, "git status --porcelain")));
        took(COPY, time(tool(&project, &["--workspace", "copy"], EDIT)));
        took(CLONE, time(git(&project, "git clone -q . ../scratch/clone")));
        time(git(&project, "rm -rf ../scratch/clone"));
        took(
            SHARED,
            time(git(&project, &without_isobox("git clone -q --shared . ../scratch/copy", "rm -rf ../scratch/copy"))),
        );
        took(
            WORKTREE,
            time(git(
                &project,
                &without_isobox(
                    "git worktree add -q --detach ../scratch/copy",
                    "git worktree remove --force ../scratch/copy",
                ),
            )),
        );
        forget(&project);
        took(COLD, time(tool(&project, &[], EDIT)));
        if size.files() >= MANY_FILES {
            many(&project, &mut took);
            commit_some(&project, run);
            took(NEXT, time(tool(&project, &[], EDIT)));
        }
    }
    let peak_kib = peak_kib(&tool(&project, &[], EDIT), &project.scratch());
    forget(&project);
    let building = self::peak_kib_of_cold(&project);
    let medians = times.into_iter().map(|(name, times)| (name, median(times))).collect();
    Measured { size, medians, peak_kib: peak_kib.max(building) }
}

fn peak_kib_of_cold(project: &Project) -> u64 {
    peak_kib(&tool(project, &[], EDIT), &project.scratch())
}

/// Many files change, in a Sandbox and without one.
fn many(project: &Project, took: &mut impl FnMut(&'static str, Duration)) {
    let edit = format!(
        "find tree -type f | LC_ALL=C sort | head -n {MANY_FILES} | while read -r f; do echo more >> \"$f\"; done"
    );
    time(git(project, &format!("git clone -q --shared . ../scratch/copy && cd ../scratch/copy && {edit}")));
    let diff = time(git(project, "git -C ../scratch/copy diff"));
    time(git(project, "rm -rf ../scratch/copy"));
    took(DIFF, diff);
    took(MANY, time(tool(project, &[], &edit)));
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
    fs::remove_dir_all(project.home().join(".cache/isobox/pristine")).ok();
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
