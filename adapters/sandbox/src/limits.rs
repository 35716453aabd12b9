//! Limits, the same for every backend: what holds each of them here, putting them in force, and seeing what ran into one.
//!
//! A backend calls [`forecast`], and its recipe says what kind of Sandbox it makes; all else happens where a Sandbox is
//! started and watched. Where no limit is asked for, nothing here is done.

mod cgroup;
mod conclusion;
mod means;
mod poll;
mod rlimit;
mod room;
mod warden;

pub(crate) use means::{Containment, Force, Upper, forecast, places};
pub(crate) use rlimit::{Rlimit, apply as apply_rlimits};
pub(crate) use room::in_memory;
pub(crate) use warden::{TERMINATE, Watched};
