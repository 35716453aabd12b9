//! Exports a record as a directory of plain files.

use crate::failure::{Failure, FailureKind};
use crate::output::redacting::Redacted;
use crate::output::{changes, record_json, report_json};
use crate::use_case::diff;
use crate::use_case::select::Selected;
use isobox_domain::change::{Change, ChangeLine, ChangeSetRef};
use isobox_domain::content::ContentRef;
use isobox_domain::event::Event;
use isobox_domain::record::TaskRecord;
use isobox_domain::repo_path::RepoPath;
use isobox_domain::v1::{self, DIFF_FILE, RECORD_FILE, STDERR_FILE, STDOUT_FILE, V1Output, V1Record};
use isobox_ports::{
    ChangeLines, Content, Export, ExportError, Exports, MAX_V1_RECORD_BYTES, ObjectStore, RecordLog, V1Format,
};
use std::collections::HashSet;
use std::io::{self, Cursor, Read};

/// Where files of copies of host files come out.
const HOST_COPIES: &[u8] = b"artifacts/host_copies/";
/// Where it is listed what became of copies of host files, as `diff --stat` lists the changes of the Workspace.
const HOST_COPIES_LIST: &str = "artifacts/host_copies.txt";

/// What an Export touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) records: &'a dyn RecordLog,
    pub(crate) objects: &'a dyn ObjectStore,
    pub(crate) format: &'a dyn V1Format,
    pub(crate) exports: &'a dyn Exports,
}

/// What the directory looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// As a View.
    View,
    /// As the existing tool writes it; an imported record comes out as it went in.
    V1,
}

/// What came of an Export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exported {
    /// The directory is there.
    Made,
    /// Something of its name was there before; nothing was changed.
    There,
}

/// Exports a record into a directory that is named after its Task; with `redacted`, without what is secret-shaped in a View.
pub(crate) fn export(
    ports: &Ports<'_>,
    selected: &Selected,
    layout: Layout,
    redacted: Option<&Redacted>,
) -> Result<Exported, Failure> {
    let begun = ports.exports.begin(&selected.record.task.to_string());
    let made = begun.map_err(Failure::from).and_then(|export| {
        let mut writer = Writer { objects: ports.objects, export, written: HashSet::new(), redacted };
        let events = crate::use_case::list::events(ports.records, &selected.digest)?;
        match layout {
            Layout::View => view(ports, &mut writer, selected, &events)?,
            Layout::V1 => v1(ports, &mut writer, selected, &events)?,
        }
        writer.export.finish().map_err(Failure::from)
    });
    match made {
        Ok(()) => Ok(Exported::Made),
        Err(failure) if is_there(&failure) => Ok(Exported::There),
        Err(failure) => Err(failure.while_doing(format!("export {}", selected.record.task))),
    }
}

fn is_there(failure: &Failure) -> bool {
    let error = failure.source.as_ref().and_then(|source| source.downcast_ref::<ExportError>());
    matches!(error, Some(ExportError::Exists { .. }))
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        Self::new(FailureKind::General, "nothing was exported")
            .because(error)
            .with_hint("name a directory that can be written to, on a disk with room")
    }
}

fn view(ports: &Ports<'_>, writer: &mut Writer<'_>, selected: &Selected, events: &[Event]) -> Result<(), Failure> {
    let (record, digest) = (&selected.record, &selected.digest);
    let report = report_json::document(ports.objects, record)?;
    let json = record_json::view_document(record, digest, events, report, writer.redacted);
    writer.bytes(RECORD_FILE, &json)?;
    let artifacts = &record.artifacts;
    for (path, artifact) in
        [(STDOUT_FILE, artifacts.stdout), (STDERR_FILE, artifacts.stderr), (DIFF_FILE, artifacts.patch)]
    {
        if artifact.is_some() {
            writer.redacted_artifact(&own_path(path)?, artifact)?;
        }
    }
    artifacts.host_copies.map_or(Ok(()), |copies| host_copies(ports, writer, record, &copies))
}

/// Writes what a workload left of the files that it changed in copies of host files, and a list that has what was deleted and
/// what was not captured as well. A link comes out as a file with its target.
fn host_copies(
    ports: &Ports<'_>,
    writer: &mut Writer<'_>,
    record: &TaskRecord,
    copies: &ChangeSetRef,
) -> Result<(), Failure> {
    let mut list = Listing { lines: ports.objects.changes(copies)?, ready: Cursor::default() };
    writer.write(&own_path(HOST_COPIES_LIST)?, &mut list)?;
    for line in ports.objects.changes(copies)? {
        let line = line.map_err(|cause| diff::unreadable(record, cause))?;
        if let ChangeLine::Change(Change { path, after: Some(after), .. }) = line {
            let path = [HOST_COPIES, path.as_bytes()].concat();
            let path = RepoPath::parse(path).map_err(|error| Failure::new(FailureKind::General, error.to_string()))?;
            writer.redacted_artifact(&path, Some(after.content))?;
        }
    }
    Ok(())
}

/// The lines of a Change Set for people, read one by one: there is no end to what a workload can make.
struct Listing<'a> {
    lines: ChangeLines<'a>,
    ready: Cursor<Vec<u8>>,
}

impl Read for Listing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.ready.position() == self.ready.get_ref().len() as u64 {
            let Some(line) = self.lines.next().transpose().map_err(io::Error::other)? else { return Ok(0) };
            let mut ready = Vec::new();
            changes::stat(&mut ready, &line)?;
            self.ready = Cursor::new(ready);
        }
        self.ready.read(buffer)
    }
}

fn v1(ports: &Ports<'_>, writer: &mut Writer<'_>, selected: &Selected, events: &[Event]) -> Result<(), Failure> {
    let record = &selected.record;
    let (json, v1) = match record.artifacts.v1_record {
        None => {
            let v1 = V1Record::of(record, events);
            (ports.format.encode(&v1), v1)
        }
        Some(reference) => {
            let json = writer.read(reference)?;
            // A record that says nothing leaves its artifacts where the existing tool puts them.
            let v1 = ports.format.parse(&json).unwrap_or_else(|_| V1Record::of(record, events));
            (json, v1)
        }
    };
    writer.bytes(RECORD_FILE, &json)?;
    let missing = v1::missing(record);
    let artifacts = &record.artifacts;
    for (output, artifact) in
        [(&v1.stdout, artifacts.stdout), (&v1.stderr, artifacts.stderr), (&v1.diff, artifacts.patch)]
    {
        if let V1Output::File(path) = output
            && !missing.contains(path)
        {
            writer.artifact(path, artifact)?;
        }
    }
    artifacts.v1_files.map_or(Ok(()), |archive| unpack(writer, archive))
}

/// Writes the files of an archive as `import` makes it.
fn unpack(writer: &mut Writer<'_>, archive: ContentRef) -> Result<(), Failure> {
    let damaged = |why: String| Failure::new(FailureKind::Store, "read the files of an imported record").because(why);
    let mut content = writer.open(archive)?;
    let mut left = archive.length;
    while left > 0 {
        let mut take = |length: u64| -> Result<Vec<u8>, Failure> {
            let mut bytes = Vec::new();
            let read = (&mut content).take(length).read_to_end(&mut bytes);
            read.map_err(|error| damaged(error.to_string()))?;
            left = left.saturating_sub(length);
            Ok(bytes)
        };
        let short = || damaged("the archive ends early".to_owned());
        let length = take(4)?.try_into().map(u32::from_le_bytes).map_err(|_| short())?;
        let path = RepoPath::parse(take(length.into())?).map_err(|error| damaged(error.to_string()))?;
        let length = take(8)?.try_into().map(u64::from_le_bytes).map_err(|_| short())?;
        left = left.checked_sub(length).ok_or_else(short)?;
        writer.write(&path, &mut (&mut content).take(length))?;
    }
    Ok(())
}

fn own_path(path: &str) -> Result<RepoPath, Failure> {
    RepoPath::parse(path).map_err(|error| Failure::new(FailureKind::General, error.to_string()))
}

struct Writer<'a> {
    objects: &'a dyn ObjectStore,
    export: Box<dyn Export>,
    /// Hostile records name a file twice.
    written: HashSet<RepoPath>,
    redacted: Option<&'a Redacted>,
}

impl Writer<'_> {
    fn bytes(&mut self, path: &str, bytes: &[u8]) -> Result<(), Failure> {
        self.write(&own_path(path)?, &mut &bytes[..])
    }

    /// Writes a file with the content of an artifact; an absent one is empty.
    fn artifact(&mut self, path: &RepoPath, artifact: Option<ContentRef>) -> Result<(), Failure> {
        match artifact {
            None => self.write(path, &mut std::io::empty()),
            Some(artifact) => {
                let mut content = self.open(artifact)?;
                self.write(path, &mut content)
            }
        }
    }

    /// The same, without what is secret-shaped if that is wanted.
    fn redacted_artifact(&mut self, path: &RepoPath, artifact: Option<ContentRef>) -> Result<(), Failure> {
        match (self.redacted, artifact) {
            (Some(redacted), Some(artifact)) => {
                let content = self.open(artifact)?;
                self.write(path, &mut redacted.reader(content))
            }
            _ => self.artifact(path, artifact),
        }
    }

    fn write(&mut self, path: &RepoPath, content: &mut dyn Read) -> Result<(), Failure> {
        match self.written.insert(path.clone()) {
            true => Ok(self.export.write(path, content)?),
            // The first one counts; the archive is read on behind it.
            false => std::io::copy(content, &mut std::io::sink())
                .map(drop)
                .map_err(|error| Failure::new(FailureKind::Store, "read an artifact").because(error)),
        }
    }

    fn open(&self, artifact: ContentRef) -> Result<Content, Failure> {
        let gone = || {
            Failure::new(FailureKind::Store, format!("{} is not in the task store", artifact.id))
                .with_hint("it was pruned, or the store lost it")
        };
        self.objects.open(&artifact.id)?.ok_or_else(gone)
    }

    fn read(&self, artifact: ContentRef) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        let read = self.open(artifact)?.take(MAX_V1_RECORD_BYTES).read_to_end(&mut bytes);
        read.map_err(|error| Failure::new(FailureKind::Store, "read the v1 record").because(error))?;
        Ok(bytes)
    }
}
