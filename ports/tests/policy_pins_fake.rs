//! The fake of trusted policies keeps the contract of its port.

use isobox_ports::contract::policy_pins::cases;
use isobox_ports::fake::InMemoryPolicyPins;
use libtest_mimic::Arguments;
use std::process::ExitCode;

fn main() -> ExitCode {
    let trials = cases("in_memory", InMemoryPolicyPins::default);
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
