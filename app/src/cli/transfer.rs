//! The commands that move records in and out of a Task Store.

use super::Place;
use clap::{Args, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The commands that move records.
#[derive(Debug, Subcommand)]
pub(crate) enum TransferCommand {
    /// Take over the records of an archive, of another store, or of version 1 of isobox
    #[command(after_help = "Examples:\n  \
        isobox import all.isobox\n  \
        isobox import /srv/build/app\n  \
        isobox import --records /var/lib/isobox old/task-0123456789abcdef\n\n\
        What is read stays as it is. What was imported before is left alone, so\n\
        importing again is safe; of a record that is here already, only news about it\n\
        is taken. Exits with 1 when something could not be imported; all else is.")]
    Import(ImportArguments),
    /// Write tasks as plain files, as one archive, or as what Git takes
    #[command(override_usage = "isobox export [OPTIONS] <TASK>... <DEST>")]
    #[command(after_help = "Examples:\n  \
        isobox export @latest ../out\n  \
        isobox export --format archive @latest task-0123 ../two.isobox\n  \
        isobox export --format archive @all - > ../all.isobox\n  \
        isobox export --format patch @latest ../result.patch\n  \
        isobox export --format branch @latest try/this\n  \
        isobox export --format commit @latest -\n  \
        isobox export --format mbox @latest ../result.mbox\n  \
        isobox export --format git-bundle @latest ../result.bundle\n  \
        isobox export --format tar @latest ../changed.tar\n  \
        isobox export --format in-toto @latest ../statements\n  \
        isobox export --layout v1 @all ../old-format\n\n\
        Without --format, the destination gets a directory named after each task.\n\
        With it, one file is written, whole or not at all. An archive carries records\n\
        to another store, with everything that belongs to them: `isobox import` takes\n\
        it over, and `isobox show FILE.isobox` looks into it.\n\
        A result becomes a commit on the one that the task started from, the same\n\
        each time. With `commit` nothing names it: DEST is the repository that it is\n\
        written to, or - for the project's own, and its id is printed. With `branch`\n\
        DEST is the name of a new one. Neither touches files or index, and no hook\n\
        runs. `git am` takes an mbox, `git fetch` a bundle. A tar archive has the\n\
        changed files as the task left them; it cannot tell what was deleted. The\n\
        whole tree: git archive $(isobox export --format commit @latest -)\n\
        Where a link to isobox called git-remote-isobox is on the PATH, Git fetches\n\
        the same commit itself: git fetch isobox://@latest\n\
        What is exported into the repository is not ignored by Git: until it is gone\n\
        or ignored, tasks are refused there.")]
    Export(ExportArguments),
}

/// `isobox import`.
#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Archives; stores, or records directories and repositories that have one; record directories of version 1, or directories that hold them
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,
}

/// `isobox export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// What the files of a directory look like
    #[arg(long, value_enum, default_value = "view", conflicts_with = "format")]
    pub(crate) layout: LayoutName,
    /// Write one file, a commit or a branch
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
    /// Write `[redacted]` in place of secret-shaped strings; of plain files alone
    #[arg(long)]
    pub(crate) redact: bool,
    /// Replace the file that is there
    #[arg(long, requires = "format")]
    pub(crate) force: bool,
    /// Tasks, and last the destination. Each task is an id or a prefix of one, @latest, @latest~N, b3:DIGEST, a record directory, or an archive; @all alone is every task. The destination is a directory to write into, made if it is not there; with --format a file, or - for standard output; of a commit the repository, of a branch its name
    // One list, so that options may stand between.
    #[arg(value_name = "TASK… DEST", required = true)]
    tasks_and_destination: Vec<OsString>,
}

impl ExportArguments {
    /// The tasks, and the destination; `None` if there are not both.
    pub(crate) fn tasks_and_destination(&self) -> Option<(&[OsString], &Path)> {
        let (destination, tasks) = self.tasks_and_destination.split_last()?;
        (!tasks.is_empty()).then_some((tasks, Path::new(destination)))
    }
}

/// What is written in place of directories of plain files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The records with everything that belongs to them, for another store
    Archive,
    /// What the tasks changed, for `git apply`
    Patch,
    /// The result as a commit that nothing names
    Commit,
    /// The result as a commit on a new branch
    Branch,
    /// The result as a mail, for `git am`
    Mbox,
    /// The result as a commit in a Git bundle, for `git fetch`
    GitBundle,
    /// The changed files as the task left them
    Tar,
    /// What the record says, as an in-toto Statement
    InToto,
    /// That, signed with the key of the log, in a DSSE envelope
    Dsse,
}

/// The names of layouts.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LayoutName {
    /// As a view below .isobox/tasks
    View,
    /// As version 1 of isobox writes it; an imported record as it was
    V1,
}
