//! The promises of isobox, attacked from outside and from inside a real Sandbox: one file a promise.

mod boundary;
mod host_obeys_nothing;
mod inodes;
mod nothing_is_lost;
mod promotion_gate;
mod report_is_complete;
mod storage;
mod streams;
mod whole_tree_dies;
