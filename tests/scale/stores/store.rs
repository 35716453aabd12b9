//! A store of the comparison: how it is made, how it is looked at, and what that took.

use crate::measure::{Bench, Room, Took};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A store that tasks are put into one by one.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// A writer that puts the tasks of some files into the store in a directory, and makes it where there is none.
    pub(crate) writer: fn(&Path, &[PathBuf]) -> Command,
    pub(crate) list: fn(&Path) -> Command,
    pub(crate) verify: fn(&Path) -> Command,
    /// Stores what is there in less room.
    pub(crate) compact: fn(&Path) -> Command,
}

/// What a store took; what was not measured is `None`.
#[derive(Clone, Default)]
pub(crate) struct Figures {
    pub(crate) put_s: Option<f64>,
    pub(crate) put_by_many_s: Option<f64>,
    /// What a process for each task takes beyond one that does nothing.
    pub(crate) each_ms: Option<f64>,
    pub(crate) flushes: Option<f64>,
    pub(crate) room: Option<Room>,
    pub(crate) compact_s: Option<f64>,
    pub(crate) compacted: Option<Room>,
    pub(crate) list_s: Option<f64>,
    pub(crate) verify_s: Option<f64>,
    pub(crate) peak_kib: u64,
}

/// A row of the table.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) figures: Figures,
    /// Lists every task.
    pub(crate) list: Command,
    /// Compares every byte with its hash.
    pub(crate) verify: Command,
}

impl Figures {
    /// Takes the peak of `took` into account, and returns its time in seconds.
    pub(crate) fn seconds(&mut self, took: Took) -> f64 {
        self.peak_kib = self.peak_kib.max(took.peak_kib);
        took.time.as_secs_f64()
    }
}

impl Row {
    /// Looks at the store once more; the best counts.
    pub(crate) fn look(&mut self, bench: &Bench) {
        let list = self.figures.seconds(bench.run(&self.list));
        least(&mut self.figures.list_s, list);
        let verify = self.figures.seconds(bench.run(&self.verify));
        least(&mut self.figures.verify_s, verify);
    }
}

/// Keeps the lower one.
pub(crate) fn least(best: &mut Option<f64>, found: f64) {
    *best = Some(best.map_or(found, |best| best.min(found)));
}
