//! The fake of a project's files keeps the contract of its port.

use isobox_ports::contract::project_files::cases;
use isobox_ports::fake::InMemoryProjectFiles;
use libtest_mimic::Arguments;
use std::process::ExitCode;

fn main() -> ExitCode {
    let trials = cases("in_memory", InMemoryProjectFiles::default);
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
