//! Tests of the use cases on fakes: what is left when they are over, whatever failed on the way.

mod attempts;
mod find;
mod git_remote;
mod open_tasks;
mod promotions;
mod prunes;
mod recoveries;
mod result_commits;
mod snapshots;
