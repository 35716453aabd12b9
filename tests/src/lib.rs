//! What the outside tests share: a throw-away project, the `isobox` program run in it, and faults in its system calls.

mod injection;
mod project;

pub use injection::{CALL_GROUPS, FAULTS, Fault, Injected, run_with_fault};
pub use project::{Outcome, Project, User, isobox_program, outcome};
