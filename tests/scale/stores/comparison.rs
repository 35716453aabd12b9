//! One comparison: the same tasks into every store, then every store looked at in turn.

use crate::batches::Batch;
use crate::isobox::{COMPACTED, ISOBOX, on};
use crate::measure::{Bench, room};
use crate::sqlite::{SQLITE, SQLITE_ROWID, is_missing};
use crate::store::{Figures, Kind, Row, least};
use crate::work::{PARTS, Work};
use isobox_tests::ignored;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How much is compared.
#[derive(Clone, Copy)]
pub(crate) struct Scale {
    pub(crate) tasks: u64,
    /// What others do on the machine only adds to a time: the best of so many rounds counts.
    pub(crate) rounds: usize,
    /// For how many of the parts each task gets a process of its own.
    pub(crate) parts_by_process: usize,
    /// Length of the large artifact in bytes.
    pub(crate) large_bytes: u64,
}

/// What was found.
pub(crate) struct Comparison {
    /// The first two are isobox, and isobox compacted.
    pub(crate) rows: Vec<Row>,
    /// How many times as long as `zstd -3` takes it takes to put the large artifact.
    pub(crate) large: Option<f64>,
}

struct Run<'a> {
    scale: Scale,
    scratch: &'a Path,
    bench: Bench,
    work: Work,
}

impl Comparison {
    /// Compares in a directory, which grows by some gigabytes.
    pub(crate) fn run(scale: Scale, scratch: &Path) -> Self {
        let work = Work::generate(scratch, scale.tasks);
        let run = Run { scale, scratch, bench: Bench::new(scratch), work };
        let mut rows = run.put_one_by_one();
        rows.extend(run.put_in_batches());
        for _ in 0..scale.rounds {
            rows.iter_mut().for_each(|row| row.look(&run.bench));
        }
        // With what a look leaves behind.
        let kinds = [ISOBOX, SQLITE, SQLITE_ROWID];
        for row in &mut rows {
            if let Some(kind) = kinds.iter().find(|kind| kind.name == row.name) {
                row.figures.room = Some(room(&run.directory(kind, "one")));
                row.figures.compacted = Some(room(&run.directory(kind, "compacted")));
            }
        }
        let large = run.put_large(&mut rows[0].figures);
        Self { rows, large }
    }

    /// The row of a store, if it was measured.
    pub(crate) fn figures(&self, name: &str) -> Option<&Figures> {
        self.rows.iter().find(|row| row.name == name).map(|row| &row.figures)
    }
}

impl Run<'_> {
    fn directory(&self, kind: &Kind, what: &str) -> PathBuf {
        self.scratch.join(format!("{}-{what}", kind.name))
    }

    fn put_one_by_one(&self) -> Vec<Row> {
        let mut kinds = vec![ISOBOX];
        match is_missing() {
            Some(reason) => ignored(SQLITE.name, &reason),
            None => kinds.extend([SQLITE, SQLITE_ROWID]),
        }
        let mut kinds: Vec<_> = kinds.into_iter().map(|kind| (kind, Figures::default())).collect();
        for _ in 0..self.scale.rounds {
            kinds.iter_mut().for_each(|(kind, figures)| self.put_round(kind, figures));
        }
        self.put_by_process_each(&mut kinds[0].1);
        kinds.into_iter().flat_map(|(kind, figures)| self.rows_of(&kind, figures)).collect()
    }

    /// Puts everything by one writer, and by many at once.
    #[expect(clippy::print_stdout, reason = "a run takes long")]
    fn put_round(&self, kind: &Kind, figures: &mut Figures) {
        let parts = &self.work.parts;
        let (one, many) = (self.empty(kind, "one"), self.empty(kind, "many"));
        let put_s = figures.seconds(self.bench.race(&[(kind.writer)(&one, parts)]));
        let writers: Vec<_> = parts.iter().map(|part| (kind.writer)(&many, std::slice::from_ref(part))).collect();
        let put_by_many_s = figures.seconds(self.bench.race(&writers));
        println!("{}: {put_s:.2} s by one writer, {put_by_many_s:.2} s by {PARTS}", kind.name);
        least(&mut figures.put_s, put_s);
        least(&mut figures.put_by_many_s, put_by_many_s);
    }

    fn empty(&self, kind: &Kind, what: &str) -> PathBuf {
        let directory = self.directory(kind, what);
        if directory.exists() {
            fs::remove_dir_all(&directory).expect("remove a store");
        }
        fs::create_dir(&directory).expect("a directory for a store");
        directory
    }

    fn put_by_process_each(&self, figures: &mut Figures) {
        let mut each = on(&self.empty(&ISOBOX, "each"), "each");
        let (took, found) = self.bench.ask(each.args(&self.work.parts[..self.scale.parts_by_process]));
        let times: Vec<f64> = found.split_whitespace().map(|ms| ms.parse().expect("a time")).collect();
        figures.seconds(took);
        figures.each_ms = Some(times[0] - times[1]);
    }

    /// What else is to be known of a store that holds all tasks.
    fn rows_of(&self, kind: &Kind, mut figures: Figures) -> Vec<Row> {
        let few = self.bench.flushes(&(kind.writer)(&self.empty(kind, "few"), &self.work.parts[..1]));
        figures.flushes = Some(few as f64 / (self.work.tasks / PARTS) as f64);
        let directory = self.directory(kind, "one");
        let row = |name, directory: &Path, figures| Row {
            name,
            figures,
            list: (kind.list)(directory),
            verify: (kind.verify)(directory),
        };
        let compacted = self.directory(kind, "compacted");
        self.bench.run(Command::new("cp").arg("-a").arg(&directory).arg(&compacted));
        let compact_s = figures.seconds(self.bench.run(&(kind.compact)(&compacted)));
        figures.compact_s = Some(compact_s);
        if kind.name != ISOBOX.name {
            return vec![row(kind.name, &directory, figures)];
        }
        for directory in [&directory, &self.directory(kind, "many"), &compacted] {
            self.bench.run(on(directory, "read").args(&self.work.parts));
        }
        vec![row(kind.name, &directory, figures), row(COMPACTED, &compacted, Figures::default())]
    }

    fn put_in_batches(&self) -> Vec<Row> {
        let (files, few) = (self.scratch.join("files"), self.scratch.join("few"));
        self.work.as_files(&files);
        let few_tasks = self.work.tasks / PARTS;
        Work { tasks: few_tasks, parts: self.work.parts[..1].to_vec() }.as_files(&few);
        let batch = Batch { bench: &self.bench, scratch: self.scratch, files: &files, few: &few, few_tasks };
        batch.rows(ignored)
    }

    fn put_large(&self, figures: &mut Figures) -> Option<f64> {
        if let Err(error) = Command::new("zstd").arg("--version").output() {
            ignored("zstd", &error.to_string());
            return None;
        }
        let (file, frames) = (self.scratch.join("large"), self.scratch.join("large.zst"));
        self.work.as_one_file(&file, self.scale.large_bytes);
        let (mut ours, mut raw) = (None, None);
        for _ in 0..self.scale.rounds {
            let took = self.bench.run(on(&self.empty(&ISOBOX, "large"), "large").arg(&file));
            least(&mut ours, figures.seconds(took));
            let took = self.bench.run(Command::new("zstd").args(["-3", "-q", "-f", "-o"]).args([&frames, &file]));
            least(&mut raw, took.time.as_secs_f64());
        }
        Some(ours? / raw?)
    }
}
