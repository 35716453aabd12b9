//! Imports record directories of the existing tool: each becomes a record of ours, or is refused by itself.

mod known;
mod stage;
mod stopped;

use crate::failure::Failure;
use isobox_domain::content::{ContentId, ContentRef, parse_hex};
use isobox_domain::record::{RecordedArgument, TaskArtifacts, TaskRecord};
use isobox_domain::task_id::TaskId;
use isobox_domain::v1::{Import, NotImportable, V1Record};
use isobox_ports::{
    AppendError, Attempts, Clock, RecordLog, TaskIds, V1Directories, V1Directory, V1Error, V1Format, V1ParseError,
};
use known::Known;
pub(crate) use stopped::Stopped;

/// Directories that are looked up in the store together, so that its list is read once for all of them.
const BATCH: usize = 1024;

/// Makes the arguments of a command such as may be kept.
pub(crate) type Mask<'a> = &'a dyn Fn(&[Vec<u8>]) -> Result<Vec<RecordedArgument>, Failure>;

/// What an import touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) format: &'a dyn V1Format,
    pub(crate) attempts: &'a dyn Attempts,
    pub(crate) records: &'a dyn RecordLog,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) task_ids: &'a dyn TaskIds,
    /// The arguments of a command as they may be kept.
    pub(crate) mask: Mask<'a>,
}

/// What came of one record directory, or of one record of another store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is in the store now.
    Imported {
        /// Things that a reader should know.
        warnings: Vec<String>,
    },
    /// It was imported before, and has not changed.
    Unchanged,
    /// It was imported before; these events about it are new.
    Continued {
        /// How many.
        events: usize,
    },
    /// It is in the store, but events about it were not taken.
    Partly {
        /// Why, in words.
        reason: String,
    },
    /// It is a View of isobox's own, whose record is in a store already.
    View,
    /// Its record says nothing; what lies beside it is in the store now, unless it was before.
    NotImportable {
        /// Why, in words.
        reason: String,
    },
    /// Nothing of it was taken.
    Refused {
        /// Why, in words.
        reason: String,
    },
}

/// Receives the name of a directory and what came of it.
pub(crate) type Tell<'a> = &'a mut dyn FnMut(&[u8], Verdict) -> Result<(), Failure>;

/// Imports every record directory of `directories`. What is wrong with one is told and keeps none of the others out; only
/// a failure of the store, or of `tell`, ends the import.
pub(crate) fn import(ports: &Ports<'_>, directories: &dyn V1Directories, tell: Tell<'_>) -> Result<(), Failure> {
    let mut names = directories.names().map_err(unreadable)?;
    loop {
        let batch: Vec<Vec<u8>> = names.by_ref().take(BATCH).collect::<Result<_, _>>().map_err(unreadable)?;
        if batch.is_empty() {
            return Ok(());
        }
        let mut known = Known::of(ports.records, batch.iter().filter_map(|name| task_of(name)))?;
        for name in &batch {
            let verdict = match import_one(ports, directories, name, &mut known) {
                Ok(verdict) => verdict,
                Err(Stopped::Refused(reason)) => Verdict::Refused { reason },
                Err(Stopped::Failed(failure)) => return Err(failure.while_doing(format!("import {}", shown(name)))),
            };
            tell(name, verdict)?;
        }
    }
}

fn unreadable(error: V1Error) -> Failure {
    let message = error.to_string();
    let failure = Failure::new(crate::failure::FailureKind::General, message);
    match error {
        V1Error::Io(error) => failure.because(error.source),
        V1Error::Refused { .. } => failure,
    }
}

fn shown(name: &[u8]) -> String {
    isobox_domain::escape::Escaped(name).to_string()
}

/// The Task that a record directory is named after.
fn task_of(name: &[u8]) -> Option<TaskId> {
    let digits = std::str::from_utf8(name.strip_prefix(b"task-")?).ok()?;
    parse_hex(digits).map(TaskId::new)
}

fn import_one(
    ports: &Ports<'_>,
    directories: &dyn V1Directories,
    name: &[u8],
    known: &mut Known,
) -> Result<Verdict, Stopped> {
    let no_name = || Stopped::Refused("its name is not `task-` and 16 hex digits".to_owned());
    let task = task_of(name).ok_or_else(no_name)?;
    let directory = directories.open(name)?;
    // A directory without a record is what a kill right after its beginning leaves, as an empty record is.
    let json = directory.record_json()?.unwrap_or_default();
    let id = ContentId::new(*blake3::hash(&json).as_bytes());
    let parsed = match ports.format.parse(&json) {
        Ok(v1) => Ok(v1),
        Err(V1ParseError::NotImportable(why)) => Err(why),
        Err(V1ParseError::View) => return Ok(Verdict::View),
        Err(V1ParseError::Refused { reason }) => return Err(Stopped::Refused(reason)),
    };
    if let Some(record) = known.find(task, &id) {
        return already(ports, &parsed, record);
    }
    let found = Found { task, json: &json, parsed };
    let record = put(ports, &*directory, &found, known)?;
    Ok(match found.parsed {
        Ok(_) => Verdict::Imported { warnings: record.warnings },
        Err(why) => Verdict::NotImportable { reason: why.reason },
    })
}

/// What was found in a directory that is not in the store yet.
struct Found<'a> {
    task: TaskId,
    json: &'a [u8],
    parsed: Result<V1Record, NotImportable>,
}

/// Nothing to do, unless the import before was killed right between record and event.
fn already(ports: &Ports<'_>, parsed: &Result<V1Record, NotImportable>, record: ContentId) -> Result<Verdict, Stopped> {
    match parsed {
        Ok(v1) if !v1.promotion_mode.is_empty() && ports.records.events(&record)?.is_empty() => {
            if let Some(stored) = ports.records.load(&record)? {
                note_promotion(ports, v1, &stored, record)?;
            }
            Ok(Verdict::Unchanged)
        }
        Ok(_) => Ok(Verdict::Unchanged),
        Err(why) => Ok(Verdict::NotImportable { reason: why.reason.clone() }),
    }
}

fn put(
    ports: &Ports<'_>,
    directory: &dyn V1Directory,
    found: &Found<'_>,
    known: &mut Known,
) -> Result<TaskRecord, Stopped> {
    let (attempt, parents) = known.next(found.task);
    let import = Import {
        task: found.task,
        attempt,
        parents,
        now: ports.clock.now(),
        salt: ports.task_ids.salt(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        artifacts: TaskArtifacts::default(),
        missing: Vec::new(),
        warnings: Vec::new(),
    };
    let draft = record(ports, found, import.clone())?;
    let staging = ports.attempts.begin(&draft)?;
    let staged = match stage::stage(&*staging, directory, found.json, found.parsed.as_ref().ok()) {
        Ok(staged) => staged,
        Err(stopped) => {
            staging.discard()?;
            return Err(stopped);
        }
    };
    let record = record(ports, found, Import { artifacts: staged.artifacts, missing: staged.missing, ..import })?;
    let digest = ports.records.publish(staging, &record)?;
    known.add(found.task, attempt, digest, record.artifacts.v1_record.map(|json: ContentRef| json.id));
    if let Ok(v1) = &found.parsed {
        note_promotion(ports, v1, &record, digest)?;
    }
    Ok(record)
}

fn record(ports: &Ports<'_>, found: &Found<'_>, mut import: Import) -> Result<TaskRecord, Stopped> {
    match &found.parsed {
        Ok(v1) => {
            let (command, warning) = v1.command();
            import.warnings.extend(warning);
            Ok(v1.record(import, (ports.mask)(&command)?))
        }
        Err(why) => Ok(why.record(import)),
    }
}

fn note_promotion(ports: &Ports<'_>, v1: &V1Record, record: &TaskRecord, digest: ContentId) -> Result<(), Stopped> {
    match v1.promotion(record, digest).map(|event| ports.records.append(&event)) {
        // Somebody else was as fast.
        Some(Ok(_) | Err(AppendError::Stale { .. })) | None => Ok(()),
        Some(Err(error)) => Err(error.into()),
    }
}
