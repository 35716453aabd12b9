//! Runtime Backends for this machine: `landlock` and `bubblewrap`, and `host`, which contains nothing and says so; and the
//! Stage that starts the Workload Command in all of them.
//!
//! Whoever links this crate calls [`stage::enter_if_asked`] first thing in `main`: a Sandbox starts the same program again.

#![allow(unsafe_code, reason = "namespaces, descriptors and processes have no safe interface everywhere")]

mod bubblewrap;
mod capabilities;
mod claims;
mod descriptors;
mod environment;
mod filter;
mod holder;
mod host;
mod landlock;
mod layout;
mod limits;
mod memory;
mod obstacles;
mod overlay;
mod overlays;
mod private_directory;
mod probe;
mod prober;
mod protocol;
mod signals;
mod spawn;
pub mod stage;
mod supervision;
mod terminal;
mod view;

pub use bubblewrap::BubblewrapBackend;
pub use descriptors::close_on_exec_from;
pub use holder::Holders;
pub use host::HostBackend;
pub use landlock::LandlockBackend;
pub use probe::{BackendsProbe, SandboxProbe};
pub use prober::SandboxProber;
