//! Contract suites: the cases that every adapter and every fake of a port must pass.

pub mod attempts;
pub mod exports;
pub mod host_probe;
pub mod listings;
pub mod machine;
pub mod measurer;
pub mod object_store;
pub mod open_attempts;
pub mod policy_pins;
pub mod policy_source;
pub mod project_files;
pub mod promotion;
pub mod record_log;
pub mod repository;
pub mod runtime_backend;
pub mod sample;
pub mod store;
pub mod v1_directories;
pub mod v1_format;
pub mod verifier;
pub mod views;
pub mod workspaces;
