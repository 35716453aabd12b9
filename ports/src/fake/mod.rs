//! Fakes with state that obey the contracts, for tests of what stands on the ports.

mod listings;
mod machine;
mod measurer;
mod open_attempts;
mod policy_pins;
mod project_files;
mod recording_sink;
mod repository;
mod runtime_backend;
mod store;
mod store_attempt;
mod workspaces;

pub use machine::{CountingTaskIds, FixedClock};
pub use policy_pins::InMemoryPolicyPins;
pub use project_files::InMemoryProjectFiles;
pub use recording_sink::RecordingSink;
pub use repository::InMemoryRepository;
pub use runtime_backend::{Line, Performance, Scene, ScriptedBackend};
pub use store::InMemoryStore;
pub use workspaces::{DirectoryWorkspaces, Files};
