//! The table of a comparison, for people.

use crate::measure::Room;
use crate::store::{Figures, Row};
use crate::targets::Target;

const MB: f64 = 1e6;

/// What the stores do, so that figures can be compared.
const NOTES: &str = "\
Times are the best of the rounds, from the word to go until everything is durable; peaks are the highest of any command.
isobox: through the store's own interface; every task is an attempt that is on disk before its content comes.
SQLite: by Python; WAL, synchronous=FULL, one transaction a task; contents by hash, compressed by zstd -3, in a table without
rowid, or with one and an index. Compaction is VACUUM.
git: add and commit of plain files with every loose object flushed; compaction is gc, after which it is listed and verified.
restic, borg: one batch of plain files. MB are those of blocks on the disk; those of isobox are with its derived tables.";

/// Prints every figure of every store.
#[expect(clippy::print_stdout, reason = "the figures are to be seen")]
pub(crate) fn print(rows: &[Row]) {
    let titles = [
        "store",
        "put, 1 writer s",
        "put, 8 writers s",
        "process a task, over bare ms",
        "flushes a task",
        "MB",
        "inodes",
        "compaction s",
        "MB then",
        "inodes then",
        "list s",
        "verify s",
        "peak MiB",
    ];
    println!("| {} |\n|{}", titles.join(" | "), "---|".repeat(titles.len()));
    for Row { name, figures, .. } in rows {
        println!("| {name} | {} |", cells(figures).join(" | "));
    }
    println!("\n{NOTES}\n");
}

fn cells(figures: &Figures) -> [String; 12] {
    let megabytes = |room: Option<Room>| shown(room.map(|room| room.bytes as f64 / MB), 1);
    let inodes = |room: Option<Room>| shown(room.map(|room| room.inodes as f64), 0);
    [
        shown(figures.put_s, 2),
        shown(figures.put_by_many_s, 2),
        shown(figures.each_ms, 2),
        shown(figures.flushes, 3),
        megabytes(figures.room),
        inodes(figures.room),
        shown(figures.compact_s, 2),
        megabytes(figures.compacted),
        inodes(figures.compacted),
        shown(figures.list_s, 3),
        shown(figures.verify_s, 3),
        shown(Some(figures.peak_kib as f64 / 1024.0), 1),
    ]
}

/// Prints what was asked for, and what was found.
#[expect(clippy::print_stdout, reason = "the figures are to be seen")]
pub(crate) fn print_targets(targets: &[Target]) {
    println!("| target | found | at most | |\n|---|---|---|---|");
    for target in targets {
        let verdict = match target.found {
            None => "not measured",
            Some(_) if target.holds() => "holds",
            Some(_) => "**does not hold**",
        };
        println!("| {} | {} | {:.2} | {verdict} |", target.what, shown(target.found, 3), target.most);
    }
}

fn shown(figure: Option<f64>, digits: usize) -> String {
    figure.map_or_else(|| "–".to_owned(), |figure| format!("{figure:.digits$}"))
}
