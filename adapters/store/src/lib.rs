//! The local Task Store: append-only lanes and packs, locks that die with their process, recovery of what a killed
//! process left. `docs/store-format.md` specifies the bytes.
#![forbid(unsafe_code)]

mod archive;
mod attempt;
mod attempts;
mod capture;
mod compact;
mod dir;
mod error;
mod follow;
mod holder;
mod index;
mod journal;
mod lane;
mod lane_file;
mod lane_tail;
mod large_place;
mod large_reader;
mod large_writer;
mod layout;
mod listings;
mod locks;
mod log;
mod looks;
mod mend;
mod object_reader;
mod object_store;
mod open_attempts;
mod output;
mod owner;
mod pack_dictionary;
mod pack_scan;
mod probe;
mod publish;
mod random;
mod record_log;
mod reviews;
mod room;
mod spare;
mod staging;
mod stat;
mod steps;
mod store;
mod sweep;
mod turns;
mod verify;
mod views;
mod whole;

pub use archive::FsArchive;
pub use probe::StoreProbe;
#[doc(hidden)]
pub use steps::hook_steps;
pub use store::FsTaskStore;
pub use views::FsViews;
