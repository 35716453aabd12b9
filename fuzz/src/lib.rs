//! What each fuzz target does with its bytes: nothing may panic, and what is accepted must mean exactly what it says.
//!
//! The targets below `fuzz_targets/` and the ordinary test that replays the corpora (`tests/tests/fuzz_corpus.rs`) both
//! call these functions.

mod archives;
mod blocks;
mod compressing;
mod log;
mod logged_stores;
mod made_store;
mod made_table;
mod names;
mod objects;
mod packs;
mod script;
mod stores;
mod v1;

/// A target with its name, which is also the name of its corpus.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: [Target; 22] = [
    ("archive", archives::archive),
    ("block", blocks::block),
    ("change_set", objects::change_set),
    ("checkpoint_note", log::checkpoint_note),
    ("commit", packs::commit),
    ("entry", packs::entry),
    ("event", objects::event),
    ("format_file", packs::format_file),
    ("log", logged_stores::log),
    ("log_key", log::log_key),
    ("log_proof", log::log_proof),
    ("log_tile", log::log_tile),
    ("pack", packs::pack),
    ("policy", objects::policy),
    ("policy_file", names::policy_file),
    ("record", objects::record),
    ("release_index", names::release_index),
    ("repo_path", names::repo_path),
    ("store", stores::store),
    ("table", stores::table),
    ("task_selector", names::task_selector),
    ("v1_record", v1::v1_record),
];

/// Runs the target called `name`.
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|(candidate, _)| *candidate == name);
    target.expect("a target of this name").1(bytes);
}
