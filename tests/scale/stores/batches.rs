//! Stores that take all tasks in one batch, as plain files: git, restic and borg.

use crate::measure::{Bench, room};
use crate::store::{Figures, Row};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What they are given, and where they keep what they make of it.
pub(crate) struct Batch<'a> {
    pub(crate) bench: &'a Bench,
    pub(crate) scratch: &'a Path,
    /// The tasks as plain files.
    pub(crate) files: &'a Path,
    /// Some of them, to count flushes over.
    pub(crate) few: &'a Path,
    /// How many these are.
    pub(crate) few_tasks: u64,
}

/// A program that keeps a repository in a directory of its own.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// Makes an empty repository.
    init: &'static [&'static str],
    /// Puts the files of the current directory into it.
    put: &'static [&'static [&'static str]],
    /// Stores what is there in less room; nothing if it cannot.
    compact: &'static [&'static str],
    list: &'static [&'static str],
    verify: &'static [&'static str],
}

/// Loose objects are flushed, as everything that is acknowledged is by the others.
pub(crate) const GIT: Program = Program {
    name: "git",
    init: &["git", "init", "-q"],
    put: &[
        &["git", "-c", "core.fsync=all", "add", "-A"],
        &["git", "-c", "core.fsync=all", "commit", "-q", "-m", "tasks"],
    ],
    compact: &["git", "gc", "-q", "--prune=now"],
    list: &["git", "ls-tree", "-r", "HEAD"],
    verify: &["git", "fsck", "--full", "--no-progress"],
};

/// A batch is a snapshot.
pub(crate) const RESTIC: Program = Program {
    name: "restic",
    init: &["restic", "-q", "init"],
    put: &[&["restic", "-q", "backup", "."]],
    compact: &[],
    list: &["restic", "-q", "ls", "latest"],
    verify: &["restic", "-q", "check", "--read-data"],
};

const BORG: Program = Program {
    name: "borg",
    init: &["borg", "init", "--encryption=none"],
    put: &[&["borg", "create", "--compression=zstd,3", "::tasks", "."]],
    compact: &["borg", "compact"],
    list: &["borg", "list", "::tasks"],
    verify: &["borg", "check", "--verify-data"],
};

impl Batch<'_> {
    /// Every program that is here, with all tasks in it; `ignored` hears why another one is not.
    pub(crate) fn rows(&self, ignored: impl Fn(&str, &str)) -> Vec<Row> {
        let is_here = |program: &Program| match Command::new(program.name).arg("--version").output() {
            Ok(_) => true,
            Err(error) => {
                ignored(program.name, &error.to_string());
                false
            }
        };
        [GIT, RESTIC, BORG].into_iter().filter(is_here).map(|program| self.row(&program)).collect()
    }

    fn row(&self, program: &Program) -> Row {
        let mut figures = Figures::default();
        let few = self.repository(program, "few");
        self.bench.run(&self.command(program.init, &few, self.few));
        let flushes = program.put.iter().map(|put| self.bench.flushes_of(&self.command(put, &few, self.few)));
        figures.flushes = Some(flushes.sum::<usize>() as f64 / self.few_tasks as f64);
        let repository = self.repository(program, "all");
        let command = |arguments| self.command(arguments, &repository, self.files);
        self.bench.run(&command(program.init));
        let put_s = program.put.iter().map(|put| figures.seconds(self.bench.run(&command(put)))).sum();
        (figures.put_s, figures.room) = (Some(put_s), Some(room(&repository)));
        if !program.compact.is_empty() {
            let compact_s = figures.seconds(self.bench.run(&command(program.compact)));
            (figures.compact_s, figures.compacted) = (Some(compact_s), Some(room(&repository)));
        }
        Row { name: program.name, figures, list: command(program.list), verify: command(program.verify) }
    }

    fn repository(&self, program: &Program, of: &str) -> PathBuf {
        self.scratch.join(format!("{}-{of}", program.name))
    }

    fn command(&self, arguments: &[&str], repository: &Path, files: &Path) -> Command {
        let mut command = Command::new(arguments[0]);
        command.args(&arguments[1..]).current_dir(files).env("HOME", self.scratch);
        command.env("GIT_DIR", repository).env("GIT_WORK_TREE", files);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        // A gc of its own accord would be under way when it is asked for one.
        command.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "gc.auto").env("GIT_CONFIG_VALUE_0", "0");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Ana").env(format!("GIT_{who}_EMAIL"), "ana@example.com");
        }
        command.env("RESTIC_REPOSITORY", repository).env("RESTIC_PASSWORD", "not a secret");
        command.env("BORG_REPO", repository).env("BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK", "yes");
        command
    }
}
