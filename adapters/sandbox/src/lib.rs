//! Runtime Backends for this machine: `host`, which contains nothing and says so, and `bubblewrap`; and the Stage that
//! starts the Workload Command in both.
//!
//! Whoever links this crate calls [`stage::enter_if_asked`] first thing in `main`: a Sandbox starts the same program again.

#![allow(unsafe_code, reason = "namespaces, descriptors and processes have no safe interface everywhere")]

mod bubblewrap;
mod descriptors;
mod environment;
mod filter;
mod host;
mod memory;
mod obstacles;
mod overlay;
mod overlays;
mod probe;
mod protocol;
mod spawn;
pub mod stage;
mod supervision;
mod view;

pub use bubblewrap::BubblewrapBackend;
pub use descriptors::close_on_exec_from;
pub use host::HostBackend;
pub use probe::{BackendsProbe, SandboxProbe};
