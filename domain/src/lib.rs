//! What isobox means: pure values and rules. No I/O, no clock, no randomness, no serialization.
#![forbid(unsafe_code)]

pub mod archive_name;
pub mod cache_limits;
pub mod change;
pub mod command;
pub mod compaction;
pub mod content;
pub mod enforcement;
pub mod escape;
pub mod event;
pub mod fact;
pub mod finding;
pub mod git_oid;
pub mod import;
pub mod listing;
pub mod log;
pub mod masking;
pub mod measurement;
pub mod outcome;
pub mod policy;
pub mod preflight;
pub mod promotion;
pub mod pruning;
pub mod record;
pub mod release;
pub mod repo_path;
pub mod report;
pub mod retention;
pub mod source;
pub mod task_id;
pub mod task_state;
pub mod timestamp;
pub mod timings;
pub mod update_target;
pub mod v1;
pub mod verification;
