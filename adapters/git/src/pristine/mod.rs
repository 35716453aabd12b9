//! The pristine copies: isobox's own checkouts of pinned commits, which overlays lie on and nobody writes to.
//!
//! ```text
//! <cache>/<16 hex digits>/              a repository, by the path of its Git directory, and if the commits
//!                                       have submodules by that of the working tree; mode 0700, as all around it
//!     lock                              held by whoever makes a copy, while others wait: see turn.rs
//!     <commit>-<16 hex digits>/         a copy; the digits stand for what else its bytes depend on
//!         tree/                         the files, with their `.git`
//!         stat-cache, base              see stat_cache.rs and base.rs
//!         seal                          see seal.rs
//!         boot                          see boot.rs
//!     .making-*, .gone-*                half a copy that is being made or removed, or was when somebody was killed
//! ```
//!
//! A copy comes to its place whole, by a rename, and leaves it by one: see `held.rs` for who may do that when.

mod boot;
mod build;
mod cache;
mod delta;
mod difference;
mod held;
mod leaving;
mod merged;
mod nearest;
mod seal;
mod turn;
mod upkeep;
mod wanted;

pub(crate) use cache::{PristineCache, Unprepared};
pub(crate) use held::Held;
pub use upkeep::FsWorkspaceCache;
pub(crate) use wanted::Wanted;
