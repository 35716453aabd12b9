//! The promises of isobox, attacked from outside and from inside a real Sandbox: one file a promise.

mod boundary;
mod dependency_caches;
mod full_workspace;
mod hidden_and_protected;
mod host_obeys_nothing;
mod inodes;
mod kernel_surface;
mod layers;
mod nothing_is_lost;
mod ordinary_work;
mod promotion_gate;
mod remembered;
mod report_is_complete;
mod required_controls;
mod reuse_inputs;
mod special_files;
mod storage;
mod streams;
mod whole_tree_dies;
mod without_namespaces;
