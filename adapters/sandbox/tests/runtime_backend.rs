//! Every backend passes the suite of their port, with Workspaces of every form that they mount.

use isobox_ports::contract::runtime_backend::{Subject, cases};
use isobox_ports::{MemorySize, RuntimeBackend, WorkspaceForm};
use isobox_sandbox::{BubblewrapBackend, HostBackend, LandlockBackend};
use std::sync::Arc;

/// Room for everything that the suite writes.
const MEMORY: MemorySize = MemorySize { bytes: 16 << 20, inodes: 1000 };

fn main() {
    isobox_sandbox::stage::enter_if_asked();
    let arguments = libtest_mimic::Arguments::from_args();
    let host = Subject { name: "HostBackend", form: WorkspaceForm::Copy, backend: Ok(Arc::new(HostBackend::new())) };
    let bubblewrap = ["BubblewrapBackend", "BubblewrapBackend on an overlay", "BubblewrapBackend in memory"];
    let landlock = ["LandlockBackend", "LandlockBackend on an overlay", "LandlockBackend in memory"];
    let bubblewrap = containing(bubblewrap, Arc::new(BubblewrapBackend::new()));
    let landlock = containing(landlock, Arc::new(LandlockBackend::new()));
    let alone: Arc<dyn RuntimeBackend> = Arc::new(LandlockBackend::alone());
    let alone = Subject {
        name: "LandlockBackend without namespaces",
        form: WorkspaceForm::Copy,
        backend: match alone.capabilities().unavailable {
            Some(reason) => Err(reason),
            None => Ok(alone),
        },
    };
    let subjects = [vec![host], bubblewrap, landlock, vec![alone]].concat();
    libtest_mimic::run(&arguments, subjects.iter().flat_map(cases).collect()).exit();
}

fn containing(names: [&'static str; 3], backend: Arc<dyn RuntimeBackend>) -> Vec<Subject> {
    let available = match backend.capabilities().unavailable {
        Some(reason) => Err(reason),
        None => Ok(Arc::clone(&backend)),
    };
    let copy = Subject { name: names[0], form: WorkspaceForm::Copy, backend: available.clone() };
    let at = std::env::temp_dir();
    let overlays = [(names[1], None, Some(at.as_path())), (names[2], Some(MEMORY), None)];
    let overlays = overlays.map(|(name, memory, at)| match backend.overlay(at) {
        Ok(kind) => Subject { name, form: WorkspaceForm::Overlay { kind, memory }, backend: available.clone() },
        Err(reason) => Subject { name, form: WorkspaceForm::Copy, backend: Err(reason) },
    });
    [copy].into_iter().chain(overlays).collect()
}
