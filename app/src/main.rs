//! isobox: autonomy for coding agents without giving them your machine.
#![forbid(unsafe_code)]

mod cli;
mod command;
mod exit_code;
mod failure;
mod inherited;
mod output;
mod use_case;
mod wiring;

use std::process::ExitCode;

fn main() -> ExitCode {
    // First thing: a Sandbox starts this program again, as its stage.
    wiring::enter_stage_if_asked();
    inherited::make_harmless();
    ExitCode::from(command::run(std::env::args_os().collect()).0)
}
