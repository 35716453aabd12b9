//! The fake of private copies keeps the contract of its port.

use isobox_ports::PrivateCopies;
use isobox_ports::contract::private_copies::{PrivateCopiesFixture, cases};
use isobox_ports::fake::NamedCopies;
use libtest_mimic::Arguments;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Default)]
struct Copies(NamedCopies);

impl PrivateCopiesFixture for Copies {
    fn copies(&self) -> &dyn PrivateCopies {
        &self.0
    }

    fn later(&self) -> Box<dyn PrivateCopies> {
        Box::new(self.0.clone())
    }

    fn something(&self) -> PathBuf {
        PathBuf::from("/shown")
    }

    fn state(&self) -> Vec<String> {
        Vec::new()
    }

    fn remains(&self) -> usize {
        self.0.made().len()
    }
}

fn main() -> ExitCode {
    libtest_mimic::run(&Arguments::from_args(), cases("named", Copies::default)).exit_code()
}
