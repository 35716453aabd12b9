//! The `isobox` program as a person or a script meets it: commands, flags, streams, exit codes, files.

mod act;
mod attempts;
mod completion;
mod doctor;
mod init;
mod learn;
mod list;
mod look;
mod place;
mod policy;
mod preflight;
mod promote;
mod prune;
mod schema_checker;
mod schemas;
mod store;
mod streams;
mod support;
mod surroundings;
mod terminal;
mod trust;
mod update;
mod usage;
mod verify;
