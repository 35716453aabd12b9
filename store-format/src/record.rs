//! Task Records: one object each, which refers to the Effective Policy, the Change Set and the outputs.

mod fields;
mod probes;

use crate::cbor::{Decoder, MapDecoder, MapEncoder};
use crate::object::{self, DecodeError, EncodeError, Names};
use crate::policy::{decode_policy, encode_policy};
use crate::sandbox_limits::{decode_exceeded, encode_exceeded};
use fields::{
    decode_artifacts, decode_attempt, decode_command, decode_exit, decode_fate, decode_loss, decode_source,
    decode_terminal, decode_tool, decode_usage, encode_argument, encode_artifacts, encode_exit, encode_fate,
    encode_source, encode_usage,
};
use isobox_domain::change::ChangeSetRef;
use isobox_domain::content::ContentRef;
use isobox_domain::outcome::Outcome;
use isobox_domain::policy::{BackendName, EffectivePolicy, SandboxPolicy};
use isobox_domain::record::{OutputLoss, SandboxKind, TaskRecord};
use isobox_domain::task_id::TaskId;
use probes::{decode_probes, encode_probes};

const KIND: &str = "isobox.record";
/// The schema number of a record with a Dirty Source Snapshot, so that an older reader says that it does not know it.
const WITH_SNAPSHOT: u64 = 2;
/// The same of a record with a field that came after that.
const EXTENDED: u64 = 3;
/// The same of a record with a timeline of its output, and of one of a verification.
const NEWEST: u64 = 4;

const SANDBOX_KINDS: Names<'_, SandboxKind> = &[
    ("session", SandboxKind::Session),
    ("tool_call", SandboxKind::ToolCall),
    ("verification", SandboxKind::Verification),
];

/// The objects that a Task Record becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedRecord {
    /// The record; its BLAKE3 is the record's digest.
    pub bytes: Vec<u8>,
    /// The Effective Policy that it refers to, to be stored beside it.
    pub policy_bytes: Vec<u8>,
}

impl EncodedRecord {
    /// The digest and length of the record.
    pub fn reference(&self) -> ContentRef {
        object::reference_to(&self.bytes)
    }
}

/// What a direct child is to its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum ChildRole {
    /// The Effective Policy.
    Policy = 1,
    /// Standard output.
    Stdout = 2,
    /// Standard error.
    Stderr = 3,
    /// The root of the Change Set.
    ChangeSet = 4,
    /// The patch.
    Patch = 5,
    /// The archive of the Workspace's own Git objects.
    WorkspaceGit = 6,
    /// The `record.json` that an imported record was made from.
    V1Record = 7,
    /// The archive of the files that it names.
    V1Files = 8,
    /// The root of the Dirty Source Snapshot, a Change Set.
    SourceSnapshot = 9,
    /// The root of what changed in copies of host files, a Change Set.
    HostCopies = 10,
    /// The timeline of both outputs.
    Timeline = 11,
}

impl ChildRole {
    /// Every role, in ascending order of their numbers.
    pub const ALL: [Self; 11] = [
        Self::Policy,
        Self::Stdout,
        Self::Stderr,
        Self::ChangeSet,
        Self::Patch,
        Self::WorkspaceGit,
        Self::V1Record,
        Self::V1Files,
        Self::SourceSnapshot,
        Self::HostCopies,
        Self::Timeline,
    ];

    /// Whether it is a Change Set, with objects below it.
    pub const fn is_change_set(self) -> bool {
        matches!(self, Self::ChangeSet | Self::SourceSnapshot | Self::HostCopies)
    }

    /// The number that stands for it in a COMMIT.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The role with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.number() == number)
    }
}

/// An object that a record refers to directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child {
    /// What it is to the record.
    pub role: ChildRole,
    /// Which object.
    pub reference: ContentRef,
}

/// The objects of a Task Record. What this returns, [`decode_record`] accepts; extensions come back sorted by name.
pub fn encode_record(record: &TaskRecord) -> Result<EncodedRecord, EncodeError> {
    let policy_bytes = encode_policy(&record.policy)?;
    let bytes = encode_unchecked(record, &object::reference_to(&policy_bytes));
    let bytes = object::checked(KIND, bytes, |bytes| decode_record(bytes, &policy_bytes))?;
    Ok(EncodedRecord { bytes, policy_bytes })
}

/// The Task Record that `bytes` say, with the policy in `policy_bytes`: the child of role [`ChildRole::Policy`].
pub fn decode_record(bytes: &[u8], policy_bytes: &[u8]) -> Result<TaskRecord, DecodeError> {
    decode_with(bytes, |reference| {
        object::verify(reference, policy_bytes)?;
        decode_policy(policy_bytes)
    })
    .map(|(record, _)| record)
}

/// The direct children of the record in `bytes`, in ascending order of their roles, the policy first.
pub fn children(bytes: &[u8]) -> Result<Vec<Child>, DecodeError> {
    let placeholder = EffectivePolicy {
        backend: BackendName::Host,
        asked: SandboxPolicy::default(),
        controls: Vec::new(),
        limitations: Vec::new(),
        workspace: None,
        exposures: Vec::new(),
        why_this_backend: None,
        limits: Vec::new(),
    };
    let (record, policy) = decode_with(bytes, |_| Ok(placeholder))?;
    let artifacts = record.artifacts;
    let of_set = |set: ChangeSetRef| ContentRef { id: set.id, length: set.length };
    let all = [
        (ChildRole::Policy, Some(policy)),
        (ChildRole::Stdout, artifacts.stdout),
        (ChildRole::Stderr, artifacts.stderr),
        (ChildRole::ChangeSet, artifacts.change_set.map(of_set)),
        (ChildRole::Patch, artifacts.patch),
        (ChildRole::WorkspaceGit, artifacts.workspace_git),
        (ChildRole::V1Record, artifacts.v1_record),
        (ChildRole::V1Files, artifacts.v1_files),
        (ChildRole::SourceSnapshot, artifacts.source_snapshot.map(of_set)),
        (ChildRole::HostCopies, artifacts.host_copies.map(of_set)),
        (ChildRole::Timeline, artifacts.timeline),
    ];
    Ok(all.into_iter().filter_map(|(role, found)| found.map(|reference| Child { role, reference })).collect())
}

// The policy comes through `policy_of`, which is given the reference to it and may answer with a stand-in.
fn decode_with(
    bytes: &[u8],
    policy_of: impl FnOnce(&ContentRef) -> Result<EffectivePolicy, DecodeError>,
) -> Result<(TaskRecord, ContentRef), DecodeError> {
    let mut decoder = Decoder::new(bytes)?;
    let mut map = decoder.map()?;
    object::open_up_to(&mut map, KIND, NEWEST)?;
    let (record, policy) = decode_fields(&mut map, policy_of)?;
    map.end()?;
    decoder.end()?;
    object::require_equal(bytes, &encode_unchecked(&record, &policy))?;
    Ok((record, policy))
}

fn decode_fields(
    map: &mut MapDecoder<'_, '_>,
    policy_of: impl FnOnce(&ContentRef) -> Result<EffectivePolicy, DecodeError>,
) -> Result<(TaskRecord, ContentRef), DecodeError> {
    let policy;
    let record = TaskRecord {
        task: TaskId::new(map.need(2, "the task")?.fixed("a task id of 8 bytes")?),
        attempt: decode_attempt(map.need(3, "the attempt")?)?,
        kind: map.need(4, "the kind of sandbox")?.named(SANDBOX_KINDS, "a kind of sandbox")?,
        created_at: map.need(5, "when it was requested")?.time()?,
        started_at: map.find(6)?.map(Decoder::time).transpose()?,
        ended_at: map.need(7, "when it ended")?.time()?,
        command: decode_command(map.need(8, "the command")?)?,
        source: decode_source(map.need(9, "the source")?)?,
        policy: {
            policy = map.need(10, "the policy")?.reference()?;
            policy_of(&policy)?
        },
        outcome: map.need(11, "the outcome")?.named(&Outcome::ALL.map(|o| (o.name(), o)), "an outcome")?,
        outcome_detail: map.find(12)?.map(|detail| detail.text().map(str::to_owned)).transpose()?,
        exit: map.find(13)?.map(decode_exit).transpose()?,
        usage: decode_usage(map.need(14, "the usage")?)?,
        stdin: map.find(15)?.map(Decoder::reference).transpose()?,
        artifacts: decode_artifacts(map.need(16, "the artifacts")?)?,
        output_loss: map.find(17)?.map(decode_loss).transpose()?.unwrap_or(OutputLoss::None),
        workspace: decode_fate(map.need(18, "the workspace")?)?,
        warnings: map.need(19, "the warnings")?.texts()?,
        tools: map.need(20, "the tools")?.list(decode_tool)?,
        salt: map.need(21, "the salt")?.fixed("a salt of 16 bytes")?,
        parents: map.need(22, "the parents")?.list(Decoder::id)?,
        extensions: map.need(23, "the extensions")?.text_map()?,
        exceeded: map.find(24)?.map(decode_exceeded).transpose()?.unwrap_or_default(),
        probes: map.find(25)?.map(decode_probes).transpose()?.unwrap_or_default(),
        terminal: map.find(26)?.map(decode_terminal).transpose()?,
    };
    Ok((record, policy))
}

fn schema_of(record: &TaskRecord) -> u64 {
    match () {
        () if record.artifacts.timeline.is_some() || record.kind == SandboxKind::Verification => NEWEST,
        () if record.terminal.is_some() || !record.probes.is_empty() || !record.exceeded.is_empty() => EXTENDED,
        () if record.artifacts.host_copies.is_some() => EXTENDED,
        () if record.artifacts.source_snapshot.is_some() => WITH_SNAPSHOT,
        () => object::SCHEMA,
    }
}

fn encode_unchecked(record: &TaskRecord, policy: &ContentRef) -> Vec<u8> {
    object::encode_as(KIND, schema_of(record), |map| {
        encode_request(map, record);
        map.field(10).reference(policy);
        encode_ending(map, record);
        map.field(19).texts(&record.warnings);
        let tools = map.field(20).array(record.tools.len());
        for (name, version) in &record.tools {
            tools.array(2).text(name).text(version);
        }
        map.field(21).bytes(&record.salt);
        let parents = map.field(22).array(record.parents.len());
        for parent in &record.parents {
            parents.id(parent);
        }
        map.field(23).text_map(&record.extensions);
        if !record.exceeded.is_empty() {
            encode_exceeded(map.field(24), &record.exceeded);
        }
        if !record.probes.is_empty() {
            encode_probes(map.field(25), &record.probes);
        }
        if let Some(size) = record.terminal {
            map.field(26).array(2).uint(size.columns.into()).uint(size.rows.into());
        }
    })
}

fn encode_request(map: &mut MapEncoder, record: &TaskRecord) {
    map.field(2).bytes(record.task.as_bytes());
    map.field(3).uint(record.attempt.into());
    map.field(4).named(SANDBOX_KINDS, &record.kind);
    map.field(5).time(record.created_at);
    if let Some(started_at) = record.started_at {
        map.field(6).time(started_at);
    }
    map.field(7).time(record.ended_at);
    let command = map.field(8).array(record.command.len());
    record.command.iter().for_each(|argument| encode_argument(command, argument));
    map.field(9).map(|source| encode_source(source, &record.source));
}

fn encode_ending(map: &mut MapEncoder, record: &TaskRecord) {
    map.field(11).text(record.outcome.name());
    if let Some(detail) = &record.outcome_detail {
        map.field(12).text(detail);
    }
    if let Some(exit) = record.exit {
        encode_exit(map.field(13), exit);
    }
    map.field(14).map(|usage| encode_usage(usage, &record.usage));
    if let Some(stdin) = &record.stdin {
        map.field(15).reference(stdin);
    }
    map.field(16).map(|artifacts| encode_artifacts(artifacts, &record.artifacts));
    if let OutputLoss::StoreFailed { dropped_bytes } = record.output_loss {
        map.field(17).uint(dropped_bytes);
    }
    encode_fate(map.field(18), &record.workspace);
}
