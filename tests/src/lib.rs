//! What the outside tests share: a throw-away project, and the `isobox` program run in it.

mod project;

pub use project::{Outcome, Project, User, isobox_program, outcome};
