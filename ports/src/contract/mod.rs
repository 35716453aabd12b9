//! Contract suites: the cases that every adapter and every fake of a port must pass.

pub mod repository;
pub mod workspaces;

pub mod runtime_backend;
