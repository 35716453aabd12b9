//! The fake of keys of logs keeps the contract of its port.

use isobox_ports::contract::audit_keys::cases;
use isobox_ports::fake::InMemoryAuditKeys;
use libtest_mimic::Arguments;
use std::process::ExitCode;

fn main() -> ExitCode {
    let trials = cases("in_memory", InMemoryAuditKeys::default);
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
