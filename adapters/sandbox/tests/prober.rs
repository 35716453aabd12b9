//! Sandboxes of every backend are attacked from inside, and their reports are true to what came of that.

use isobox_ports::contract::prober::{Subject, cases};
use isobox_sandbox::{BubblewrapBackend, HostBackend, LandlockBackend, SandboxProber};
use std::sync::Arc;

fn main() {
    isobox_sandbox::stage::enter_if_asked();
    let prober = Arc::new(SandboxProber);
    let subjects = [
        Subject { name: "BubblewrapBackend", prober: prober.clone(), backend: Arc::new(BubblewrapBackend::new()) },
        Subject { name: "LandlockBackend", prober: prober.clone(), backend: Arc::new(LandlockBackend::new()) },
        Subject { name: "HostBackend", prober, backend: Arc::new(HostBackend::new()) },
    ];
    let arguments = libtest_mimic::Arguments::from_args();
    libtest_mimic::run(&arguments, subjects.iter().flat_map(cases).collect()).exit();
}
