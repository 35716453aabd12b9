//! Use cases: each a module with one public function and the ports that it touches.

pub(crate) mod archive;
pub(crate) mod attempt;
pub(crate) mod attestation;
pub(crate) mod audit;
pub(crate) mod backends;
pub(crate) mod cache;
pub(crate) mod cat;
pub(crate) mod compare;
pub(crate) mod dependencies;
pub(crate) mod diff;
mod disposal;
pub(crate) mod doctor;
pub(crate) mod effective_policy;
pub(crate) mod explain;
pub(crate) mod export;
mod file_type;
pub(crate) mod find;
pub(crate) mod git_remote;
pub(crate) mod held_here;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod laps;
pub(crate) mod list;
pub(crate) mod logs;
pub(crate) mod nearest;
mod noted_mount;
pub(crate) mod open_tasks;
pub(crate) mod patch_reader;
pub(crate) mod pin;
pub(crate) mod promote;
pub(crate) mod prune;
pub(crate) mod ranked_report;
pub(crate) mod recover;
pub(crate) mod reject;
pub(crate) mod repair;
pub(crate) mod report;
pub(crate) mod result_commit;
pub(crate) mod result_tar;
pub(crate) mod review;
pub(crate) mod select;
pub(crate) mod settle;
pub(crate) mod sides;
pub(crate) mod take_over;
pub(crate) mod trusted_policy;
pub(crate) mod undo;
pub(crate) mod update;
pub(crate) mod verify;
mod view;
pub(crate) mod weaker;
pub(crate) mod workspaces;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
