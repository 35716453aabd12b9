//! Fakes with state that obey the contracts, for tests of what stands on the ports.

mod audit_keys;
mod installation;
mod listings;
mod machine;
mod measurer;
mod open_attempts;
mod policy_pins;
mod prober;
mod project_files;
mod recording_sink;
mod release_source;
mod repository;
mod runtime_backend;
mod store;
mod store_attempt;
mod store_collection;
mod store_compaction;
mod turns;
mod update_targets;
mod workspace_cache;
mod workspaces;

pub use audit_keys::InMemoryAuditKeys;
pub use installation::InMemoryInstallation;
pub use machine::{CountingStopwatch, CountingTaskIds, FixedClock};
pub use policy_pins::InMemoryPolicyPins;
pub use prober::ScriptedProber;
pub use project_files::InMemoryProjectFiles;
pub use recording_sink::RecordingSink;
pub use release_source::InMemoryReleases;
pub use repository::InMemoryRepository;
pub use runtime_backend::{Line, Performance, Scene, ScriptedBackend};
pub use store::InMemoryStore;
pub use update_targets::InMemoryUpdateTargets;
pub use workspace_cache::InMemoryWorkspaceCache;
pub use workspaces::{DirectoryWorkspaces, Files};
