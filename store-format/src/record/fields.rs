//! The composite fields of a Task Record, each with the function that writes it and the one that reads it.

use crate::cbor::{Decoder, Encoder, MapEncoder};
use crate::object::{DecodeError, Names};
use isobox_domain::change::ChangeSetRef;
use isobox_domain::outcome::{Exit, MemoryScope, ResourceUsage};
use isobox_domain::record::{OutputLoss, RecordedArgument, TaskArtifacts, WorkspaceFate};
use isobox_domain::source::WorkspaceSource;
use isobox_domain::terminal::TerminalSize;

const MEMORY_SCOPES: Names<'_, MemoryScope> =
    &[("largest_process", MemoryScope::LargestProcess), ("tree", MemoryScope::Tree)];
const NEVER_CREATED: &str = "never_created";
const DISPOSED: &str = "disposed";
const RETAINED: &str = "retained";
const CODE: &str = "code";
const SIGNAL: &str = "signal";

pub(super) fn decode_attempt(decoder: &mut Decoder<'_>) -> Result<u32, DecodeError> {
    let attempt = u32::try_from(decoder.uint()?).ok().filter(|&attempt| attempt > 0);
    attempt.map_or_else(|| decoder.expected("an attempt from 1 to 4294967295"), Ok)
}

/// An argument: what is shown of it, then its digest if it is masked.
pub(super) fn encode_argument(encoder: &mut Encoder, argument: &RecordedArgument) {
    match &argument.masked_digest {
        None => encoder.array(1).bytes(&argument.shown),
        Some(digest) => encoder.array(2).bytes(&argument.shown).id(digest),
    };
}

pub(super) fn decode_command(decoder: &mut Decoder<'_>) -> Result<Vec<RecordedArgument>, DecodeError> {
    let command = decoder.list(decode_argument)?;
    if command.first().is_none_or(|program| program.shown.is_empty()) {
        return decoder.expected("a program");
    }
    Ok(command)
}

fn decode_argument(decoder: &mut Decoder<'_>) -> Result<RecordedArgument, DecodeError> {
    let length = decoder.array()?;
    if !matches!(length, 1 | 2) {
        return decoder.expected("an argument, and its digest if it is masked");
    }
    let shown = decoder.bytes_without_nul()?.to_vec();
    let masked_digest = if length == 2 { Some(decoder.id()?) } else { None };
    Ok(RecordedArgument { shown, masked_digest })
}

pub(super) fn encode_source(map: &mut MapEncoder, source: &WorkspaceSource) {
    map.field(0).bytes(&source.host_path);
    if let Some(root) = &source.root_commit {
        map.field(1).bytes(root.as_bytes());
    }
    map.field(2).bytes(source.commit.as_bytes());
    if let Some(branch) = &source.branch {
        map.field(3).bytes(branch);
    }
    if let Some(directory) = &source.working_directory {
        map.field(4).bytes(directory.as_bytes());
    }
}

pub(super) fn decode_source(decoder: &mut Decoder<'_>) -> Result<WorkspaceSource, DecodeError> {
    let mut map = decoder.map()?;
    let source = WorkspaceSource {
        host_path: map.need(0, "the host path")?.host_path()?,
        root_commit: map.find(1)?.map(Decoder::oid).transpose()?,
        commit: map.need(2, "the commit")?.oid()?,
        branch: map.find(3)?.map(|branch| branch.bytes_without_nul().map(<[u8]>::to_vec)).transpose()?,
        working_directory: map.find(4)?.map(Decoder::path).transpose()?,
    };
    map.end()?;
    Ok(source)
}

pub(super) fn encode_exit(encoder: &mut Encoder, exit: Exit) {
    let (word, number) = match exit {
        Exit::Code(code) => (CODE, code),
        Exit::Signal(signal) => (SIGNAL, signal),
    };
    encoder.array(2).text(word).uint(number.into());
}

pub(super) fn decode_exit(decoder: &mut Decoder<'_>) -> Result<Exit, DecodeError> {
    decoder.array_of(2, "how the command ended and a number")?;
    let word = decoder.text()?;
    match (word, u8::try_from(decoder.uint()?)) {
        (CODE, Ok(code)) => Ok(Exit::Code(code)),
        (SIGNAL, Ok(signal)) => Ok(Exit::Signal(signal)),
        _ => decoder.expected("an exit code or a signal, up to 255"),
    }
}

pub(super) fn encode_usage(map: &mut MapEncoder, usage: &ResourceUsage) {
    let numbers = [(0, usage.user_cpu_us), (1, usage.system_cpu_us), (2, usage.peak_memory_bytes)];
    for (key, value) in numbers {
        if let Some(value) = value {
            map.field(key).uint(value);
        }
    }
    if let Some(scope) = &usage.peak_memory_of {
        map.field(3).named(MEMORY_SCOPES, scope);
    }
}

pub(super) fn decode_usage(decoder: &mut Decoder<'_>) -> Result<ResourceUsage, DecodeError> {
    let mut map = decoder.map()?;
    let usage = ResourceUsage {
        user_cpu_us: map.find(0)?.map(Decoder::uint).transpose()?,
        system_cpu_us: map.find(1)?.map(Decoder::uint).transpose()?,
        peak_memory_bytes: map.find(2)?.map(Decoder::uint).transpose()?,
        peak_memory_of: map.find(3)?.map(|scope| scope.named(MEMORY_SCOPES, "whose peak it is")).transpose()?,
    };
    map.end()?;
    Ok(usage)
}

pub(super) fn encode_artifacts(map: &mut MapEncoder, artifacts: &TaskArtifacts) {
    if let Some(stdout) = &artifacts.stdout {
        map.field(0).reference(stdout);
    }
    if let Some(stderr) = &artifacts.stderr {
        map.field(1).reference(stderr);
    }
    if let Some(set) = &artifacts.change_set {
        encode_change_set_ref(map.field(2), set);
    }
    if let Some(patch) = &artifacts.patch {
        map.field(3).reference(patch);
    }
    let rest = [(4, &artifacts.workspace_git), (5, &artifacts.v1_record), (6, &artifacts.v1_files)];
    for (key, artifact) in rest {
        if let Some(artifact) = artifact {
            map.field(key).reference(artifact);
        }
    }
    if let Some(set) = &artifacts.source_snapshot {
        encode_change_set_ref(map.field(7), set);
    }
    if let Some(set) = &artifacts.host_copies {
        encode_change_set_ref(map.field(8), set);
    }
    if let Some(timeline) = &artifacts.timeline {
        map.field(9).reference(timeline);
    }
}

fn encode_change_set_ref(encoder: &mut Encoder, set: &ChangeSetRef) {
    encoder.array(3).id(&set.id).uint(set.length).summary(&set.summary);
}

pub(super) fn decode_artifacts(decoder: &mut Decoder<'_>) -> Result<TaskArtifacts, DecodeError> {
    let mut map = decoder.map()?;
    let artifacts = TaskArtifacts {
        stdout: map.find(0)?.map(Decoder::reference).transpose()?,
        stderr: map.find(1)?.map(Decoder::reference).transpose()?,
        change_set: map.find(2)?.map(decode_change_set_ref).transpose()?,
        patch: map.find(3)?.map(Decoder::reference).transpose()?,
        workspace_git: map.find(4)?.map(Decoder::reference).transpose()?,
        v1_record: map.find(5)?.map(Decoder::reference).transpose()?,
        v1_files: map.find(6)?.map(Decoder::reference).transpose()?,
        source_snapshot: map.find(7)?.map(decode_change_set_ref).transpose()?,
        host_copies: map.find(8)?.map(decode_change_set_ref).transpose()?,
        timeline: map.find(9)?.map(Decoder::reference).transpose()?,
    };
    map.end()?;
    Ok(artifacts)
}

fn decode_change_set_ref(decoder: &mut Decoder<'_>) -> Result<ChangeSetRef, DecodeError> {
    decoder.array_of(3, "a hash, a length and totals")?;
    Ok(ChangeSetRef { id: decoder.id()?, length: decoder.uint()?, summary: decoder.summary()? })
}

pub(super) fn decode_loss(decoder: &mut Decoder<'_>) -> Result<OutputLoss, DecodeError> {
    Ok(OutputLoss::StoreFailed { dropped_bytes: decoder.uint()? })
}

pub(super) fn encode_fate(encoder: &mut Encoder, fate: &WorkspaceFate) {
    match fate {
        WorkspaceFate::NeverCreated => encoder.array(1).text(NEVER_CREATED),
        WorkspaceFate::Disposed => encoder.array(1).text(DISPOSED),
        WorkspaceFate::Retained { host_path } => encoder.array(2).text(RETAINED).bytes(host_path),
    };
}

pub(super) fn decode_fate(decoder: &mut Decoder<'_>) -> Result<WorkspaceFate, DecodeError> {
    let length = decoder.array()?;
    match (length, decoder.text()?) {
        (1, NEVER_CREATED) => Ok(WorkspaceFate::NeverCreated),
        (1, DISPOSED) => Ok(WorkspaceFate::Disposed),
        (2, RETAINED) => Ok(WorkspaceFate::Retained { host_path: decoder.host_path()? }),
        _ => decoder.expected("what became of the workspace"),
    }
}

pub(super) fn decode_tool(decoder: &mut Decoder<'_>) -> Result<(String, String), DecodeError> {
    decoder.array_of(2, "a name and a version")?;
    Ok((decoder.text()?.to_owned(), decoder.text()?.to_owned()))
}

/// Columns and rows.
pub(super) fn decode_terminal(decoder: &mut Decoder<'_>) -> Result<TerminalSize, DecodeError> {
    decoder.array_of(2, "columns and rows")?;
    let mut number = || match u16::try_from(decoder.uint()?) {
        Ok(number) => Ok(number),
        Err(_) => decoder.expected("a number below 65536"),
    };
    Ok(TerminalSize { columns: number()?, rows: number()? })
}
