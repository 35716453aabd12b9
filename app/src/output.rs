//! Everything that isobox prints: nothing else in the program writes to its streams.

pub(crate) mod answer;
mod caller_stream;
pub(crate) mod changes;
pub(crate) mod columns;
pub(crate) mod console;
pub(crate) mod doctor;
pub(crate) mod errors;
pub(crate) mod events;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod lifecycle;
pub(crate) mod list;
pub(crate) mod pager;
pub(crate) mod policy;
pub(crate) mod record_json;
pub(crate) mod report_json;
pub(crate) mod review;
pub(crate) mod show;
pub(crate) mod stat;
pub(crate) mod stdout;
mod terminal;
pub(crate) mod text;
pub(crate) mod trust;
pub(crate) mod update;
pub(crate) mod verify;
pub(crate) mod working;
