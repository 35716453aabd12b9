//! Fakes with state that obey the contracts, for tests of what stands on the ports.

mod runtime_backend;

pub use runtime_backend::{Line, Performance, Scene, ScriptedBackend};
