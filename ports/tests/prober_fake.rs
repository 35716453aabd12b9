//! The fake Prober keeps the contract of its port.

use isobox_ports::contract::prober::{Subject, cases};
use isobox_ports::fake::{Performance, ScriptedBackend, ScriptedProber};
use libtest_mimic::Arguments;
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    let backend = Arc::new(ScriptedBackend::new(|_| Performance::exiting(0)));
    let subject = Subject { name: "ScriptedProber", prober: Arc::new(ScriptedProber::default()), backend };
    libtest_mimic::run(&Arguments::from_args(), cases(&subject)).exit_code()
}
