//! The Task Store beside SQLite, git, restic and borg: the same tasks in the same run, in one table, and what is asked of it.
//!
//! Ten thousand tasks, in six minutes on a quiet machine and 5 GB of the temporary directory, which should lie on a disk:
//! `cargo test --release -p isobox-tests --test scale_stores -- --ignored`.
//! `ISOBOX_SCALE_TASKS` makes it another number, a multiple of 8. The others come by
//! `apt-get install git restic borgbackup zstd python3 strace`; git, restic, borg or zstd is left out where it is missing, and
//! said to be.

mod batches;
mod comparison;
mod helper;
mod isobox;
mod measure;
mod sqlite;
mod store;
mod table;
mod targets;
mod work;

use comparison::{Comparison, Scale};
use libtest_mimic::{Arguments, Failed, Trial};
use targets::Asked;

const MANY: u64 = 10_000;
const TASKS: &str = "ISOBOX_SCALE_TASKS";

const QUICK: Scale = Scale { tasks: 320, rounds: 1, parts_by_process: 1, large_bytes: 16 << 20 };

/// Compares, prints, and fails where a target does not hold.
fn compare(scale: Scale, is_asked: impl Fn(Asked) -> bool) -> Result<(), Failed> {
    let scratch = tempfile::tempdir()?;
    let comparison = Comparison::run(scale, scratch.path());
    let mut targets = targets::of(&comparison, scale.tasks);
    targets.retain(|target| is_asked(target.asked));
    table::print(&comparison.rows);
    table::print_targets(&targets);
    let missed: Vec<_> = targets.iter().filter(|target| !target.holds()).map(|target| target.what).collect();
    if missed.is_empty() { Ok(()) } else { Err(format!("{} does not hold", missed.join("; ")).into()) }
}

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == helper::HELPER) {
        return helper::help(arguments);
    }
    let tasks = std::env::var(TASKS).map_or(MANY, |tasks| tasks.parse().expect("a number"));
    let many = Scale { tasks, rounds: 2, parts_by_process: 8, large_bytes: 1 << 30 };
    let trials = vec![
        Trial::test("a_few_tasks_are_flushed_once_and_stored_in_less_room_than_git_takes", || {
            compare(QUICK, |asked| asked == Asked::Always)
        }),
        Trial::test("every_target_holds_for_ten_thousand_tasks", move || compare(many, |_| true))
            .with_ignored_flag(true),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
