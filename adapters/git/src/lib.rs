//! Workspaces, capture and the trusted repository, on gix.
//!
//! Nothing that a repository, its configuration or the user's names as a program is executed: no hook, filter driver,
//! file system monitor or pager. No `GIT_*` variable is honoured.
#![forbid(unsafe_code)]

mod beneath;
mod capture;
mod cleanliness;
mod discovery;
mod fault;
mod fields;
mod git_config;
mod history;
mod ignored;
mod layers;
mod loose;
mod objects;
mod oid;
mod ownership;
mod patch;
mod pristine;
mod private_copies;
mod probe;
mod promotion;
mod random;
mod repository;
mod sparse_index;
mod stat_cache;
mod workspace;

pub use ignored::Kind;
pub use patch::write_text_diff;
pub use pristine::FsWorkspaceCache;
pub use private_copies::FsPrivateCopies;
pub use probe::RepositoryProbe;
pub use promotion::GixResultCommits;
pub use repository::GixRepository;
pub use workspace::{GixWorkspaces, dispose_retained};
