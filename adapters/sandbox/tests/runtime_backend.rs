//! Both backends pass the suite of their port.

use isobox_ports::RuntimeBackend;
use isobox_ports::contract::runtime_backend::{Subject, cases};
use isobox_sandbox::{BubblewrapBackend, HostBackend};
use std::sync::Arc;

fn main() {
    isobox_sandbox::stage::enter_if_asked();
    let arguments = libtest_mimic::Arguments::from_args();
    let bubblewrap = Arc::new(BubblewrapBackend::new());
    let bubblewrap: Result<Arc<dyn RuntimeBackend>, String> = match bubblewrap.capabilities().unavailable {
        Some(reason) => Err(reason),
        None => Ok(bubblewrap),
    };
    let subjects = [
        Subject { name: "HostBackend", backend: Ok(Arc::new(HostBackend::new())) },
        Subject { name: "BubblewrapBackend", backend: bubblewrap },
    ];
    libtest_mimic::run(&arguments, subjects.iter().flat_map(cases).collect()).exit();
}
