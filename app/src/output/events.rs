//! What scripts are told about a task: its id in a file, and its life as JSON Lines.

use crate::cli::{EventTarget, TellingFlags};
use crate::failure::{Failure, FailureKind};
use crate::output::record_json;
use crate::use_case::attempt::Progress;
use crate::wiring;
use isobox_domain::escape::Escaped;
use isobox_domain::outcome::Exit;
use isobox_domain::record::{TaskRecord, WorkspaceFate};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use serde_json::{Value, json};
use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The open files that scripts read.
#[derive(Debug, Default)]
pub(crate) struct Telling {
    id_file: Option<IdFile>,
    events: Option<File>,
    /// Whether something could not be written.
    is_lossy: Cell<bool>,
}

/// The file that gets the id of the Task.
#[derive(Debug)]
enum IdFile {
    /// It was there before.
    Open(File),
    /// It can be made, and is when there is an id: where nothing is started, nothing is left.
    Later(PathBuf),
}

impl IdFile {
    fn open(path: &Path) -> io::Result<Self> {
        match File::create_new(path) {
            Ok(_) => fs::remove_file(path).map(|()| Self::Later(path.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => File::create(path).map(Self::Open),
            Err(error) => Err(error),
        }
    }

    fn write(&self, id: &str) -> io::Result<()> {
        match self {
            Self::Open(file) => (&mut &*file).write_all(id.as_bytes()),
            Self::Later(path) => File::create(path)?.write_all(id.as_bytes()),
        }
    }
}

impl Telling {
    /// Opens what the flags name, so that what cannot be opened is refused before anything is started.
    pub(crate) fn open(flags: &TellingFlags) -> Result<Self, Failure> {
        let refused = |path: &Path, error: io::Error| {
            let shown = Escaped::path(path);
            Failure::new(FailureKind::Usage, format!("open {shown} for writing; nothing was started"))
                .because(error)
                .with_hint("name a file that can be written to, in a directory that is there")
        };
        let closed = |number: u32, error: io::Error| {
            Failure::new(FailureKind::Usage, format!("open fd:{number} for writing; nothing was started"))
                .because(error)
                .with_hint(format!(
                    "let the shell open it, for example: isobox tool --events fd:{number} -- make test {number}> ../events"
                ))
        };
        let opened = |path: &Path, file: io::Result<File>| file.map_err(|error| refused(path, error));
        let id_file = flags.id_file.as_deref().map(|path| IdFile::open(path).map_err(|error| refused(path, error)));
        let events = flags.events.as_ref().map(|target| match target {
            EventTarget::File(path) => opened(path, File::options().append(true).create(true).open(path)),
            EventTarget::Descriptor(number) => duplicate_of_descriptor(*number).map_err(|error| closed(*number, error)),
        });
        Ok(Self { id_file: id_file.transpose()?, events: events.transpose()?, is_lossy: Cell::new(false) })
    }

    /// Tells what goes on during an attempt.
    pub(crate) fn progress(&self, progress: Progress<'_>) {
        match progress {
            Progress::Started(record) => {
                let told = self.id_file.as_ref().map_or(Ok(()), |file| file.write(&format!("{}\n", record.task)));
                self.note(&told);
                self.event("started", || started(record));
            }
            // The record tells it.
            Progress::TookAlong(..) => {}
            Progress::Waiting { running } => self.event("waiting", || json!({ "running": running })),
            Progress::Warning(sentence) => self.event("warning", || json!({ "message": sentence })),
        }
    }

    /// Tells how an attempt ended.
    pub(crate) fn ended(&self, record: &TaskRecord) {
        self.event("ended", || ended(record));
    }

    /// Tells that there is no record of an attempt, and why.
    pub(crate) fn failed(&self, failure: &Failure) {
        self.event("failed", || json!({ "kind": failure.kind.name(), "messages": failure.chain() }));
    }

    /// Whether something could not be told.
    pub(crate) fn is_lossy(&self) -> bool {
        self.is_lossy.get()
    }

    fn event(&self, name: &str, fields: impl FnOnce() -> Value) {
        if self.events.is_none() {
            return;
        }
        let head = json!({ "schema": "isobox.event/v1", "event": name, "at": wiring::clock().now().to_string() });
        let (Value::Object(mut line), Value::Object(fields)) = (head, fields()) else { return };
        line.extend(fields);
        self.write(self.events.as_ref(), &format!("{}\n", Value::Object(line)));
    }

    fn write(&self, file: Option<&File>, text: &str) {
        self.note(&file.map_or(Ok(()), |mut file| file.write_all(text.as_bytes())));
    }

    // A workload that runs is not ended because a script cannot be told.
    fn note(&self, told: &io::Result<()>) {
        self.is_lossy.set(self.is_lossy.get() || told.is_err());
    }
}

/// A descriptor that the caller left open, by its number. It shares its place in the file with the caller's own.
fn duplicate_of_descriptor(number: u32) -> io::Result<File> {
    let own = pidfd_open(getpid(), PidfdFlags::empty())?;
    let descriptor = i32::try_from(number).map_err(io::Error::other)?;
    match pidfd_getfd(&own, descriptor, PidfdGetfdFlags::empty()) {
        Ok(descriptor) => Ok(File::from(descriptor)),
        // Some containers forbid the call; then what a file holds already is at least not written over.
        Err(Errno::PERM | Errno::NOSYS) => File::options().append(true).open(format!("/proc/self/fd/{number}")),
        Err(errno) => Err(errno.into()),
    }
}

fn started(record: &TaskRecord) -> Value {
    json!({
        "id": record.task.to_string(),
        "attempt": record.attempt,
        "kind": record_json::kind(record.kind),
        "command": record_json::command(&record.command),
        "commit": record.source.commit.to_string(),
        "backend": record.policy.backend.name(),
    })
}

fn ended(record: &TaskRecord) -> Value {
    json!({
        "id": record.task.to_string(),
        "attempt": record.attempt,
        "outcome": record.outcome.name(),
        "outcome_detail": record.outcome_detail,
        "exceeded_limits": record.exceeded.iter().map(record_json::exceeded).collect::<Vec<_>>(),
        "exit_code": record.exit.map(Exit::passed_on),
        "changes": record.artifacts.change_set.map(|set| record_json::changes(&set)),
        "retained_workspace": match &record.workspace {
            WorkspaceFate::Retained { host_path } => Some(record_json::bytes(host_path)),
            WorkspaceFate::Disposed | WorkspaceFate::NeverCreated => None,
        },
    })
}
