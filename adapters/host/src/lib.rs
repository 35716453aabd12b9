//! The host as isobox sees it: clock, ids, the keys that mask secrets and sign logs, its own directories and the project's policy file.
#![forbid(unsafe_code)]

mod audit_keys;
mod clock;
mod dependency_caches;
mod directories;
mod exposing;
mod git_directories;
mod host_program;
mod installation;
#[cfg(test)]
mod made_up_host;
mod mask_key;
mod policy;
mod policy_pins;
mod private_file;
mod project_files;
mod read_paths;
mod task_ids;
mod update_target;

pub use audit_keys::FsAuditKeys;
pub use clock::{SystemClock, SystemStopwatch};
pub use dependency_caches::{FsCacheLayers, FsDependencyCaches};
pub use directories::{Directories, DirectoriesError};
pub use exposing::{Exposing, ExposingError};
pub use installation::InstallationProbe;
pub use mask_key::MaskKey;
pub use policy::{
    LONGEST_POLICY_BYTES, POLICY_PATH, PolicyAskedProbe, PolicyProblem, PolicyTrustProbe, YamlPolicySource,
    YamlUserPolicy, default_policy_text, parse_policy, policy_presets, policy_schema,
};
pub use policy_pins::FsPolicyPins;
pub use private_file::PrivateFileError;
pub use project_files::FsProjectFiles;
pub use read_paths::{ReadPathError, ReadPaths};
pub use task_ids::RandomTaskIds;
pub use update_target::PathUpdateTargets;
