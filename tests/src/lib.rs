//! What the outside tests share: a throw-away project, the `isobox` program run in it on every backend and as every
//! user, on a terminal too; faults in its system calls; and files that tests make.

mod case;
mod commands;
mod ignored;
mod injection;
mod machine;
mod project;
mod published;
mod snapshot;
mod terminal;

pub use case::{Backend, Case, on, on_every_backend, users};
pub use commands::commands_with_pages;
pub use ignored::ignored;
pub use injection::{CALL_GROUPS, FAULTS, Fault, Injected, run_with_fault};
pub use machine::Machine;
pub use project::{Outcome, Project, User, isobox_program, outcome};
pub use published::{crate_source, debian_source};
pub use snapshot::{assert_snapshot, checkout};
pub use terminal::{on_a_terminal, typed_on_a_terminal};
