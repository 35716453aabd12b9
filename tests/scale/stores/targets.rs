//! What is asked of the store, as limits of what was found.

use crate::batches::{GIT, RESTIC};
use crate::comparison::Comparison;
use crate::isobox::{COMPACTED, ISOBOX};
use crate::measure::Room;
use crate::sqlite::SQLITE;
use crate::store::Figures;

const MB: f64 = 1e6;
/// For so many tasks the limits in megabytes are meant.
const TASKS: u64 = 10_000;

/// When a target is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// It holds for any number of tasks, on any machine, in any build.
    Always,
    /// It is about time, or about many tasks.
    AtScale,
}

/// One of them.
pub(crate) struct Target {
    pub(crate) what: &'static str,
    /// `None` where what it is compared with is not there.
    pub(crate) found: Option<f64>,
    pub(crate) most: f64,
    pub(crate) asked: Asked,
}

impl Target {
    /// Whether it holds, as far as it was measured.
    pub(crate) fn holds(&self) -> bool {
        self.found.is_none_or(|found| found <= self.most)
    }
}

fn ratio(ours: Option<f64>, theirs: Option<f64>) -> Option<f64> {
    Some(ours? / theirs?)
}

/// Everything that is asked for.
pub(crate) fn of(comparison: &Comparison, tasks: u64) -> Vec<Target> {
    let figures = |name| comparison.figures(name).cloned().unwrap_or_default();
    let (ours, compacted) = (figures(ISOBOX.name), figures(COMPACTED));
    let (sqlite, git, restic) = (figures(SQLITE.name), figures(GIT.name), figures(RESTIC.name));
    let looks = |what: fn(&Figures) -> Option<f64>| Some(what(&ours)?.max(what(&compacted)?));
    let (list_s, verify_s) = (looks(|row| row.list_s), looks(|row| row.verify_s));
    let bytes = |room: Option<Room>| room.map(|room| room.bytes as f64);
    let megabytes = |room| if tasks == TASKS { bytes(room).map(|bytes| bytes / MB) } else { None };
    let inodes = [ours.room, ours.compacted].into_iter().flatten().map(|room| room.inodes as f64).reduce(f64::max);
    let peak_kib = ours.peak_kib.max(compacted.peak_kib);
    let always = |what, found, most| Target { what, found, most, asked: Asked::Always };
    let at_scale = |what, found, most| Target { what, found, most, asked: Asked::AtScale };
    vec![
        always("flushes a task, one writer", ours.flushes, 1.2),
        at_scale("one writer: times SQLite's time", ratio(ours.put_s, sqlite.put_s), 1.0),
        at_scale("8 writers at once: times SQLite's time", ratio(ours.put_by_many_s, sqlite.put_by_many_s), 1.0 / 2.5),
        at_scale("a process a task: ms beyond a bare process", ours.each_ms, 6.0),
        at_scale("MB before compaction", megabytes(ours.room), 116.0),
        at_scale("MB after compaction", megabytes(ours.compacted), 82.0),
        always("bytes after compaction: times git gc's", ratio(bytes(ours.compacted), bytes(git.compacted)), 1.0),
        always("inodes", inodes, 60.0),
        at_scale("list: times restic's time", ratio(list_s, restic.list_s), 1.0 / 3.0),
        at_scale("full verify: times restic's time", ratio(verify_s, restic.verify_s), 1.0 / 4.0),
        at_scale("full verify: times git fsck's time", ratio(verify_s, git.verify_s), 1.0 / 4.0),
        always("peak memory of any command in MiB", Some(peak_kib as f64 / 1024.0), 64.0),
        at_scale("1 GiB artifact: times the time of zstd -3", comparison.large, 2.0),
    ]
}
