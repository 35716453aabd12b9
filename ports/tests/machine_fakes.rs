//! The fakes of a machine keep what every machine keeps.

use isobox_domain::timestamp::Timestamp;
use isobox_ports::contract::machine::{clock_cases, stopwatch_cases, task_ids_cases};
use isobox_ports::fake::{CountingStopwatch, CountingTaskIds, FixedClock};
use libtest_mimic::Arguments;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut trials = clock_cases("fixed", || FixedClock(Timestamp::nearest(1_800_000_000_000)));
    trials.extend(stopwatch_cases("counting", CountingStopwatch::default));
    trials.extend(task_ids_cases("counting", CountingTaskIds::default));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
